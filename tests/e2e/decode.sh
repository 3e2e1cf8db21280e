#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# libpcce-decode as other programs use it: the examples of docs/examples are built with pkg-config.
# Recordings must give what pcce-report shows, and captured contexts what their program knows.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
command -v pkg-config >/dev/null || skip_all "pkg-config is not installed"
export PKG_CONFIG_PATH=$out/lib/pkgconfig

# ---- the library -------------------------------------------------------------------------

so=$out/lib/libpcce-decode.so.0
is "it exports only pcce_decode_*" \
	"$(nm -D --defined-only "$so" | awk '$3 !~ /^pcce_decode_.*@@PCCE_DECODE_0$/ && $2 != "A"')" ""
is "it exports all that decode.h declares" \
	"$(nm -D --defined-only "$so" | sed -n 's/.* T \(pcce_decode_.*\)@@.*/\1/p' | sort)" \
	"$(grep -o 'pcce_decode_[a-z_]*(' "$top/include/pcce/decode.h" | tr -d '(' | sort -u)"
is "it needs few libraries" "$(readelf -d "$so" | sed -n 's|.*NEEDED.*\[\(.*\)\.so.*|\1|p' |
	grep -vxE "libc|libelf|libz|libdeflate|ld-linux-x86-64${sanitize:+|libasan|libubsan}" | tr '\n' ' ')" ""
check "its name is libpcce-decode.so.0" sh -c "readelf -d '$so' | grep -q 'SONAME.*\[libpcce-decode.so.0\]'"
echo '#include <pcce/decode.h>' >header.c
check "the header is C11" $CC -std=c11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only \
	-I"$top/include" header.c
check "the header is C++11" $CXX -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only \
	-I"$top/include" header.c
is "the manual describes all functions" "$(grep -o 'pcce_decode_[a-z_]*(' "$top/include/pcce/decode.h" |
	tr -d '(' | sort -u | while read -r f; do grep -q "$f" "$top/docs/man/libpcce-decode.3" || echo "$f"; done)" ""

build_examples() { # FOLDER
	local e
	mkdir -p "$1"
	for e in recording context; do
		# shellcheck disable=SC2046
		$CC -std=c11 -O2 -g -Wall -Wextra -Werror $(pkg-config --cflags pcce-decode) \
			"$top/docs/examples/decode-$e.c" $(pkg-config --libs pcce-decode) -o "$1/decode-$e" ||
			return 1
	done
}

check "the examples are built against the build tree" build_examples built
if make -s -C "$top" O="$out" install DESTDIR="$scratch/dest" PREFIX=/opt/pcce >install.log 2>&1; then
	PKG_CONFIG_PATH=$scratch/dest/opt/pcce/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$scratch/dest \
		check "the examples are built against an installed tree" build_examples installed
	make -s -C "$top" O="$out" uninstall DESTDIR="$scratch/dest" PREFIX=/opt/pcce >>install.log 2>&1
	is "uninstall leaves nothing of it" "$(find dest -name '*decode*')" ""
else
	not_ok "the examples are built against an installed tree" install.log
fi
export LD_LIBRARY_PATH=$out/lib

# clean COMMAND...: without errors and leaks, its output into clean.out
clean() {
	timeout 300 valgrind -q --leak-check=full --show-leak-kinds=all --error-exitcode=9 "$@" >clean.out 2>clean.err &&
		! grep -q '^==' clean.err
}

# ---- recordings --------------------------------------------------------------------------

# The output of decode-recording as pcce-report --format=folded prints it.
fold() {
	awk -F'\t' '{
		line = ""
		for (i = 4; i <= NF; i++) {
			name = $i
			gsub(/;/, ":", name)
			line = line (i > 4 ? ";" : "") name
		}
		weight[line] += $1
	} END { for (line in weight) print line, weight[line] }' "$1" | sort
}

agrees() { # NAME DATA
	local status
	if ! built/decode-recording "$2" >"$2.lines" 2>"$2.err"; then
		not_ok "$1: is decoded" "$2.err"
		return
	fi
	fold "$2.lines" >"$2.mine"
	pcce-report -i "$2" --format=folded 2>"$2.err" | sort >"$2.theirs"
	if [ -s "$2.theirs" ] && cmp -s "$2.mine" "$2.theirs"; then
		ok "$1: contexts and weights are those of pcce-report"
		echo "#   $(wc -l <"$2.theirs") contexts"
	else
		not_ok "$1: contexts and weights are those of pcce-report" \
			"$(diff "$2.mine" "$2.theirs" | cut -c 1-200 | head -n 10)"
	fi
	for status in exact truncated outside undecodable; do
		is "$1: as many are $status" \
			"$(awk -F'\t' -v s=$status '$2 == s { n++ } END { print n + 0 }' "$2.lines")" \
			"$(stat_of "$2" $status)"
	done
}

