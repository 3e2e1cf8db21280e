#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
# Tests the GCC plugin.  Compiles the programs in programs/ in many ways.  Checks the site records
# against the code (check_sites, and a disassembly for calls without record).  Runs the results,
# which are not encoded, and compares them with builds without the plugin.  Prints TAP.
#
#	PLUGIN=build/lib/pcce/pcce_plugin.so CC=gcc-12 CXX=g++-12 tests/plugin/run.sh [--all]
#
# --all combines every flag with every program.

all=${1-}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
CC=${CC:-gcc}
CXX=${CXX:-g++}
PLUGIN=$(readlink -f "${PLUGIN:-${O:-$top/build}/lib/pcce/pcce_plugin.so}")
programs=$here/programs
work=$(mktemp -d "${TMPDIR:-/tmp}/pcce-plugin-test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
cd "$work" || exit 2

n=0
failures=0

# result STATUS NAME: the log of a failure is in ./log
result()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failures=$((failures + 1))
		sed 's/^/# /' log | head -n 40
	fi
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

bail()
{
	echo "Bail out! $1"
	exit 2
}

[ -f "$PLUGIN" ] || bail "there is no plugin at '$PLUGIN'; name one with PLUGIN="
"$CC" -O2 -Wall -I"$top/include" "$here/check_sites.c" -lelf -o check_sites ||
	bail "check_sites does not compile"
"$CC" -O2 -fPIC -I"$top/include" -c "$programs/page.c" -o page.o || bail "page.c does not compile"

# calls FILE PARTS: fails if a call instruction inside an instrumented part has no record.
calls()
{
	objdump -d --no-show-raw-insn -w "$1" |
		sed -n 's/^ *\([0-9a-f]*\):[ \t]*\(.*call.*\)/\1 \2/p' |
		awk -v parts="$2" '
		function pad(s) { return substr("0000000000000000" s, length(s) + 1) }
		BEGIN {
			while ((getline line < parts) > 0) {
				split(line, f, " ")
				if (f[1] == "part") { start[++p] = f[2] ""; end[p] = f[3] "" }
				if (f[1] == "call") known[f[2] ""] = 1
				if (f[1] == "range") { rstart[++r] = f[2] ""; rend[r] = f[3] "" }
			}
		}
		/syscall|__pcce_restore|__fentry__|mcount|__morestack/ { next }
		{
			at = pad($1) ""
			if (at in known) next
			inside = 0
			for (i = 1; i <= p; i++) if (at >= start[i] && at < end[i]) inside = 1
			for (i = 1; i <= r; i++) if (at >= rstart[i] && at < rend[i]) inside = 0
			if (ENVIRON["CHECK_THUNKS"] && /[+]0x[0-9a-f]*>/) next
			if (inside) { print "no record: " $0; bad = 1 }
		}
		END { exit bad }'
}

# inspect FILE: records and code agree.
inspect()
{
	./check_sites "$1" > "$1.sites" 2> log || return 1
	calls "$1" "$1.sites" >> log 2>&1
}

# What shapes.c prints without the plugin, with any flags.
"$CC" -O2 "$programs/shapes.c" page.o -o plain -lm -pthread && ./plain > shapes.out ||
	bail "shapes.c does not compile"

# Builds $1 (a source) with the plugin, and compares its output.  Flags follow.  Only if that fails,
# builds it without the plugin.
build_and_compare()
{
	source=$1
	shift
	case $source in *.cc) compiler=$CXX ;; *) compiler=$CC ;; esac
	if "$compiler" "$@" -fplugin="$PLUGIN" "$programs/$source" page.o -o tested -lm -pthread \
		> log 2>&1 && inspect tested && ./tested > tested.out 2> log; then
		[ "$source" != shapes.c ] || cmp shapes.out tested.out > log 2>&1 && return
	fi
	mv log tested.log
	"$compiler" "$@" "$programs/$source" page.o -o plain -lm -pthread > log 2>&1 || return 77
	[ "$source" != shapes.c ] || ./plain > plain.out 2> log || return 77
	mv tested.log log
	return 1
}

run_and_compare()
{
	./tested > tested.out 2> log || { echo "exit status $?" >> log; return 1; }
	case $source in
	shapes.c | tls_*.c)
		./plain > plain.out 2> log || return 77
		cmp plain.out tested.out > log 2>&1
		;;
	esac
}

# program SOURCE FLAGS...
program()
{
	name="$*"
	build_and_compare "$@"
	status=$?
	if [ $status = 77 ]; then
		skip "$name" "does not work here without the plugin either"
	else
		result $status "$name"
	fi
}

levels="-O0 -O1 -O2 -O3 -Os -Og"
for level in $levels; do
	program shapes.c $level
	program restores.c $level
	program exceptions.cc $level
	program cleanups.c $level -fexceptions
done

