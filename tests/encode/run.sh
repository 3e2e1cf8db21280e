#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests pcce-encode and the linker wrapper on real links: kinds of ELF files, linkers, and all the
# ways in which an encoding can fail.  After a failure the linked file must be unchanged.

. "$(dirname "$0")/../lib.sh"
here=$top/tests/encode
cd "$scratch" || exit 1

lib=$(pcce-config --libdir)
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
for part in "$lib/pcce_plugin.so" "$lib/libpcce.a" "$lib/pcce.specs" "$lib/ld/ld"; do
	if [ ! -e "$part" ]; then
		skip "everything" "$part is not built"
		done_testing
		exit
	fi
done

# shellcheck disable=SC2086
build() { # OUTPUT FLAGS...: compiles and links prog.c; an encoding that fails is an error
	local output=$1
	shift
	PCCE_ENCODE=${mode-strict} limited $CC -O2 -g $cflags "$@" "$here/prog.c" $ldflags -o "$output"
}

expected=$($CC -O2 "$here/prog.c" -o plain && ./plain argument)

# is_in_code FILE ADDRESS: the bytes of the address, which no instruction of the program names, are
# also bytes of an instruction, such as those of a nop, 0f 1f 40 00, which are 0x401f0f
is_in_code() {
	local hex
	hex=$(printf %08x "$2")
	objcopy -O binary --only-section=.text "$1" text &&
		LC_ALL=C grep -qaP "\\x${hex:6:2}\\x${hex:4:2}\\x${hex:2:2}\\x${hex:0:2}" text
}

# encoded FILE: succeeds if the file is encoded, only allowed functions are roots, and it runs.  A
# function whose address could be in the code counts as a root.
encoded() {
	local address
	pcce-encode --dump "$1" >dump.txt &&
		[ "$(grep -cE ' (twice|compare|main|recurse) .* root' dump.txt)" = 4 ] &&
		grep -q '^encoded: yes' dump.txt && [ "$("./$1" argument)" = "$expected" ] || return
	while read -r address; do
		is_in_code "$1" "$address" || return
	done < <(sed -nE 's/^(0x[0-9a-f]+) (jump|tail) .* root.*/\1/p' dump.txt)
}

field() { # NAME FILE
	pcce-encode --dump "$2" | sed -n "s/^$1: //p"
}

# ---- kinds of files and linkers --------------------------------------------------------

for linker in bfd gold lld mold; do
	if ! command -v ld.$linker >/dev/null; then
		skip "$linker" "ld.$linker is not installed"
		continue
	fi
	for kind in "-fPIE -pie" "-fno-pie -no-pie" "-fno-pie -static" "-fPIE -static-pie" \
		"-fPIC -pie -rdynamic"; do
		# gold does not know the options that GCC passes for -static-pie.
		if [ $linker = gold ] && [[ $kind = *static-pie* ]]; then
			continue
		fi
		for more in "" "-ffunction-sections -Wl,--gc-sections" "-s"; do
			# shellcheck disable=SC2086
			if build prog -fuse-ld=$linker $kind $more 2>log; then
				check "$linker $kind $more" encoded prog
			else
				not_ok "$linker $kind $more" log
			fi
		done
	done
done
for level in -O0 -O1 -O3 -Os -flto; do
	if build prog $level 2>log; then check "$level" encoded prog; else not_ok "$level" log; fi
done

# Code for registers that few processors have: slots are filled, and nothing else changes.
apx_insns() { objdump -d --no-show-raw-insn "$1" | grep -E '%r(1[6-9]|2[0-9]|3[01])|push2|pop2'; }
cat >apx.c <<'END'
extern int outside(int);
__attribute__((noipa)) int through(int (*f)(int), int x)
{
	register int (*g)(int) __asm__("r16") = f;
	__asm__("" : "+r"(g));
	return g(x) + outside(x) + outside(x + 1);
}
__attribute__((noipa)) int outside(int x) { return x; }
int main(int c, char **v) { (void)v; return through(outside, c) + outside(c); }
END
apx="-mapxf -mapx-inline-asm-use-gpr32"
# shellcheck disable=SC2086
if ! $CC -O2 $apx apx.c -o plain-apx 2>log; then
	skip "-mapxf" "needs GCC 14 and an assembler that knows -mapxf"
else
	# shellcheck disable=SC2086
	PCCE_ENCODE=off $CC -O2 $apx $cflags apx.c $ldflags -o apx 2>log && cp apx apx-encoded &&
		pcce-encode apx-encoded 2>>log || cat log
	apx_insns apx >before.txt
	is "-mapxf: encoding keeps the code" "$(apx_insns apx-encoded)" "$(cat before.txt)"
	check "which calls through r16" grep -q 'call.*%r16' before.txt
	is "-mapxf: sites with a push" "$(field pushes apx-encoded)" 1
fi

build prog && cp prog pie
is "numbers of sites" "$(field sites prog)" \
	"$(pcce-encode --dump=json prog | sed -n 's/^ "sites": \([0-9]*\),$/\1/p')"
is "one back edge, the recursion" "$(field 'back edges' prog)" 1
is "one indirect site" "$(field 'indirect sites' prog)" 1
check "something is a zero edge" test "$(field 'zero edges' prog)" -gt 0
check "something is ext" test "$(field ext prog)" -gt 0