mkdir -p elsewhere
for w in recursion.c threads.c exceptions.cc; do
	name=${w%.*}
	compiler=$CC
	[ "$w" = "${w%.cc}" ] || compiler=$CXX
	# shellcheck disable=SC2046
	if ! $compiler -O2 -g -I"$top/tests/workloads" $(pkg-config --cflags pcce) "$top/tests/workloads/$w" \
		$(pkg-config --libs pcce) -pthread -o "$name" 2>build.log; then
		not_ok "$name is built" build.log
		continue
	fi
	if ! record self "$name.data" "./$name"; then
		not_ok "$name is recorded" "$name.data.err"
		continue
	fi
	agrees "$name" "$name.data"
done
# The same without the program, in another place.
mkdir elsewhere/of
mv recursion.data elsewhere/of/x.data
rm -f recursion
agrees "without the program" elsewhere/of/x.data
check "... threads have their names" sh -c "cut -f 3 elsewhere/of/x.data.lines | sort -u | grep -qx recursion"

if pcce-merge -o sums.data threads.data elsewhere/of/x.data >merge.log 2>&1; then
	built/decode-recording sums.data >sums.lines 2>sums.err
	fold sums.lines >sums.mine
	pcce-report -i sums.data --format=folded 2>>sums.err | sort >sums.theirs
	check "merged recordings, of aggregated samples: contexts and weights are those of pcce-report" \
		cmp sums.mine sums.theirs
else
	not_ok "pcce-merge" merge.log
fi
head -c 5000 threads.data >cut.data
check "a recording that was cut off is decoded as far as it goes" built/decode-recording cut.data
echo nonsense >nonsense.data
built/decode-recording nonsense.data >nonsense.out 2>&1
is "what is no recording is refused" "$?" 1
check "... with a sentence" grep -q '^decode-recording: .*nonsense.data' nonsense.out
built/decode-recording missing.data >missing.out 2>&1
check "a missing file is named" grep -q 'missing.data.*No such file' missing.out
dd if=threads.data bs=64K status=none | built/decode-recording /dev/stdin >piped.lines
check "a pipe is read" cmp piped.lines threads.data.lines

# ---- captured contexts -------------------------------------------------------------------

mkdir capture
cp "$top"/tests/e2e/decode/*.[ch] capture
cd capture || exit 1
# shellcheck disable=SC2046
if ! $CC -O2 -g -I"$top/userlib" -I"$top/include" -c capture.c 2>build.log ||
	! $CC -O2 -g $(pkg-config --cflags pcce) contexts.c capture.o $(pkg-config --libs pcce) \
		-o contexts 2>build.log; then
	not_ok "the program that captures its contexts is built" build.log
	done_testing
fi
for depth in 3 200 5000; do
	if ! ./contexts $depth; then
		not_ok "depth $depth: contexts are captured"
		continue
	fi
	../built/decode-context maps <deep.state >deep.out 2>deep.err
	is "depth $depth: the deep context is what the program knows" \
		"$(cut -f 1 deep.out | sed '1s/^\[contexts\]$//;1d' | cmp - deep.chain 2>&1)$(cat deep.err)" ""
	# Between main and the callback is the C library, as one frame.
	../built/decode-context maps <callback.state >callback.out 2>callback.err
	is "depth $depth: so is the one in a callback" \
		"$(cut -f 1 callback.out | grep -vxE '\[contexts\]|qsort' | cmp - callback.chain 2>&1)$(cat callback.err)" ""
done
# Places are those of the calls.
line=$(grep -n 'walk_on(depth, 12345);' contexts.c | cut -d : -f 1)
vaddr=$(tail -n 1 deep.out | cut -f 2)
is "the last frame is at main's call" \
	"$(addr2line -f -e contexts "$vaddr" | tr '\n' ' ' | sed "s|[^ ]*contexts.c|contexts.c|")" "main contexts.c:$line "
# Without the segments below the page, the context is truncated, not wrong.
{ head -c 16 deep.state; printf '\0\0\0\0\0\0\0\0'; head -c 920 deep.state | tail -c 896; } >short.state
../built/decode-context maps <short.state >short.out 2>&1
is "without older segments it ends in a gap" "$(tail -n 1 short.out | cut -f 1)" "[truncated]"
n=$(($(wc -l <short.out) - 1))
is "... and its inner frames are right" "$(head -n $n short.out | cmp - <(head -n $n deep.out) 2>&1)" ""

# ---- memory ------------------------------------------------------------------------------

if [ ${#sanitize[@]} != 0 ]; then
	skip "no errors and leaks" "the library has sanitizers, which valgrind cannot run"
elif command -v valgrind >/dev/null; then
	check "decode-recording has no errors and leaks" clean ../built/decode-recording ../threads.data
	check "... and the same output" cmp clean.out ../threads.data.lines
	check "... nor after an error" sh -c "valgrind -q --leak-check=full --error-exitcode=9 ../built/decode-recording ../nonsense.data 2>err; test \$? = 1"
	check "decode-context has no errors and leaks" sh -c "valgrind -q --leak-check=full --show-leak-kinds=all --error-exitcode=9 ../built/decode-context maps <deep.state >v.out 2>v.err && cmp v.out deep.out"
else
	skip "no errors and leaks" "valgrind is not installed"
fi
done_testing