# Code without jumps costs nothing extra: such an object needs nothing of the runtime.
foreign() { nm -u "$1" | awk '{ print $2 }' | sort; }
for level in -O0 -O2 -O3; do
	for source in recursion.c indirect.c qsort.c signals.c threads.c setjmp.c; do
		"$CC" $level -c "$here/../workloads/$source" -o plain.o > log 2>&1 &&
			"$CC" $level -fplugin="$PLUGIN" -c "$here/../workloads/$source" \
				-o tested.o >> log 2>&1 &&
			foreign plain.o > plain.foreign && foreign tested.o > tested.foreign ||
			bail "$source does not compile"
		if [ $source = setjmp.c ]; then
			grep -qx __pcce_restore tested.foreign > log
		else
			cmp plain.foreign tested.foreign > log 2>&1
		fi
		result $? "$source $level: what it needs of the runtime"
	done
done

# Code with clean-ups costs something only on the way there, once.
cat > saves.cc <<'END'
extern int outside(int);
struct guard { ~guard() { outside(0); } };
int f_seldom(int x) { if (__builtin_expect(x < 0, 0)) { guard g; return outside(x); } return x + 1; }
int f_loop(int n) { int t = 0; for (int i = 0; i < n; i++) { guard g; t += outside(i); } return t; }
int f_merged(int n, int c) { int x = 1; if (c) x = outside(2); do { guard g; x = outside(x); } while (--n); return x; }
END
# order FUNCTION: prints which of these it has, up to the first call of its landing pad
order() { awk -v f="$1" '$0 == f ":" { on = 1 } /call.*__pcce_restore/ { on = 0 } on && /pcce_page|\tcall|\tret/ { print $1 }
	on && /^\.L[0-9]+:/ { print "label" }' saves.s | tr '\n' ' '; }
"$CXX" -O2 -fpie -S -fplugin="$PLUGIN" saves.cc -o saves.s > log 2>&1 && order _Z8f_seldomi > log &&
	grep -q '^ret label movq call ' log
result $? "a function that seldom throws does not save its state on the other way"
order _Z6f_loopi > log && grep -q '^movq label call ' log && ! grep -q 'call.*movq' log
result $? "one that throws in a loop saves it before the loop"
order _Z8f_mergedii > log && grep -q 'movq label call' log
result $? "also where two ways meet and nothing else happens"

# A caller may rely on registers that a callee of its unit does not change, except those of slots.
cat > live.c <<'END'
__attribute__((noinline, noclone)) static int leaf(int x) { __asm__ volatile(""); return x + 1; }
int f(int a, int b, int c, int d, int e, int g, int *p)
{
	int h = p[0], i = p[1], j = p[2], k = p[3];
	for (int n = 0; n < a; n++) {
		b += leaf(n); c ^= b; d += leaf(c) * b; e ^= d; g += leaf(e) + c;
		h ^= g; i += leaf(h) + d; j ^= i; k += leaf(j) + e;
	}
	return b + c * d - e + g * h - i + j * k;
}
END
registers() { "$CC" -O2 -S "$@" live.c -o - | grep -Eo '%r(8|9|10|11)' | sort -u | tr '\n' ' '; }
registers > log && grep -q 'r10.*r11' log && registers -fplugin="$PLUGIN" > log &&
	[ "$(cat log)" = "%r8 %r9 " ]
result $? \
	"values live in registers across calls of a function that leaves them alone, but not in r10 and r11"

# Calls cost more with slots, so inlining goes as far as with -O3.  -O2 alone does not inline this
# function.
cat > inline.c <<'END'
extern int outside(int);
extern int table[64];
static int medium(int a, int b)
{
	int x = table[a & 63] + b;
	x ^= table[x & 63] * a + table[b & 63];
	x += table[(x >> 3) & 63] * b - table[(x >> 9) & 63];
	return x * table[(x >> 5) & 63];
}
int f_one(int a) { return medium(a, 2) + outside(a); }
int f_two(int a) { int t = 0; for (int i = 0; i < a; i++) t += medium(i, a) ^ outside(t); return t; }
int f_three(int a) { return outside(medium(a, a)) + 1; }
END
# left FLAGS...: prints the number of calls of medium()
left() { "$CC" "$@" -S inline.c -o inline.s > log 2>&1 && grep -c 'call.*medium' inline.s; }
if [ "$(left -O2)" = 0 ] || [ "$(left -O3)" != 0 ]; then
	skip "inlining" "this compiler inlines with -O2 what it inlines with -O3"
else
	[ "$(left -O2 -fplugin="$PLUGIN")" = 0 ]
	result $? "-O2 inlines as much as -O3"
	[ "$(left -O2 -fplugin="$PLUGIN" --param max-inline-insns-auto=15 --param inline-min-speedup=30)" = "$(left -O2)" ]
	result $? "unless the user has said how much"
	[ "$(left -Os -fplugin="$PLUGIN")" = "$(left -Os)" ] &&
		[ "$(left -O1 -fplugin="$PLUGIN")" = "$(left -O1)" ]
	result $? "-Os and -O1 inline as without the plugin"
fi
# More inlining brings more warnings of correct code.  They must not break a build with -Werror.
cat > warned.c <<'END'
extern int a[64], b[64];
int use(int);
static int get(int *x, int n)
{
	if (n > 3) {
		*x = a[n] + b[n] * 3 + a[n ^ 1] * b[n ^ 2] + a[n & 7] - b[n | 1];
		*x += b[*x & 63] * a[*x & 31] + 7;
		return 1;
	}
	return n < 0;
}
int first(int n) { int x; return get(&x, n) ? use(x) : 0; }
int second(int n) { int x; return get(&x, n + 1) ? use(x) + 1 : 0; }
int third(int n) { int x; return get(&x, n + 2) ? use(x) + 2 : 0; }
END
if ! "$CC" -O2 -Wall -Werror -c warned.c 2> /dev/null ||
	"$CC" -O3 -Wall -Werror -c warned.c 2> /dev/null; then
	skip "warnings" "this compiler warns at -O2 of what it warns of at -O3"
else
	"$CC" -O2 -Wall -Werror -fplugin="$PLUGIN" -c warned.c > log 2>&1
	result $? "a build with -Werror passes with the plugin"
	! "$CC" -O2 -Wall -Werror=maybe-uninitialized -fplugin="$PLUGIN" -c warned.c > log 2>&1
	result $? "unless the user has named the warning"
	! "$CC" -O3 -Wall -Werror -fplugin="$PLUGIN" -c warned.c > log 2>&1
	result $? "or has himself asked for as much inlining"
fi
echo 'int f(void) { int unused; return 1; }' > unused.c
! "$CC" -O2 -Wall -Werror -fplugin="$PLUGIN" -c unused.c > log 2>&1
result $? "other warnings are errors as without the plugin"

# GCC reads a profile by the flow graphs after early inlining.  The profile of a build without the
# plugin must therefore work with the plugin.
cat > trained.c <<'END'
int table[64];
static int early(int a) { int x = table[a & 63] * a; x ^= x >> 3; x += a * 5; x ^= x << 2; if (x > a) x += table[x & 7]; return x; }
int main(int c, char **v) { int t = 0; (void)v; for (int i = 0; i < c * 9; i++) t ^= early(i) + early(t); return t == 12345; }
END
"$CC" -O2 -fprofile-generate -c trained.c > log 2>&1 &&
	"$CC" -fprofile-generate trained.o -o trained >> log 2>&1 && ./trained >> log 2>&1 &&
	"$CC" -O2 -fprofile-use -Werror=coverage-mismatch -Werror=missing-profile \
		-fplugin="$PLUGIN" -c trained.c >> log 2>&1
result $? "a profile of a build without the plugin fits"

# Flags that change the code around a call, or where code goes.
for flags in -g -g3 -gsplit-dwarf -fno-plt "-fno-pie -no-pie" -fPIE -fcf-protection \
	"-fPIC -fsemantic-interposition" \
	-ffunction-sections -fnon-call-exceptions "-fno-plt -fPIC" -fomit-frame-pointer \
	-fno-omit-frame-pointer \
	-fsanitize=undefined -fstack-protector-all -mno-accumulate-outgoing-args \
	-maccumulate-outgoing-args \
	-fno-asynchronous-unwind-tables -fno-dwarf2-cfi-asm -mcmodel=large -mcmodel=medium \
	-fpatchable-function-entry=8,3 \
	"-fcf-protection -fpatchable-function-entry=4" "-pg -mfentry" -fsplit-stack -mavx2 \
	"-fipa-ra -fno-inline" "-march=haswell -O3 -funroll-all-loops" -fno-toplevel-reorder \
	-fprofile-arcs -fopenmp \
	"-freorder-blocks-and-partition --param=hot-bb-count-ws-permille=1" -fno-function-cse \
	-masm=intel -fverbose-asm \
	-fstack-clash-protection -fno-jump-tables -fshrink-wrap -fcaller-saves -mharden-sls=all \
	-fsched-pressure -fharden-compares -fharden-conditional-branches \
	"-fharden-control-flow-redundancy -fhardcfr-check-noreturn-calls=always" -fhardened \
	-fstrub=all -ftrampoline-impl=heap -finline-stringops -flate-combine-instructions; do
	program shapes.c -O2 $flags
	case $all$flags in
	*-mcmodel=large | *-fsplit-stack) ;;
	--all* | -g | "-fPIC "* | *-fcf-prot* | -fnon-call* | -ffunction-s* | -freorder-bl* | "-fno-plt -fPIC" | -fsched* | \
		-fharden-con* | -fstrub*)
		program exceptions.cc -O2 $flags
		program restores.c -O2 $flags
		;;
	esac