# has_real_contexts RECORDING NAME: it was made with --verify, of an exact program
has_real_contexts() {
	pcce-report --stats -i "$1" >stats 2>&1
	check "$2: contexts are compared" test "$(sed -n 's/^verified: //p' stats)" -gt 20
	is "$2: and are the real ones" "$(sed -n 's/^mismatches: //p' stats)" 0
	is "$2: all are exact" "$(sed -n 's/^undecodable: //p' stats)" 0
}

# ---- types -------------------------------------------------------------------------------

# Calls through pointers in loops have values, if the functions have the pointers' types.
cat > types.c <<'END'
#include <stdio.h>
__attribute__((noipa)) int leaf(int x) { for (volatile int i = 0; i < 1000; i++); return x + 1; }
__attribute__((noipa)) int one(int x) { for (volatile int i = 0; i < 1000; i++); return leaf(x) + 1; }
__attribute__((noipa)) int two(int x) { for (volatile int i = 0; i < 1000; i++); return leaf(x) * 3; }
__attribute__((noipa)) long other(char *p) { return leaf((int)(long)p) + 5; }
int (*volatile memory)(int) = one;
volatile int rounds = 3;
__attribute__((noipa)) int call(int (*f)(int), int (**in)(int), int x) {
	int sum = 0;
	for (int i = rounds; i > 0; i--) sum += f(x) + in[1](x) - memory(x) + 1;
	return sum;
}
__attribute__((noipa)) int seldom(int (*f)(int), int x) { return f(x) + 1; }
int main(int argc, char **argv) {
	int (*table[])(int) = {one, leaf}, sum = 0, n = 10000;
	(void)argv;
	if (argc > 1) { table[1] = (int (*)(int))(void *)other; memory = two; }
	for (int i = 0; i < n; i++) sum += call(argc > 3 ? (int (*[])(int)){one, two, leaf}[i % 3] : one, table, i);
	printf("%d\n", argc > 2 ? seldom(one, sum) : sum);
}
END
# shellcheck disable=SC2086
$CC -O2 -g $cflags types.c $ldflags -o typed 2>log
is "three calls are calls of a type" "$(field 'calls of types' typed)" 3
is "which has three members" "$(field 'members of types' typed)" 3
# shellcheck disable=SC2086
PCCE_ENCODE=off $CC -O2 -g $cflags types.c $ldflags -o untyped 2>>log
for argument in "" other; do
	data=typed$argument.data
	./untyped $argument >expected.one
	pcce-record -q -b self -F 2000 --verify -o "$data" -- ./typed $argument >got.one 2>>log
	check "${argument:-members}: the output is the same" cmp expected.one got.one
	has_real_contexts "$data" "${argument:-members}"
done
pcce-report -q -i typedother.data --format=folded >folded
check "a function of another type is called, too" grep -q 'main;call;other;leaf' folded
pcce-report -q -i typed.data --format=folded >folded
check "types are not in the chain" grep -q 'main;call;one;leaf' folded
pcce-record -q -b self -F 2000 --only='leaf < one < call' -o only.data -- ./typed >got.one 2>>log
check "and not in contexts that --only describes" \
	test "$(pcce-report --stats -i only.data 2>&1 | sed -n 's/^samples: //p')" -gt 10
pcce-record -q --count -o mixed.data -- ./typed a b c >got.one 2>>log
cp typed mixed
pcce-encode -p mixed.data mixed
is "a recording guards calls that lead to one function" "$(field guards mixed)" 3
is "but leaves those that lead to several to their type" "$(field 'calls of types' mixed)" 1
check "a member begins with a comparison" \
	sh -c "objdump -d --no-show-raw-insn --disassemble=one typed | grep -A1 '<one>:' | grep -Eq '(cmp|test) +%'"
pcce-record -q --count -o counted.data -- ./typed >got.one 2>>log
is "while calls are counted, all entries of a member are" \
	"$(pcce-report -q -i counted.data --format=flat | awk '$4 == "one" { print $3 }')" 60000
# shellcheck disable=SC2086
$CC -O2 -g -fcf-protection $cflags types.c $ldflags -o tracked 2>>log
check "with endbr64, calls of types are not tracked" \
	sh -c "objdump -d --no-show-raw-insn --disassemble=call tracked | grep -q 'notrack call \*%r11'"
# shellcheck disable=SC2086
$CC -O2 -g $cflags -fPIC -shared -Dmain=run types.c $ldflags -o libtypes.so 2>>log
is "a library has no types" "$(field 'calls of types' libtypes.so)" 0

# ---- guards ------------------------------------------------------------------------------

# run_both PROGRAM ONE TWO: records runs in which its guards hold, and fail: ONE.data and TWO.data
run_both() {
	pcce-record -q -b self -F 2000 --verify -o "$2.data" -- "./$1" >got.one 2>>log
	pcce-record -q -b self -F 2000 --verify -o "$3.data" -- "./$1" other >got.two 2>>log
}

