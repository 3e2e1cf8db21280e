#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Programs that act in certain contexts only: pcce_on_context() of pcce.h, and pcce-decode --select.
# The program knows its chain of calls, and compares each answer with it.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
command -v pkg-config >/dev/null || skip_all "pkg-config is not installed"
export PKG_CONFIG_PATH=$out/lib/pkgconfig:${PKG_CONFIG_PATH-}
cp "$top"/tests/e2e/triggers/* .

expressions=("ask" "ask < walk" "ask << walk" "odd < even" "odd << even < odd"
	"ask < odd < even < odd" "target < hop" "target < other_hop" "ask < target < hop < walk"
	"target << compare" "compare << walk" "hop < deeper < deeper" "ask << deep_walk"
	"ask << deeper < deep_walk < run < main" "ask < handler" "handler << interrupt < walk"
	"ask << thread" "ask << walk << walk << walk << walk << walk << run" "run < main"
	"d*r < *_walk" "deeper < deeper < deeper < deeper < deeper < deep_walk < run")
# What is between is not instrumented, or nothing calls so.
never=("compare < walk" "handler < interrupt" "main < run" "walk << ask" "even < even")

# With a tail call through a pointer, nobody knows.
unknown="target << leaver"

# answers NAME COUNT PROGRAM [LIBRARY]: sets are made of the expressions, and all are compared
answers() {
	local name=$1 count=$2 e i=0 arguments=()
	shift 2
	for e in "${expressions[@]}" "$unknown" "${never[@]}"; do
		i=$((i + 1))
		pcce-decode --select="$e" -o $i.set "$@" 2>select.err ||
			not_ok "$name: a set of '$e' is computed" select.err
		arguments+=("$e" "$i.set")
	done
	if timeout 200 ./"$1" "$count" "${arguments[@]}" >answers 2>answers.err; then
		ok "$name: no answer is wrong"
		echo "#   $(awk '{ y += $1; n += $3; u += $5 } END { print y, "yes,", n, "no,", u, "unknown" }' answers)"
	else
		not_ok "$name: no answer is wrong" "$(head -n 30 answers.err)"
	fi
	is "$name: all expressions were met, and the impossible ones were not" \
		"$(grep -v "$unknown" answers | sed -n 's/^0 yes.*unknown: //p')" "$(printf '%s\n' "${never[@]}")"
}

flags_of() { case $1 in *-static*) echo -DIS_STATIC=1 ;; *) echo -DIS_STATIC=0 ;; esac }
for flags in -O0 -O2 -O3 "-O2 -static" "-O2 -no-pie -fno-pie" "-O2 -fPIC" "-O2 -flto"; do
	# shellcheck disable=SC2046,SC2086
	if build_with_api triggers $flags $(flags_of "$flags") triggers.c; then
		answers "$flags" 20000 triggers
	else
		not_ok "$flags: is built" triggers.log
	fi
done
if build_with_api library.so -O2 -fPIC -shared library.c &&
	build_with_api lib -O2 -DIS_STATIC=0 -DWITH_LIBRARY triggers.c ./library.so; then
	expressions+=("from_library < inner < library_call < walk" "ask < from_library << walk" "from_library << walk"
		"library_test < walk" "library_test << run < thread")
	answers "with a library" 20000 lib library.so
else
	not_ok "with a library: is built" library.so.log lib.log
fi

# A library's function calls the program in place of a return.
if build_with_api tail_library.so -O2 -fPIC -shared -Wl,--unresolved-symbols=ignore-all \
	"$top/tests/e2e/only/tail_library.c" &&
	build_with_api ask -DASK -O2 -rdynamic "$top/tests/e2e/only/tail.c" ./tail_library.so; then
	for e in leave "inner < leave" "inner << main" "inner < outer_leave"; do
		pcce-decode --select="$e" -o ask.set ask tail_library.so 2>select.err || not_ok "a set of '$e'" select.err
		echo "$e: $(./ask 0 ask.set)"
	done >answers
	is "pcce_on_context() does not know what it cannot" "$(cat answers)" "leave: -1
inner < leave: -1
inner << main: 1
inner < outer_leave: -1"
else
	not_ok "a program that asks is built" tail_library.so.log ask.log
fi

# ---- errors --------------------------------------------------------------------------------

build_with_api triggers -O2 -DIS_STATIC=0 triggers.c
pcce-decode -x "ask << walk" -o right.set triggers
message() { { pcce-decode "$@" >/dev/null; } 2>&1; }
is "a function that does not exist" "$(message -x 'ask < nobody' -o x.set triggers)" \
	"pcce-decode: cannot select contexts: no function is called 'nobody'; it may have been inlined everywhere, or not be instrumented"
is "an expression that is not complete" "$(message -x 'ask <' -o x.set triggers)" \
	"pcce-decode: cannot select contexts by 'ask <': a function is missing; write 'f < g'"
check "one that is too long" grep -q 'it has more than 7 functions' \
	<(message -x 'a < b < c < d < e < f < g < h' -o x.set triggers)
check "a program that is not encoded" grep -q "^pcce-decode: cannot select contexts of /bin/true: it is not encoded" \
	<(message -x 'ask' -o x.set /bin/true)
check "no program" grep -q 'cannot select contexts: no program is given' <(message -x 'ask')
is "none of these wrote a set" "$(ls x.set 2>&1)" "ls: cannot access 'x.set': No such file or directory"

opens() { { ./triggers 400 "ask << walk" "$1" >/dev/null; } 2>&1; }
is "the set opens" "$(opens right.set)" ""
cp triggers other
build_with_api triggers -O1 -DIS_STATIC=0 triggers.c
is "a set of another build is refused" "$(opens right.set)" "cannot open right.set: Stale file handle"
mv other triggers
is "what is no set is refused" "$(opens triggers.c)" "cannot open triggers.c: Exec format error"
is "a missing file is refused" "$(opens none.set)" "cannot open none.set: No such file or directory"
size=$(stat -c %s right.set) wrong=0
for ((at = 0; at < size; at += size / 50 + 1)); do
	head -c $at right.set >bad.set
	[ "$(opens bad.set)" = "cannot open bad.set: Exec format error" ] || wrong=$((wrong + 1))
	# Another byte, in the place of this one.
	cp right.set bad.set
	byte=$(od -An -tu1 -j $at -N 1 right.set)
	printf '%b' "\\x$(printf %x $((byte ^ 64)))" | dd of=bad.set bs=1 seek=$at conv=notrunc 2>/dev/null
	[ "$(opens bad.set)" = "cannot open bad.set: Exec format error" ] || wrong=$((wrong + 1))
done
is "damaged sets are refused" $wrong 0
# shellcheck disable=SC2086
if $CC -O2 -DIS_STATIC=0 -I"$top/userlib" -I"$top/include" triggers.c -pthread -o plain 2>plain.log; then
	is "without the runtime there are no sets" "$(./plain 400 ask right.set 2>&1)" \
		"cannot open right.set: Function not implemented"
else
	not_ok "a program without the runtime is built" plain.log
fi
if PCCE_ENCODE=off build_with_api triggers -O2 -DIS_STATIC=0 triggers.c; then
	is "a program that is not encoded has no set" "$(opens right.set)" "cannot open right.set: Stale file handle"
else
	not_ok "a program that is not encoded is built" triggers.log
fi

# The example.
mkdir -p headers/pcce
cp "$top"/userlib/pcce.h "$top"/include/pcce/*.h headers/pcce
# shellcheck disable=SC2046
if $CC -O2 -g -Wall -Wextra -Werror -std=c11 -Iheaders $(pkg-config --cflags pcce) \
	"$top/docs/examples/inject-fault.c" $(pkg-config --libs pcce) -o inject-fault 2>example.log &&
	pcce-decode --select="get_memory << parse < load" -o faults.set inject-fault; then
	is "the example: faults only where the expression says" "$(./inject-fault faults.set)" \
		"load: out of memory"$'\n'"save: done"
	is "... and without a set nowhere" "$(./inject-fault)" "load: done"$'\n'"save: done"
else
	not_ok "the example is built" example.log
fi
done_testing