done

# Registers that few processors have: the records and the code are checked, nothing runs.
cat > apx.c <<'END'
extern int outside(int);
int through(int (*f)(int), int x)
{
	register int (*g)(int) __asm__("r16") = f;
	__asm__("" : "+r"(g));
	return g(x) + 1;
}
int main(int c, char **v) { (void)v; return through(outside, c); }
int outside(int x) { return x; }
END
apx="-mapxf -mapx-inline-asm-use-gpr32"
if "$CC" -O2 $apx apx.c -o plain > log 2>&1; then
	for source in shapes.c restores.c cleanups.c; do
		"$CC" -O2 -mapxf -fexceptions -fplugin="$PLUGIN" "$programs/$source" page.o -o tested \
			-lm -pthread > log 2>&1 && inspect tested
		result $? "$source -O2 -mapxf: records"
	done
	"$CC" -O2 $apx -fplugin="$PLUGIN" apx.c -o facts.x > log 2>&1 && inspect facts.x &&
		objdump -d facts.x > log && grep -q 'call.*%r16' log &&
		grep -Eq "^site through [0-9]+ 0x1 63 58 " facts.x.sites
	result $? "a call through r16 has slots"
else
	skip "-mapxf" "needs GCC 14 and an assembler that knows -mapxf"
fi