# A guard calls the function that a pointer held during a recording.  Other functions are pushed.
cat > pointers.c <<'END'
#include <stdio.h>
__attribute__((noipa)) int leaf(int x) { for (volatile int i = 0; i < 1000; i++); return x + 1; }
__attribute__((noipa)) int one(int x) { for (volatile int i = 0; i < 1000; i++); return leaf(x) + 1; }
__attribute__((noipa)) int two(int x) { for (volatile int i = 0; i < 1000; i++); return leaf(x) * 3; }
int (*volatile memory)(int) = one;
__attribute__((noipa)) int call(int (*f)(int), int (**in)(int), int x) { return f(x) + in[1](x) - memory(x) + 1; }
int main(int argc, char **argv) {
	int (*table[])(int) = {one, leaf}, sum = 0, n = 30000;
	(void)argv;
	if (argc > 1) { table[1] = two; memory = leaf; }
	for (int i = 0; i < n; i++) sum += call(argc > 1 ? two : one, table, i);
	printf("%d\n", sum);
}
END
# shellcheck disable=SC2086
$CC -O2 -g $cflags pointers.c $ldflags -o pointers 2>log
pcce-record -q -b self -F 2000 -o pointers.data -- ./pointers >expected.one 2>>log
./pointers other >expected.two
cp pointers guarded
is "without a recording there is no guard" "$(field guards pointers)" 0
check "a recording with calls through pointers" pcce-encode -p pointers.data guarded
is "each of the three calls has a guard" "$(field guards guarded)" 3
run_both guarded guarded missed
check "the output is the same if guards hold" cmp expected.one got.one
check "and if they all fail" cmp expected.two got.two
has_real_contexts guarded.data guarded
has_real_contexts missed.data missed
pcce-report -i guarded.data --format=folded >folded
check "guarded calls are in the chain" grep -q 'main;call;one;leaf' folded
cp guarded again
pcce-encode -p guarded.data again
is "guards stay with a recording of themselves" "$(field guards again)" 3
pcce-encode -p missed.data again
./again other >got.two
check "a recording of misses replaces them" test "$(field guards again)" = 3 -a \
	"$(pcce-encode --dump -v again | grep -c 'line .*-> two')" = 2
check "and the output is the same" cmp expected.two got.two

# The same in a library, whose functions the program passes to it.
# shellcheck disable=SC2086
$CC -O2 -g $cflags -fPIC -shared -Dmain=run pointers.c $ldflags -o libpointers.so 2>log
echo 'int run(int n, char **v); int main(int n, char **v) { return run(n, v); }' >pointers_main.c
$CC -O2 pointers_main.c -L. -lpointers -Wl,-rpath,"$PWD" -o apart 2>>log
pcce-record -q -b self -F 2000 -o apart.data -- ./apart >got.one 2>>log
check "a library is encoded with calls through pointers" pcce-encode -p apart.data libpointers.so
is "each of its three calls has a guard" "$(field guards libpointers.so)" 3
./apart >got.one && ./apart other >got.two
check "the output is the same if guards hold in a library" cmp expected.one got.one
check "and if they fail there" cmp expected.two got.two

# The function that tail-calls has values where the guard holds, and makes a call where it fails.
cat > tails.c <<'END'
#include <stdio.h>
__attribute__((noipa)) int leaf(int x) { for (volatile int i = 0; i < 1000; i++); return x + 1; }
__attribute__((noipa)) int one(int x) { for (volatile int i = 0; i < 1000; i++); return leaf(x) + 1; }
__attribute__((noipa)) int two(int x) { for (volatile int i = 0; i < 1000; i++); return leaf(x) * 3; }
int (*memory)(int) INITIAL;
__attribute__((noipa)) int jump(int x) { return memory(x + 1); }
__attribute__((noipa)) int call(int x) { return jump(x) + 1; }
int main(int argc, char **argv) {
	int sum = 0;
	(void)argv;
	if (argc > 1 || !memory) memory = argc > 1 ? two : one;
	for (int i = 0; i < 30000; i++) sum += call(i) + jump(i);
	printf("%d\n", sum);
}
END
# shellcheck disable=SC2086
$CC -O2 -g -DINITIAL= $cflags tails.c $ldflags -o tails 2>log
pcce-record -q -b self -F 2000 -o tails.data -- ./tails >expected.one 2>>log
./tails other >expected.two
cp tails guarded
is "without a recording no tail call has a guard" "$(field 'guards of tail calls' tails)" 0
check "calls of a function that tail-calls anywhere are pushes" \
	test "$(pcce-encode --dump -v tails | grep -c 'push -> jump')" = 2
check "a recording with tail calls through a pointer" pcce-encode -p tails.data guarded
is "gives one a guard" "$(field 'guards of tail calls' guarded)" 1
check "so calls of its function have values" \
	test "$(pcce-encode --dump -v guarded | grep -cE '(none|add [0-9]+) -> jump')" = 2
run_both guarded guarded missed
check "the output is the same if it holds" cmp expected.one got.one
check "and if it fails" cmp expected.two got.two
has_real_contexts guarded.data "guarded tail calls"
has_real_contexts missed.data "missed tail calls"
pcce-report -i missed.data --format=folded >folded
check "a call in place of a tail call is in the chain" grep -q 'main;call;jump;two;leaf' folded
cp guarded again
pcce-encode -p guarded.data again
is "the guard stays with a recording of itself" "$(field 'guards of tail calls' again)" 1
pcce-encode -p missed.data again
./again other >got.two
check "a recording of misses replaces it" \
	sh -c "pcce-encode --dump -v again | grep -q 'line .*tail -> two'"
