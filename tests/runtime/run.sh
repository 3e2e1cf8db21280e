#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests the runtime library and the self sampler.  The programs here push by hand, so neither the
# plugin nor pcce-encode is needed.

. "$(dirname "$0")/../lib.sh"

here=$top/tests/runtime
lib=$out/lib/pcce
runtime="-Wl,-u,__pcce_push $lib/libpcce.a"
flags="-std=gnu11 -O1 -g -Wall -Wextra -Werror -I$top/include -I$top/lib -I$top -pthread"

# NAME FLAGS SOURCES...: builds and runs a TAP program; one line of ours per line of its
tap_program() {
	local name=$1 extra=$2 line good
	shift 2
	if ! $CC $flags $extra "$@" -o "$scratch/$name" $runtime 2>"$scratch/$name.err"; then
		not_ok "$name $extra: builds" "$scratch/$name.err"
		return
	fi
	run_tap "$name $extra" "$scratch/$name"
}

run_tap() { # NAME COMMAND...
	local name=$1 line
	shift
	timeout 300 "$@" >"$scratch/tap" 2>"$scratch/tap.err"
	local status=$?
	local notes
	notes=$(grep "^#" "$scratch/tap" | tail -n 20)
	while IFS= read -r line; do
		case $line in
		'ok '*) ok "$name: ${line#ok * - }" ;;
		'not ok '*) not_ok "$name: ${line#not ok * - }" "$notes" ;;
		esac
	done <"$scratch/tap"
	grep -q '^1\.\.' "$scratch/tap" ||
		not_ok "$name: runs to its end (status $status)" "$scratch/tap" "$scratch/tap.err"
}

for kind in -pie -no-pie -static; do
	tap_program test_pushpop $kind "$here"/{test_pushpop,helpers,entries,tap}.c
	tap_program test_threads $kind "$here"/{test_threads,helpers,entries,tap}.c
done
tap_program test_step -pie "$here"/{test_step,helpers,entries,tap}.c

# ---- what sanitizers replace -----------------------------------------------------------

# The handler of the self sampler must not call what ThreadSanitizer replaces (local_libc.h), nor
# may other code of the runtime.  A compiler adds such calls where it compiles for size.  Objects of
# sources that are gone may still lie there.
replaced='mem(cpy|move|set|cmp|chr)|str(n?len|n?cmp|n?cpy|chr)|clock_gettime'
for source in "$top"/userlib/{base,stack,interpose,self,contexts,threads}/*.c; do
	object=${source#"$top/userlib/"}
	object=${object%.c}.o
	[ $object != self/verify.o ] || continue # a library of its own
	is "$object: calls its own copies of functions that sanitizers replace" \
		"$(nm -u "$out/obj/userlib/$object" 2>&1 | grep -Ewo "$replaced|No such file" | xargs)" ""
done

# ---- size ------------------------------------------------------------------------------

# All of these two archives is in each program (bench/README.md).
bytes=$(size -A "$lib"/libpcce.a "$lib"/libpcce_jump.a |
	awk '$1 == ".text" { n += $2 } END { print n }')
check "the code of a program's runtime has less than 71000 bytes ($bytes)" [ "$bytes" -lt 71000 ]

# ---- the sections that pcce-encode needs, through all linkers ------------------------

cat >"$scratch/empty.c" <<'END'
int main(void) { return 0; }
END
for linker in bfd gold lld mold; do
	if ! command -v ld.$linker >/dev/null; then
		skip "ld.$linker: the runtime's sections survive" "ld.$linker is not installed"
		continue
	fi
	for kind in -static -static-pie -pie -no-pie -shared; do
		for gc in "" -Wl,--gc-sections; do
			name="ld.$linker $kind $gc: .pcce_entries, .pcce_helpers and .note.pcce survive"
			if [ $linker = gold ] && [ $kind = -static-pie ]; then
				skip "$name" "gold knows no -static-pie"
				continue
			fi
			archive=$lib/libpcce.a
			[ $kind = -shared ] && archive="-fPIC $lib/libpcce_dso.a -L$lib -lpcce"
			if limited $CC -fuse-ld=$linker $kind $gc -ffunction-sections "$scratch/empty.c" \
				-o "$scratch/linked" -s \
				-Wl,-u,__pcce_push $archive 2>"$scratch/link.err" &&
				readelf -SW "$scratch/linked" >"$scratch/sections" &&
				grep -q '\.pcce_entries' "$scratch/sections" &&
				grep -q '\.pcce_helpers' "$scratch/sections" &&
				grep -q '\.note\.pcce' "$scratch/sections"; then
				ok "$name"
			else
				not_ok "$name" "$scratch/link.err"
			fi
		done
	done
done

# ---- executables and libraries together ----------------------------------------------------------

exports=$(sed 's/^/-Wl,--export-dynamic-symbol=/' "$lib/libpcce.exports" | tr '\n' ' ')
$CC $flags -fPIC -shared "$here/modules_lib.c" -o "$scratch/libmod.so" -Wl,-u,__pcce_push \
	"$lib/libpcce_dso.a" \
	-L"$lib" -lpcce -Wl,-rpath,"$lib" || not_ok "a shared library links"
$CC $flags -DWITH_RUNTIME -DLINKED "$here/modules_main.c" -o "$scratch/m1" $runtime $exports \
	-L"$scratch" -lmod -Wl,-rpath,"$scratch"
$CC $flags -DWITH_RUNTIME "$here/modules_main.c" -o "$scratch/m2" $runtime $exports
$CC $flags -DLINKED "$here/modules_main.c" -o "$scratch/m3" -L"$scratch" -lmod -L"$lib" \
	-Wl,-rpath,"$scratch:$lib" -Wl,--no-as-needed -lpcce
check "a program and a library it is linked with share one page" "$scratch/m1"
check "a program and a library that it loads share one page" "$scratch/m2" "$scratch/libmod.so"
check "a library in a program without instrumentation" "$scratch/m3"

# ---- the self sampler ----------------------------------------------------------------------------

if $CC $flags -O2 "$here/self_target.c" -o "$scratch/self_target" $runtime 2>"$scratch/err" &&
	$CC $flags -D_GNU_SOURCE= -fsanitize=address,undefined "$here"/{test_self,tap}.c \
		"$top"/lib/base/{array,error,similar}.c \
		"$top"/lib/sampler/{self,self_allocations,self_directory,perf_event}.c \
		"$top"/lib/sampler/{bus_guard,pidns}.c "$out/obj/libpcce-tools.a" \
		"${tool_libraries[@]}" -o "$scratch/test_self" 2>>"$scratch/err"; then
	run_tap test_self "$scratch/test_self" "$scratch" "$lib/libpcce-verify.so"
else
	not_ok "test_self builds" "$scratch/err"
fi

# A set-uid program ignores the environment.
if [ "$(id -u)" = 0 ] && cp "$scratch/self_target" "$scratch/suid" && chown 65534 "$scratch/suid" &&
	chmod 4755 "$scratch/suid" &&
	chmod 755 "$scratch" && mkdir -m 777 "$scratch/rings"; then
	PCCE_SELF="$scratch/rings:1000000:" "$scratch/suid" threads 50
	is "a set-uid program leaves no ring" "$(ls "$scratch/rings")" ""
	PCCE_SELF="$scratch/rings:1000000:" "$scratch/self_target" threads 50
	is "another one does" "$(find "$scratch/rings" -name 'ring-*' | wc -l)" 1
else
	skip "set-uid" "needs root"
fi

done_testing