for kind in thunk thunk-inline; do
	CHECK_THUNKS=1
	export CHECK_THUNKS
	program shapes.c -O2 -fcf-protection=none -mindirect-branch=$kind
	program shapes.c -O2 -fcf-protection=none -mindirect-branch=$kind -fno-plt
	program exceptions.cc -O2 -fcf-protection=none -mindirect-branch=$kind
	unset CHECK_THUNKS
done

# LTO needs the plugin on both lines.  With one only, the result works and has no records.
for flags in "-flto" "-flto -ffat-lto-objects" "-flto -fno-use-linker-plugin -ffat-lto-objects" \
	"-flto=2 -flto-partition=max" \
	"-flto -fwhole-program"; do
	program shapes.c -O2 $flags
	program exceptions.cc -O2 -g $flags
	program restores.c -O1 $flags
done
"$CC" -O2 -flto -fplugin="$PLUGIN" -c "$programs/shapes.c" -o lto.o > log 2>&1 &&
	"$CC" -O2 -flto lto.o -o tested -lm >> log 2>&1 && ./tested > tested.out &&
	! ./check_sites tested > tested.sites 2>&1
result $? "-flto with the plugin on the compiler's line only instruments nothing"

# Linkers, and the sections that they discard.
cat > gc.c <<'END'
#include <stdio.h>
int helper(int x) { return puts("helper") + x; }
int unused_one(int x) { return helper(x) + puts("unused"); }
int used(int x) { return helper(x) + 1; }
int unused_two(int x) { return unused_one(x) * 2; }
int main(void) { return used(-8) > 1000; }
END
for ld in bfd gold lld; do
	if ! "$CC" -fuse-ld=$ld "$programs/page.c" -I"$top/include" -shared -fPIC -o probe.so \
		> log 2>&1; then
		skip "linker $ld" "$ld is not installed"
		continue
	fi
	source=shapes.c
	"$CC" -O2 "$programs/shapes.c" page.o -o plain -lm &&
		"$CC" -O2 -g -fplugin="$PLUGIN" -fuse-ld=$ld -Wl,-z,execstack "$programs/shapes.c" \
			page.o -o tested -lm > log 2>&1 &&
		inspect tested && run_and_compare
	result $? "linker $ld"
	"$CXX" -O2 -g -fplugin="$PLUGIN" -fuse-ld=$ld "$programs/exceptions.cc" page.o -o tested \
		> log 2>&1 &&
		inspect tested && ./tested > tested.out
	result $? "linker $ld, C++"
	[ $ld = gold ] && continue # drops all records then; pcce-config's ld wrapper refuses the pair
	"$CC" -O2 -fno-inline -fno-ipa-icf -ffunction-sections -fplugin="$PLUGIN" -fuse-ld=$ld \
		-Wl,--gc-sections gc.c -o tested > log 2>&1 &&
		inspect tested && ./tested > tested.out &&
		[ "$(sed -n 's/^part [^ ]* [^ ]* \([^ ]*\) .*/\1/p' tested.sites | sort | tr '\n' ' ')" = "helper main used " ]
	result $? "linker $ld, --gc-sections keeps the blocks of live functions and no others"
	"$CXX" -O2 -g -ffunction-sections -fplugin="$PLUGIN" -fuse-ld=$ld -Wl,--gc-sections \
		"$programs/exceptions.cc" page.o \
		-o tested > log 2>&1 && inspect tested && ./tested > tested.out
	result $? "linker $ld, C++, --gc-sections"
done

# ld -r keeps the records, too.
"$CC" -O2 -ffunction-sections -fplugin="$PLUGIN" -c gc.c -o gc.o > log 2>&1 &&
	ld -r gc.o -o gc-r.o >> log 2>&1 &&
	"$CC" gc-r.o -o tested >> log 2>&1 && inspect tested &&
	[ "$(grep -c '^part' tested.sites)" = 5 ]
result $? "ld -r"

# One copy of a COMDAT function, one block.
cat > comdat.h <<'END'
extern "C" int puts(const char *);
template <int N> __attribute__((noinline)) int instance(int x) { return puts("instance") + x * N; }
inline __attribute__((noinline)) int shared(int x) { return instance<3>(x) + instance<4>(x); }
END
printf '#include "comdat.h"\nint other(int x) { return shared(x); }\n' > comdat1.cc
printf '#include "comdat.h"\nint other(int x); int main() { return shared(1) + other(2) > 9999; }\n' > comdat2.cc
"$CXX" -O1 -I. -fplugin="$PLUGIN" comdat1.cc comdat2.cc -o tested > log 2>&1 && inspect tested &&
	./tested > tested.out &&
	[ "$(grep -c '^part' tested.sites)" = 5 ]
result $? "a COMDAT function has one block"

# A weak function that another one replaces keeps its block.
printf '__attribute__((weak)) int w(int x) { return x; }\nint a(int x) { return w(x) + 1; }\n' \
	> weak1.c
printf 'int a(int); int w(int x) { return x * 2; }\nint main(void) { return a(0) != 1; }\n' \
	> weak2.c