check "and the output is the same" cmp expected.two got.two
pcce-record -q --count -o counted.data -- ./guarded >got.one 2>>log
is "while calls are counted, each entry behind a guard is" \
	"$(pcce-report -q -i counted.data --format=flat | awk '$4 == "one" { print $3 }')" 60000

# Without a recording, the function is the initial value of a global pointer.
for kind in "-fPIE -pie" "-fno-pie -no-pie" "-fPIC -shared -fvisibility=hidden -Dmain=run"; do
	# shellcheck disable=SC2086
	$CC -O2 -g "-DINITIAL== one" $kind $cflags tails.c $ldflags -o initial 2>>log
	is "an initial value gives a tail call a guard: $kind" "$(field 'guards of tail calls' initial)" 1
	[ "$kind" != "-fPIE -pie" ] || cp initial held
done
check "so calls of the function that holds it have values" \
	test "$(pcce-encode --dump -v held | grep -cE '(none|add [0-9]+) -> jump')" = 2
run_both held held changed
check "the output is the same if the value is kept" cmp expected.one got.one
check "and if it is changed" cmp expected.two got.two
has_real_contexts held.data "initial values"
has_real_contexts changed.data "changed values"
pcce-encode -p changed.data held
check "a recording knows better" sh -c "pcce-encode --dump -v held | grep -q 'line .*tail -> two'"

# ---- what is hot ---------------------------------------------------------------------------

# The compiler cannot know how often pointers lead to a function; a profile does.
cat > hot.c <<'END'
__attribute__((noipa)) int leaf(int x) { return x + 1; }
__attribute__((noipa)) int shared(int x) { for (int i = 0; i < 100000; i++) __asm__ volatile(""); return leaf(x) + 1; }
__attribute__((noipa)) int seldom(int n) { int t = 0; while (n--) t += shared(n); return t; }
__attribute__((noipa)) int often(int n) { return shared(n) + 1; }
int (*volatile calls[])(int) = {seldom, often};
int main(void) { calls[0](1); for (int i = 0; i < 1000; i++) calls[1](i); }
END
zero_edge() { pcce-encode --dump -v "$1" | awk '/^0x/ { f = $2 } /: none -> shared$/ { print f }'; }
# shellcheck disable=SC2086
{
	$CC -O2 $cflags hot.c $ldflags -o guessed
	$CC -O2 -fprofile-generate -c hot.c && $CC -fprofile-generate hot.o -o profiled &&
		./profiled
	$CC -O2 -fprofile-use $cflags -c hot.c && $CC hot.o $ldflags -o known
} >log 2>&1
is "a call in a loop seems to be hotter" "$(zero_edge guessed)" seldom
is "with -fprofile-use it is the one that is" "$(zero_edge known)" often

# So does a recording, without another compilation.
pcce-record -q -b self -F 2000 -o hot.data -- ./guessed 2>log
cp guessed again
check "a recording lets an encoded file be encoded anew" pcce-encode --profile=hot.data again
is "then the call that it knows as hot is" "$(zero_edge again)" often
is "as the dump says before" "$(pcce-encode --dump -v -p hot.data guessed | sed 1d)" \
	"$(pcce-encode --dump -v again | sed 1d)"
pcce-record -q -b self -F 2000 --verify -o again.data -- ./again 2>>log
pcce-report --stats -i again.data >stats 2>&1
check "contexts are the real ones" test "$(sed -n 's/^verified: //p' stats)" -gt 10
is "and all others, too" "$(sed -n 's/^mismatches: //p' stats)" 0
check "the first recording is read as before" \
	test "$(pcce-report -i hot.data --format=folded | grep -c 'main;often;shared')" -gt 0
pcce-merge -q -o both.data hot.data again.data 2>>log
contexts() { pcce-report --format=folded -i "$1" |
	awk '/main;/ { n = $NF; sub(/ [0-9]+$/, ""); sub(/^.*main;/, ""); sum[$0] += n } END { for (c in sum) print c, sum[c] }' | sort; }
is "joined recordings of both encodings keep their contexts" "$(contexts both.data)" \
	"$({ contexts hot.data; contexts again.data; } | awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (c in sum) print c, sum[c] }' | sort)"
pcce-diff hot.data again.data >diff.txt 2>&1
check "differences of both are told by names" grep -q '(guessed was encoded again)' diff.txt
cp again twice && pcce-encode -p again.data twice
check "encoding anew again leaves nothing of the old one" \
	test "$(stat -c %s twice)" -le "$(($(stat -c %s again) + 64))"
# shellcheck disable=SC2086
PCCE_ENCODE=off $CC -O2 $cflags hot.c $ldflags -o loose
pcce-encode -p hot.data loose
is "the same from a file that is not encoded" \
	"$(pcce-encode --dump -v loose | sed 1d)" "$(pcce-encode --dump -v again | sed 1d)"
cp guessed again && strip again && objcopy -R .comment again && pcce-encode -p hot.data again
is "and from one that other tools have rewritten" \
	"$(pcce-encode --dump -v again | sed 1d)" "$(pcce-encode --dump -v loose | sed 1d)"
check "which runs" ./again