"$CC" -O1 -fno-inline -fplugin="$PLUGIN" weak1.c weak2.c -o tested > log 2>&1 && inspect tested &&
	./tested &&
	[ "$(grep '^part' tested.sites | cut -d' ' -f2 | sort -u | wc -l)" = 4 ]
result $? "a weak function and the one that replaces it have different starts"

# Shared libraries with thread-local variables, and relaxation of them.
source=tls_main.c
for flags in "-fPIC" "-fPIC -fno-plt" "-fpic -O0" "-fPIC -mtls-dialect=gnu2" \
	"-fPIC -mtls-dialect=gnu2 -flto" "-fPIC -O0 -mtls-dialect=gnu2"; do
	"$CC" -O2 $flags -shared "$programs/tls_lib.c" -o libplain.so > log 2>&1 &&
		"$CC" -O2 "$programs/tls_main.c" ./libplain.so -o plain > log 2>&1 &&
		"$CC" -O2 $flags -fplugin="$PLUGIN" -shared "$programs/tls_lib.c" -o libtested.so \
			> log 2>&1 &&
		inspect libtested.so &&
		"$CC" -O2 $flags -fplugin="$PLUGIN" "$programs/tls_main.c" ./libtested.so \
			-o tested > log 2>&1 &&
		inspect tested && run_and_compare
	result $? "shared library with thread-local variables, $flags"
	"$CC" -O2 $flags -fplugin="$PLUGIN" "$programs/tls_main.c" "$programs/tls_lib.c" -o tested \
		> log 2>&1 &&
		inspect tested && run_and_compare
	result $? "the same linked into a program, $flags"
done

# The contents of the records.
cat > facts.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <setjmp.h>
extern int outside(int), (*volatile pointer)(int);
__attribute__((leaf)) extern int own_leaf(int);
extern void never(void) __attribute__((noreturn));
__attribute__((noinline)) static int inside(int x) { return outside(x) + 1; }
jmp_buf env;
int f_direct(int x) { return inside(x) + 1; }
int f_indirect(int x) { return pointer(x) + 1; }
size_t f_leaf(const char *s) { return strlen(s) + 1; }
size_t f_leaf_tail(const char *s) { return strlen(s); }
int f_own_leaf(int x) { return own_leaf(x) + 1; }
int f_raise(int x) { return raise(x) + 1; }
void f_noreturn(int x) { if (x) never(); }
void f_exit(int x) { if (x) exit(x); }
int f_tail(int x) { return outside(x); }
int f_tail_pointer(int x) { return pointer(x); }
int f_tail_stack(int a, int b, int c, int d, int e, int f, int g) { return pointer(a + g); }
int f_tail_caller(int x) { return pointer(x + !__builtin_return_address(0)); }
int f_twice(void) { return setjmp(env) ? 1 : outside(2); }
int f_loop(int n) { int t = 0; for (int i = 0; i < n; i++) t += outside(i); return t; }
int f_chain(int n) { int g(int x) { return outside(x + n) + n; } pointer = g; return g(n); }
int f_none(int x) { return x; }
__attribute__((no_instrument_function)) int f_omitted(int x) { return outside(x) + 1; }
__attribute__((visibility("hidden"))) int f_hidden(int x) { return x + 2; }
int f_self(int n) { return n ? f_self(n - 1) ^ n : 1; }
__attribute__((noinline)) int jumps_out(int x) { return pointer(x + 1); }
int f_to_jump(int x) { return jumps_out(x) + 1; }
int f_back(int n);
__attribute__((noinline)) int f_there(int n) { return n ? f_back(n - 1) ^ n : 1; }
__attribute__((noinline)) int f_back(int n) { return n ? f_there(n - 1) + n : 2; }
END
printf 'int outside(int x) { return x; } int (*volatile pointer)(int); int own_leaf(int x) { return x; } void never(void) { for (;;); }\n' > facts2.c
# fact NAME FUNCTION FLAGS BEFORE AFTER: one of the function's sites has these values
fact()
{
	grep -Eq "^site $2 [0-9]+ $3 $4 $5 " facts.x.sites
	status=$?
	grep "^site $2 " facts.x.sites > log
	result $status "$1"
}
"$CC" -O2 -fpie -fplugin="$PLUGIN" -c facts.c -o facts.o > log 2>&1 &&
	printf 'int main(void){return 0;}\n' > facts3.c &&
	"$CC" -fpie -O2 facts3.c facts.o facts2.c page.o -o facts.x > log 2>&1 && inspect facts.x
result $? "records of a position-independent program"
fact "a direct call has 13 and 13 bytes" f_direct 0 13 13
fact "an indirect call has room for a push and a pop" f_indirect 0x1 63 58
fact "a call of itself has room for a push and a pop" f_self 0 76 58
[ "$(grep -Ec "^site f_(there|back) [0-9]+ 0 76 58 " facts.x.sites)" = 1 ] &&
	[ "$(grep -Ec "^site f_(there|back) [0-9]+ 0 13 13 " facts.x.sites)" = 1 ]
result $? "so has one of two that call each other"
grep -E "f_(self|there|back)" facts.c > cycles.c
printf 'int main(int c, char **v) { (void)v; return f_self(c) + f_there(c); }\n' >> cycles.c
"$CC" -O2 -flto -fpie -pie -fplugin="$PLUGIN" cycles.c page.o -o cycles > log 2>&1 &&
	./check_sites cycles 2>> log > cycles.sites &&
	[ "$(grep -Ec "^site f_(there|back|self)[^ ]* [0-9]+ 0 76 58 " cycles.sites)" = 2 ]
result $? "also where that is found at link time"
fact "so has a call of what tail-calls through a pointer" f_to_jump 0 76 58
fact "a call of strlen is a leaf" f_leaf 0x2 13 13
fact "a tail call of strlen has become a call" f_leaf_tail 0x2 13 13
fact "a leaf attribute outside of system headers is not believed" f_own_leaf 0 13 13
fact "raise() is no leaf, and takes so long that it is worth no inline push" f_raise 0 13 13
grep -Eq "^site f_noreturn [0-9]+ 0x(4 13|14 0) 0 " facts.x.sites
result $? "a noreturn call has no after-slot"
grep -Eq "^site f_exit [0-9]+ 0x4 13 0 " facts.x.sites
result $? "exit() is no leaf and has no after-slot"
fact "a tail call stays one" f_tail 0x10 0 0
fact "so does one through a pointer, which has a slot" f_tail_pointer 0x11 0 114
fact "but not if it may pass arguments on the stack" f_tail_stack 0x11 0 0
fact "or looks at its caller" f_tail_caller 0x11 0 0
fact "setjmp returns twice and is a leaf" f_twice 0xa 13 13
grep -Eq "^site f_twice [0-9]+ 0x80 0 0 " facts.x.sites
result $? "and what follows it is stale until the state is restored"
[ "$(sed -n 's/^site f_loop [0-9]* 0 13 13 \([0-9]*\) .*/\1/p' facts.x.sites)" -gt 2000 ] 2> log
result $? "a call in a loop is more frequent than the function"
grep -Eq "^part [^ ]* [^ ]* f_none " facts.x.sites && ! grep -q "^site f_none" facts.x.sites
result $? "a function without calls has an empty block"
! grep -Eq "^part [^ ]* [^ ]* f_omitted " facts.x.sites
result $? "no_instrument_function leaves a function alone"
grep -Eq "^part [^ ]* [^ ]* f_hidden 0$" facts.x.sites &&
	grep -Eq "^part [^ ]* [^ ]* f_none 0x4$" facts.x.sites &&
	grep -Eq "^part [^ ]* [^ ]* f_twice 0x6$" facts.x.sites
result $? "blocks tell public functions and those that restore"
grep -Eq "^site f_direct 10 " facts.x.sites
result $? "records have source lines"

"$CC" -O2 -fPIC -fplugin="$PLUGIN" -shared facts.c facts2.c page.o -o facts.x > log 2>&1 &&
	inspect facts.x
result $? "records of a shared library"
fact "-fPIC: a direct call has 16 and 16 bytes" f_direct 0x40 16 16
fact "-fPIC: a leaf has 19 and 16 bytes" f_leaf 0x42 19 16
fact "-fPIC: an indirect call has room for a guard and a pop" f_indirect 0x41 71 62
fact "-fPIC: so has a call of what tail-calls through a pointer" f_to_jump 0x40 65 62
fact "-fPIC: a tail call through a pointer has a slot" f_tail_pointer 0x51 0 114

# Gates are for functions that a library exports, and whose arguments on the stack can be copied.
cat > gates.c <<'END'
#include <stdarg.h>
struct large { long word[4]; };
struct huge { long word[16]; };
typedef float aligned __attribute__((vector_size(32)));
extern int outside(int);
int g_plain(int x) { return outside(x) + 1; }
int g_none(int x) { return x; }
struct large g_large(long x) { struct large l = {{x, x, x, x}}; return l; }
__attribute__((weak)) int g_weak(int x) { return outside(x); }
int g_stack(int a, int b, int c, int d, int e, int f, int g) { return outside(a + b + c + d + e + f + g); }
int g_by_value(struct large l) { return outside(l.word[0]); }
int g_15_words(struct large a, struct large b, struct large c, struct { long word[3]; } d) { return outside(a.word[0] + b.word[1] + c.word[2] + d.word[0]); }
int g_huge(struct huge h) { return outside(h.word[0]); }
int g_aligned(aligned a) { return outside((int)a[0]); }
int g_list(int n, ...) { va_list a; va_start(a, n); n = va_arg(a, int); va_end(a); return n; }
void *g_back(void) { return __builtin_return_address(0); }
__attribute__((ms_abi)) int g_foreign(int x) { return outside(x); }
__attribute__((visibility("hidden"))) int g_hidden(int x) { return outside(x) + 2; }
__attribute__((visibility("protected"))) int g_protected(int x) { return outside(x) + 3; }
__attribute__((noinline)) static int g_static(int x) { return outside(x) + 4; }
int g_user(int x) { return g_static(x) + 1; }
END
gates_of() { awk '$1 == "part" && sub(/@plt$/, "", $4) { printf "%s ", $4 }' facts.x.sites; }
for flags in -fPIC "-fPIC -fno-plt" "-fPIC -ffunction-sections -Wl,--gc-sections" \
	"-fPIC -fno-asynchronous-unwind-tables" "-fPIC -fno-dwarf2-cfi-asm" "-fPIC -masm=intel" \
	"-fPIC -fcf-protection=full -freorder-blocks-and-partition"; do
	# shellcheck disable=SC2086
	"$CC" -O2 $flags -fplugin="$PLUGIN" -shared gates.c page.o -o facts.x > log 2>&1 &&
		inspect facts.x && gates_of >> log &&
		[ "$(gates_of | tr ' ' '\n' | sort | tr '\n' ' ')" = "g_15_words g_by_value g_large g_none g_plain g_stack g_user g_weak " ]
	result $? "gates of a shared library, $flags"