# A library calls its own functions through gates, also if it is encoded again.
cat > own.c <<'END'
#define EXPORT __attribute__((noinline, noclone))
EXPORT int own_burn(int n) { for (int i = 0; i < n * 1000; i++) __asm__ volatile(""); return n; }
EXPORT int own_work(int n) { return own_burn(n) + own_burn(n + 1); }
EXPORT int own_tail(int n) { return own_work(n + 1); }
int (*volatile own_pointer)(int) = own_work;
EXPORT int own_leave(int n) { return n & 1 ? own_pointer(n) : own_tail(n); }
EXPORT int own_all(int n) { int t = 0; while (n--) t += own_tail(n % 7) + own_work(n % 5); return t; }
END
cat > own_main.c <<'END'
int own_all(int), own_leave(int);
int main(void) { int t = own_all(10000); for (int i = 0; i < 10000; i++) t += own_leave(i & 7); return t == 0; }
END
code_of() { objdump -d --no-show-raw-insn -j .text -j .plt "$1" | sed 1,3d | grep -v nop; }
for flags in "-O2 -Wl,-z,lazy" "-O2 -fno-plt"; do
	# shellcheck disable=SC2086
	{
		$CC $flags $cflags -fPIC -shared own.c $ldflags -o libown.so &&
			PCCE_ENCODE=off $CC $flags $cflags -fPIC -shared own.c $ldflags -o libloose.so &&
			$CC -O2 -g own_main.c -L. -lown -Wl,-rpath,"$PWD" -o own
	} >log 2>&1
	is "$flags: no call of an own function is a push" \
		"$(pcce-encode --dump -v libown.so | grep -c 'push -> own_')" 0
	is "all lead through gates, but the tail call of a function that is only pushed" \
		"$(pcce-encode --dump -v libown.so | grep -c -- '-> own_[a-z]*@plt')" 5
	pcce-record -q -b self -F 2000 --verify -o own.data -- ./own 2>log
	pcce-report --stats -i own.data >stats 2>&1
	check "contexts are the real ones" test "$(sed -n 's/^verified: //p' stats)" -gt 10
	is "and all others, too" "$(sed -n 's/^mismatches: //p' stats)" 0
	pcce-report -i own.data --format=folded >own.folded
	check "gates are not shown" grep -q 'own_all;own_tail;own_work;own_burn ' own.folded
	cp libown.so libanew.so
	check "the library is encoded anew" pcce-encode -p own.data libanew.so
	pcce-encode -p own.data libloose.so
	is "the code is the same as from a file that is not encoded" \
		"$(code_of libanew.so | md5sum)" "$(code_of libloose.so | md5sum)"
	cp libanew.so libown.so
	check "which runs" ./own
done

not_by() { # NAME DATA FILE TEXT: the recording is refused with one line, and the file left alone
	local before
	before=$(md5sum "$3")
	if pcce-encode -p "$2" "$3" >out.txt 2>err.txt; then
		not_ok "$1" "status 0"
	elif [ "$(wc -l <err.txt)" = 1 ] && grep -q -- "$4" err.txt &&
		[ "$before" = "$(md5sum "$3")" ]; then
		ok "$1"
	else
		not_ok "$1" "wanted '$4'" err.txt
	fi
}
not_by "a recording of another program" hot.data prog \
	"no recorded module has its build id; record this very build"
not_by "no recording" hot.c guessed "not a recording"
not_by "a recording that is not there" nowhere guessed "cannot open nowhere"
head -c 200 hot.data >short.data
not_by "a recording that has nothing of the program" short.data guessed \
	"no recorded module has its build id"
cp guessed bare && objcopy -R .note.gnu.build-id bare
not_by "a file without a build id" hot.data bare "link it with -Wl,--build-id"
cp guessed bare && objcopy -R .pcce_sites bare
not_by "a file without site records" hot.data bare "has lost its site records"

# ---- what may happen to an encoded file ---------------------------------------------------

cp prog again
check "encoding again succeeds" pcce-encode again
check "and changes nothing" cmp prog again
cp prog stripped && strip stripped
check "stripped" encoded stripped
is "stripping keeps the table" "$(pcce-encode --dump -v stripped)" "$(pcce-encode --dump -v prog)"
# Other tools remove what is not allocated.  A debug file has the table.
table_of() { pcce-check "$1" | sed -n '1s/^[^:]*: //p'; }
for strip in eu-strip llvm-strip; do
	if ! command -v $strip >/dev/null; then
		skip "$strip" "$strip is not installed"
		continue
	fi
	cp prog stripped && $strip --keep-section=.pcce stripped
	is "$strip --keep-section=.pcce" "$(table_of stripped)" "instrumented and encoded"
	cp prog stripped && $strip stripped
	check "$strip: pcce-check says that the table was stripped" \
		grep -q 'its encoding table was stripped' <(table_of stripped)
	pcce-record -b self -o stripped.data -- ./stripped argument >/dev/null 2>log
	check "... and so does pcce-record" grep -q 'its encoding table was stripped' log
	objcopy --only-keep-debug prog stripped.debug && objcopy --add-gnu-debuglink=stripped.debug stripped
	is "$strip: the debug file has the table" "$(table_of stripped)" "instrumented and encoded"
	objcopy --set-section-flags .pcce=readonly --update-section ".pcce=$here/prog.c" stripped.debug
	check "$strip: the debug file has another table" \
		grep -q 'its encoding table was stripped' <(table_of stripped)
	rm stripped.debug
	id=$(readelf -n prog | sed -n 's/.*Build ID: //p')
	mkdir -p "cache/$id" && objcopy --only-keep-debug prog "cache/$id/debuginfo"
	is "$strip: ... which a client of debuginfod has fetched" \
		"$(DEBUGINFOD_CACHE_PATH=cache table_of stripped)" "instrumented and encoded"