done
for flags in -fPIE "-fPIC -fvisibility=hidden" "-fPIC -mfunction-return=thunk"; do
	# shellcheck disable=SC2086
	"$CC" -O2 $flags -fplugin="$PLUGIN" -c gates.c -o gates.o > log 2>&1 &&
		readelf -p .pcce_sites gates.o | grep -q 'g_plain$' &&
		! readelf -p .pcce_sites gates.o | grep -q '@plt'
	result $? "no gates with $flags"
done

# Functions that the plugin does not instrument.
cat > scope.c <<'END'
extern int outside(int);
static int one(void) { return 1; }
void *resolve(void) { return outside(0) ? one : one; }
int chosen(void) __attribute__((ifunc("resolve")));
__attribute__((naked)) void bare(void) { __asm__("ret"); }
__attribute__((target_clones("avx2", "default"))) int cloned(int x) { return outside(x) + 1; }
int outside(int x) { return x; }
int main(void) { bare(); return chosen() + cloned(1) != 3; }
END
"$CC" -O2 -fplugin="$PLUGIN" scope.c -o facts.x > log 2>&1 && inspect facts.x && ./facts.x &&
	! grep -Eq "^part [^ ]* [^ ]* (resolve|bare|cloned.resolver) " facts.x.sites &&
	grep -Eq "^part [^ ]* [^ ]* cloned.avx2" facts.x.sites ||
	{ cat facts.x.sites >> log; false; }
result $? "IFUNC resolvers and naked functions are left alone"
printf 'extern int g(int);\nint f(int x) { return g(x) + 1; }\n' > taken.c
"$CC" -O2 -Werror -ffixed-r11 -fplugin="$PLUGIN" -c taken.c -o taken.o > log 2>&1 &&
	grep -q "r11.* is reserved" log &&
	! readelf -SW taken.o | grep -q pcce_sites
result $? "a unit that reserves r11 is left alone, with a note"
printf '__attribute__((noinline)) int deep(unsigned int n);\nint other(unsigned int n) { return n ? deep(n - 1) : 0; }\n%s\n' \
	'int deep(unsigned int n) { return n ? other(n - 1) : 0; } int main(void) { return deep(50000000); }' > stack.c
"$CC" -O2 -fno-optimize-sibling-calls -fplugin="$PLUGIN" -c stack.c -o stack.o > log 2>&1 &&
	"$CC" -O2 -fno-inline -foptimize-sibling-calls -fplugin="$PLUGIN" stack.c -o tested >> log \
		2>&1 && inspect tested &&
	./tested >> log 2>&1
result $? "tail calls use no stack"

# r10 and r11 in use.
cat > regs.c <<'END'
extern int outside(int);
int run(int (*f)(int), int x) { return f(x) + 1; }
int chain(int n) { __attribute__((noinline)) int g(int x) { return outside(x + n) + n; } return g(n) + g(n + 1) + run(g, 1); }
int target(int x)
{
	register int (*f)(int) __asm__("r11") = outside;
	__asm__("" : "+r"(f));
	return f(x) + 1;
}
int chained(int (*f)(int), void *p) { return __builtin_call_with_static_chain(f(1), p) + 1; }
int outside(int x) { return x; }
int main(void) { return chain(0) + target(1) + chained(outside, 0) != 7; }
END
"$CC" -O2 -fno-inline -fno-ipa-cp -fno-ipa-sra -fplugin="$PLUGIN" regs.c -o facts.x > log 2>&1 &&
	inspect facts.x && ./facts.x
result $? "calls that use r10 or r11"
fact "the static chain" chain 0x20 33 13
fact "a target in r11" target 0x21 83 58
fact "the static chain of a call through a pointer" chained 0x21 83 58

# Inline assembly.
cat > asm.c <<'END'
#define CALL(text, ...) __asm__ volatile(text : : "r"(f) : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", __VA_ARGS__)
int calls(void (*f)(void)) { volatile int x[8] = {1}; CALL("# first\n1:\tnotrack call *%0", "r10", "r11"); return x[0]; }
int several(void (*f)(void)) { volatile int x[8] = {1}; CALL(".Lx%=: callq *%0", "r10", "r11"); return x[0]; }
int none(void (*f)(void)) { volatile int x[8] = {1}; CALL("nop # call", "r10", "r11"); CALL("mov $39, %%eax; syscall", "r10", "r11"); return x[0]; }
END
cp asm.c asm-bad.c
cat >> asm-bad.c <<'END'
int saves(void (*f)(void)) { CALL("call *%0", "r10"); return 1; }
int flags(void (*f)(void))
{
	int zero;

	__asm__("call *%1" : "=@ccz"(zero) : "r"(f) : "r10", "r11");
	return zero;
}
END
cat >> asm.c <<'END'
static void nothing(void) { }
int main(void) { return calls(nothing) + several(nothing) + none(nothing) - 3; }
END
"$CC" -O2 -fplugin="$PLUGIN" asm.c -o facts.x > log 2>&1 && [ ! -s log ] && inspect facts.x &&
	./facts.x