done
if command -v eu-strip >/dev/null; then
	cp prog stripped && eu-strip -f stripped.debug stripped
	is "eu-strip -f: its debug file has the table" "$(table_of stripped)" "instrumented and encoded"
else
	skip "eu-strip -f: its debug file has the table" "eu-strip is not installed"
fi
objcopy --only-keep-debug prog prog.debug && cp prog stripped &&
	objcopy --strip-debug --add-gnu-debuglink=prog.debug stripped
check "debug information split off" encoded stripped

mode=off build linked
cp linked one && cp linked two
pcce-encode one && pcce-encode two
check "the same input gives the same output" cmp one two
check "as through the wrapper" cmp one prog
sum=$(md5sum <linked)
pcce-encode --dump linked >dump.linked
is "--dump leaves the file alone" "$(md5sum <linked)" "$sum"
is "--dump says the same before and after" \
	"$(sed 1d dump.linked)" "$(pcce-encode --dump one | sed 1d)"
check "without encoding it runs, too" test "$(./linked argument)" = "$expected"
pcce-encode -o other linked
is "-o leaves FILE alone" "$(md5sum <linked)" "$sum"
check "-o writes OUT" cmp one other
pcce-encode -o fresh plain 2>/dev/null
is "-o writes nothing for a program that is not instrumented" "$? $(ls fresh 2>/dev/null)" "1 "
chmod 751 linked && ln -s linked link && pcce-encode link
is "the mode is kept" "$(stat -c %a linked)" 751
check "a symbolic link stays one" test -L link
check "and leads to the encoded file" cmp one linked

# ---- shared libraries ------------------------------------------------------------------

cat >lib.c <<'END'
#include <stdio.h>
static int __attribute__((noinline)) in(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
int __attribute__((noinline)) lib_b(int x) { return in(x) + in(x + 1); }
int lib_a(int x, int (*cb)(int)) { puts("lib_a"); return lib_b(x) + cb(x) + in(3); }
END
cat >use.c <<'END'
#include <stdio.h>
int lib_a(int, int (*)(int));
static int cb(int x) { return x * 2; }
int main(void) { printf("%d\n", lib_a(5, cb)); return 0; }
END
for linker in bfd gold lld mold; do
	if ! command -v ld.$linker >/dev/null; then
		skip "$linker: shared library" "ld.$linker is not installed"
		continue
	fi
	# shellcheck disable=SC2086
	if PCCE_ENCODE=strict limited $CC -O2 -fPIC $cflags -shared lib.c $ldflags -fuse-ld=$linker \
		-o liba.so 2>log &&
		PCCE_ENCODE=strict limited $CC -O2 $cflags use.c $ldflags -fuse-ld=$linker ./liba.so \
			-o use 2>>log &&
		$CC -O2 use.c ./liba.so -o use-plain 2>>log; then
		is "$linker: shared library, instrumented program" \
			"$(./use)" "$(printf 'lib_a\n27')"
		is "$linker: shared library, other program" "$(./use-plain)" "$(printf 'lib_a\n27')"
		check "$linker: a call through the PLT is a push" \
			grep -q 'push -> puts' <(pcce-encode --dump -v liba.so)
	else
		not_ok "$linker: shared library" log
	fi
done

# ---- files that cannot be encoded ---------------------------------------------------------

refused() { # NAME FILE TEXT: refuses with one line that has TEXT in it, and leaves the file alone
	local before after status
	before=$(md5sum "$2" 2>&1)
	pcce-encode "$2" >out.txt 2>err.txt
	status=$?
	after=$(md5sum "$2" 2>&1)
	if [ $status = 1 ] && [ "$(wc -l <err.txt)" = 1 ] && grep -q -- "$3" err.txt &&
		[ "$before" = "$after" ]; then
		ok "$1"
	else
		not_ok "$1" "status $status, wanted '$3'" err.txt
	fi
}

poke() { # FILE OFFSET BYTES(octal escapes)
	printf '%b' "$3" | dd of="$1" bs=1 seek=$(($2)) conv=notrunc status=none
}

section() { # FILE NAME COLUMN(offset 5, size 6): a number
	echo $((0x$(readelf -SW "$1" | sed 's/\[ *//' | awk -v n="$2" -v c="$3" '$2 == n { print $c; exit }')))
}

mode=off build linked
refused "no such file" ./missing "cannot be opened"
refused "a directory" / "is not a regular file"
refused "a device" /dev/null "is not a regular file"
: >bad && refused "an empty file" bad "is not an ELF file"
echo 'int main;' >bad && refused "a text" bad "is not an ELF file"
head -c 40 linked >bad && refused "a header that is cut off" bad "is cut off after 40 bytes"
head -c 3000 linked >bad && refused "a file that is cut off" bad "cut off\|headers"
head -c $(($(wc -c <linked) - 100)) linked >bad &&
	refused "section headers cut off" bad "section headers"
cp linked bad && poke bad 4 '\001' && refused "a 32-bit file" bad "32-bit"
cp linked bad && poke bad 18 '\267' && refused "another processor" bad "another processor"
cp linked bad && poke bad 5 '\002' && refused "another byte order" bad "another processor"
cp linked bad && poke bad 16 '\004' && refused "a core file" bad "neither a program nor"
# shellcheck disable=SC2086
$CC -O2 $cflags -c "$here/prog.c" -o prog.o && refused "an object file" prog.o "is an object file"
refused "a program that is not instrumented" plain "is not instrumented"
# shellcheck disable=SC2086
$CC prog.o -o bad -nostdlib -Wl,--unresolved-symbols=ignore-all 2>/dev/null ||
	$CC prog.o -o bad -Wl,--unresolved-symbols=ignore-all
refused "linked without the runtime" bad "pcce-config --ldflags"
# shellcheck disable=SC2086
$CC -O2 -c "$here/prog.c" -o uninstrumented.o && $CC uninstrumented.o $ldflags -o bad 2>log
refused "nothing was instrumented" bad "no site records"
check "which the wrapper says, too" \
	grep -q "^pcce-encode: cannot encode 'bad': it has the pcce runtime, but no site records" log

at=$(section linked .pcce_sites 5)
cp linked bad && poke bad "$at" 'x' &&
	refused "a block that does not begin like one" bad "damaged site records"
cp linked bad && poke bad "$at + 6" '\011' && refused "records of another version" bad "version 9"
cp linked bad && poke bad "$at + 24" '\377\377\377\177' &&
	refused "a block that is too large" bad "damaged site records"
cp linked bad && poke bad "$at + 8" '\001\001\001\001\001' &&
	refused "a block outside the code" bad "outside the code"
cp linked bad && poke bad "$at + 32" '\377\377' &&
	refused "a block with too many sites" bad "damaged site records"
at=$(section linked .pcce_entries 5)
cp linked bad && poke bad "$at" 'x' &&
	refused "another runtime" bad "another version of the runtime"
cp linked bad && poke bad "$at + 8" '\0\0\0\0\0\0' &&
	refused "a runtime without push" bad "lost parts of the runtime"
at=$(section linked .pcce_helpers 5)
cp linked bad && poke bad "$at + 12" '\011' &&
	refused "a helper in an unknown state" bad "damaged description"
at=$(section one .pcce 5)
size=$(section one .pcce 6)
cp one bad && poke bad "$at + 500" 'x' && refused "a table that was changed" bad "checksum"
cp one bad && poke bad "$at + 8" '\007' && refused "a table of another version" bad "has version 7"
cp one bad && poke bad "$at + 32" '\377\377\377\377\377' &&
	refused "a table with a wild offset" bad "has an encoding table that"
head -c $((at + size / 2)) one >bad && refused "an encoded file that is cut off" bad "headers"

assemble "$here/nonpic.s" -o ok.o && assemble --defsym FULL=1 "$here/nonpic.s" -o full.o
echo 'int f(int); int main(void) { return f(1) != 2; }' >main.c
# shellcheck disable=SC2086
PCCE_ENCODE=strict $CC -O2 $cflags main.c ok.o $ldflags -o hand 2>log
check "records made by hand" ./hand
check "both slots are filled" test "$(objdump -d hand --disassemble=f | grep -c 'fs:')" -gt 0
# shellcheck disable=SC2086
echo 'int f(int x) { return x * 3; }' >f.c &&
	PCCE_ENCODE=strict $CC -O2 $cflags main.c f.c $ldflags -o behind 2>log
check "a direct call is led past an entry slot that stays empty" \
	grep -q 'call .*<f+0x10>' <(objdump -d behind --disassemble=main)
check "which is of nops" test "$(objdump -d behind --disassemble=f | grep -c 'fs:')" = 0
behind=0
./behind || behind=$?
is "and nothing else changes" $behind 1
# shellcheck disable=SC2086
PCCE_ENCODE=off $CC -O2 $cflags main.c full.o $ldflags -o bad &&
	refused "a slot that is not empty" bad "is not empty"
# shellcheck disable=SC2086
PCCE_ENCODE=off $CC -shared ok.o $ldflags -o bad.so &&
	refused "code without -fPIC in a shared library" bad.so \
	"'f' (line 1); compile it with -fPIC"

if [ "$(id -u)" != 0 ]; then
	mkdir ro && cp linked ro/linked && chmod 555 ro
	refused "a directory that cannot be written" ro/linked "cannot be replaced"
	chmod 755 ro
elif command -v setpriv >/dev/null; then
	mkdir ro && cp linked ro/linked && chmod 755 "$scratch" ro
	setpriv --reuid=65534 --clear-groups "$out/bin/pcce-encode" ro/linked 2>err.txt
	is "a directory that cannot be written: status" $? 1
	check "a directory that cannot be written: reason" grep -q "cannot be replaced" err.txt
	check "and the file is what it was" cmp linked ro/linked
else
	skip "a directory that cannot be written" "this is root, and there is no setpriv"
fi
(ulimit -f 8; trap '' XFSZ; pcce-encode linked 2>err.txt)
is "a full disk: status" $? 1
check "a full disk: reason" grep -q "cannot be replaced: File too large" err.txt
is "no temporary file stays behind" "$(find . -name "*pcce-encode-*")" ""
pcce-encode --dump one >/dev/full 2>err.txt
is "--dump on a full device" $? 1
{
	seq -f '__attribute__((noipa)) void f%g(void) { }' 100
	printf 'int main(void) { %s }\n' "$(seq -f 'f%g();' -s ' ' 100)"
} >many.c
# shellcheck disable=SC2086
$CC -O2 $cflags many.c $ldflags -o many
pcce-encode --dump=json many >/dev/full 2>err.txt
is "--dump=json on a full device" "$? $(grep -c 'No space left on device$' err.txt)" "1 1"

# ---- the linker wrapper ----------------------------------------------------------------

# shellcheck disable=SC2086
link_() { $CC "$@" $ldflags; }
: >empty.c && $CC -c empty.c -o empty.o
$CC empty.o -o plain-fail 2>err.plain
link_ empty.o -o fail 2>err.pcce
is "a link that fails: status" $? 1
check "a link that fails: the linker's message" grep -q 'undefined reference' err.pcce
check "a link that fails: no output" test ! -e fail
link_ prog.o -o /dev/null 2>err.txt
is "output to /dev/null" "$? $(cat err.txt)" "0 "
check "/dev/null is still a device" test -c /dev/null
link_ -r prog.o -o partial.o 2>err.txt
is "-r" "$? $(cat err.txt)" "0 "
check "-r has no runtime in it" test "$(nm partial.o | grep -c " T __pcce_push")" = 0
link_ -nostdlib -nostartfiles empty.o -o bare.so -shared 2>err.txt
is "-nostdlib" "$? $(cat err.txt)" "0 "
PCCE_ENCODE=strict link_ empty.o -o nothing.so -shared 2>err.txt
is "a library without code has nothing to encode" "$? $(cat err.txt)" "0 "
echo 'int plain(void) { return 1; }' | $CC -x c -fPIC -c - -o plain.o
PCCE_ENCODE=strict link_ plain.o -o plain.so -shared 2>err.txt
is "one with code without slots is an error" "$?" 1
link_ prog.o -o bad -Wl,--unresolved-symbols=ignore-all -nodefaultlibs 2>err.txt
is "an encoding that fails is a warning" "$?" 0
check "with the reason" grep -q "^pcce-encode: cannot encode 'bad': it is instrumented, but" err.txt
PCCE_ENCODE=strict link_ prog.o -o bad -Wl,--unresolved-symbols=ignore-all -nodefaultlibs 2>err.txt
is "or an error if one wants" "$?" 1
PCCE_ENCODE=off link_ prog.o -o off
is "PCCE_ENCODE=off" "$(field encoded off)" no
echo 'prog.o -o "with space"' >args && link_ @args
is "a response file" "$(field encoded 'with space')" yes
link_ prog.o
is "a.out" "$(field encoded a.out)" yes
cp off a.out && sum=$(md5sum <a.out) && "$lib/ld/ld" --version >version.txt
is "ld --version: output" "$(cat version.txt)" "$(ld --version)"
is "ld --version does not touch a.out" "$(md5sum <a.out)" "$sum"
link_ prog.o -o raw -Wl,--oformat=binary 2>/dev/null
check "output that is not ELF" test ! -s raw -o "$(head -c 4 raw 2>&1 | tr -d '\0')" != ELF
mkdir path && printf '#!/bin/sh\nkill -9 $$\n' >path/ld.killed &&
	printf '#!/bin/sh\necho out; echo err >&2; exit 42\n' >path/ld.status
chmod +x path/* && ln -s "$lib/ld/ld" ld.killed && ln -s "$lib/ld/ld" ld.status
out_=$(PATH=$PWD/path:$PATH COMPILER_PATH='' ./ld.status x 2>err.txt)
is "the linker's status and output" "$? $out_ $(cat err.txt)" "42 out err"
PATH=$PWD/path:$PATH COMPILER_PATH='' bash -c "./ld.killed x; exit \$?" 2>/dev/null
is "a linker that is killed" $? 137
mkdir beside && cp "$lib/ld/ld" beside/ld # another installation
COMPILER_PATH=$PWD/beside:$lib/ld timeout 60 beside/ld --version >version.txt
is "two wrappers run the linker: status" $? 0
is "two wrappers run the linker: output" "$(cat version.txt)" "$(ld --version)"
ln -s "$lib/ld/ld" ld.none
./ld.none 2>err.txt
is "no such linker: status" $? 127
check "no such linker: reason" grep -q "there is no other 'ld.none'" err.txt

while read -r name; do
	check "programs export $name" grep -q -- "--export-dynamic-symbol=$name\b" "$lib/pcce.specs"
done <"$lib/libpcce.exports"

# ---- the command lines ------------------------------------------------------------------

check "pcce-encode --help" pcce-encode --help
check "pcce-encode --version" pcce-encode --version
for wrong in "" "--nonsense x" "--dump=xml x" "a b" "--dump -o a b"; do
	# shellcheck disable=SC2086
	pcce-encode $wrong >/dev/null 2>err.txt
	is "pcce-encode $wrong" $? 1
done
check "pcce-config --help" pcce-config --help
check "pcce-config --version" pcce-config --version
pcce-config --nonsense 2>/dev/null
is "pcce-config --nonsense" $? 1
mkdir -p elsewhere/bin && ln -s "$(command -v pcce-config)" elsewhere/bin/pcce-config
is "pcce-config through a link" "$(elsewhere/bin/pcce-config --libdir)" "$lib"

done_testing