result $? "inline assembly"
fact "that calls" calls 0x1 63 58
fact "behind a label" several 0x1 63 58
! grep "^site none" facts.x.sites > log
result $? "that does not call has no slot"
# A function with slots must keep nothing below the stack pointer.  In others GCC does so.
"$CC" -O2 -S -fplugin="$PLUGIN" asm.c -o asm.s > log 2>&1 &&
	sed -n '/^calls:/,/^\.LFE/p' asm.s > log && grep -q 'sub.*%rsp' log &&
	sed -n '/^none:/,/^\.LFE/p' asm.s > log && ! grep -q 'sub.*%rsp' log
result $? "it keeps nothing below the stack pointer"
"$CC" -O2 -Werror -fplugin="$PLUGIN" -c asm-bad.c -o asm-bad.o > log 2>&1 &&
	[ "$(grep -c 'note: pcce: cannot encode the call in this' log)" = 2 ]
result $? "a note says where slots cannot be"

# Copies of one source call are numbered alike, different ones are not.
cat > copies.c <<'END'
extern int a(int), b(int);
int unrolled(void)
{
	int t = 0;
#pragma GCC unroll 8
	for (int i = 0; i < 4; i++)
		t += a(t);
	return t;
}
int different(int x)
{
	return a(x) + b(x) + a(x + 1);
}
int a(int x) { return x + 1; }
int b(int x) { return x + 2; }
int main(void) { return unrolled() + different(0) != 8; }
END
"$CC" -O3 -fno-inline -fno-ipa-pure-const -fno-ipa-modref -g -fplugin="$PLUGIN" copies.c \
	-o facts.x > log 2>&1 && inspect facts.x
result $? "copies of a call"
[ "$(grep '^site unrolled ' facts.x.sites | cut -d' ' -f8 | sort -u | wc -l)" = 1 ] &&
	[ "$(grep '^site unrolled ' facts.x.sites | grep -vc ' 0 [0-9a-f]*$')" = 4 ] &&
	[ "$(grep '^site different ' facts.x.sites | cut -d' ' -f8 | sort -u)" = 0 ]
status=$?
grep '^site' facts.x.sites > log
result $status "unrolled copies have one number, other calls none"

# Code apart from the slots is the same, with and without debug information.
for flags in "" -g -g3; do
	"$CC" -O2 $flags -fplugin="$PLUGIN" -c "$programs/shapes.c" -o debug.o > log 2>&1
	objcopy -O binary -j .text -j .text.unlikely -j .text.startup debug.o "debug$flags.bin" \
		>> log 2>&1
done
cmp debug.bin debug-g.bin > log 2>&1 && cmp debug.bin debug-g3.bin >> log 2>&1
result $? "debug information changes no code"
"$CC" -O2 -fplugin="$PLUGIN" -c "$programs/shapes.c" -o again1.o &&
	"$CC" -O2 -fplugin="$PLUGIN" -c "$programs/shapes.c" -o again2.o &&
	cmp again1.o again2.o > log 2>&1
result $? "the same source gives the same object file"

# Errors.
: > empty.c
refused()
{
	name=$1
	expect=$2
	shift 2
	! "$@" > log 2>&1 && grep -q -- "$expect" log
	result $? "$name"
}
refused "an unknown argument is refused by its full name" \
	"-fplugin-arg-$(basename "$PLUGIN" .so)-foo" \
	"$CC" -fplugin="$PLUGIN" "-fplugin-arg-$(basename "$PLUGIN" .so)-foo=1" -S empty.c \
	-o empty.s
refused "-m32 is refused" "only x86-64" "$CC" -m32 -fplugin="$PLUGIN" -S empty.c -o empty.s
refused "-mx32 is refused" "only x86-64" "$CC" -mx32 -fplugin="$PLUGIN" -S empty.c -o empty.s
plugin_of_version=$(dirname "$PLUGIN")/gcc-$("$CC" -dumpversion | cut -d. -f1)/pcce_plugin.so
[ -f "$plugin_of_version" ] || plugin_of_version=$PLUGIN
other=
for candidate in gcc-10 gcc-11 gcc-12 gcc-13 gcc-14 gcc-15 gcc-16; do
	command -v $candidate > log 2>&1 && # one of several
		[ "$($candidate -dumpfullversion)" != "$("$CC" -dumpfullversion)" ] &&
		other=$candidate
done
if [ -n "$other" ]; then
	# Much older or newer ones lack functions that the plugin calls, and refuse it themselves.
	refused "another version of GCC is refused" \
		"was built for GCC\|cannot load plugin" "$other" -fplugin="$plugin_of_version" -S empty.c \
		-o empty.s
else
	skip "another version of GCC is refused" "only one GCC is installed"
fi

echo "1..$n"
[ $failures = 0 ]
