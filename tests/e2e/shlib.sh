#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests contexts that cross modules.  A program, a library it is linked with, and the same library
# opened again by dlopen under another name call each other.

. "$(dirname "$0")/../lib.sh"
frequency=4000
cd "$scratch" || exit 1
w=$top/tests/workloads
cflags="-O2 -g $(pcce-config --cflags)"
ldflags=$(pcce-config --ldflags)

build() { # CFLAGS LDFLAGS DIR
	mkdir "$3" &&
		$CC $1 -fPIC -shared "$w/shlib.c" $2 -o "$3/libshlib.so" &&
		cp "$3/libshlib.so" "$3/libopened.so" &&
		$CC $1 "$w/shlib_main.c" $2 -L"$3" -lshlib -Wl,-rpath,"$PWD/$3" -ldl -o "$3/main"
}

build "-O2 -g" "" plain || exit 1
check "builds with a shared library" build "$cflags" "$ldflags" pcce
check "the library is encoded" is_encoded pcce/libshlib.so
want=$(plain/main plain/libopened.so)
is "output" "$(pcce/main pcce/libopened.so)" "$want"

for sampler in bpf self; do
	if [ $sampler = bpf ] && ! has_bpf; then
		skip "recorded by bpf" "pcce-record cannot use BPF: $bpf_reason"
		continue
	fi
	if ! record $sampler $sampler.data pcce/main pcce/libopened.so; then
		not_ok "recorded by $sampler" $sampler.data.err
		continue
	fi
	is "output while recorded by $sampler" "$(cat $sampler.data.out)" "$want"
	recording_is_exact "$sampler: all samples exact" $sampler.data 300
	pcce-report -i $sampler.data --format=folded >$sampler.folded
	check "$sampler: program, library, program, opened library, program" \
		grep -Eq '(^|;)main;drive;shlib_work;.*inner;callback;shlib_work;.*inner;leaf_callback;burn( |;)' $sampler.folded
done
if record_options=--verify record self verify.data pcce/main pcce/libopened.so; then
	recording_is_verified "agrees with the real stack" verify.data 100
else
	not_ok "agrees with the real stack" verify.data.err
fi

# The mixed cases: only one of the two is built with the plugin.
mkdir mixed
cp plain/libshlib.so plain/libopened.so mixed
check "program instrumented, libraries not: builds" \
	$CC $cflags "$w/shlib_main.c" $ldflags -Lmixed -lshlib -Wl,-rpath,"$PWD/mixed" \
	-ldl -o mixed/main
if record self mixed.data mixed/main mixed/libopened.so; then
	is "program instrumented, libraries not: output" "$(cat mixed.data.out)" "$want"
	recording_is_exact "program instrumented, libraries not: all samples exact" mixed.data 300
else
	not_ok "program instrumented, libraries not: recorded" mixed.data.err
fi

mkdir libraries
cp pcce/libshlib.so pcce/libopened.so libraries
check "libraries instrumented, program not: builds" \
	$CC -O2 -g "$w/shlib_main.c" -Llibraries -lshlib -Wl,-rpath,"$PWD/libraries" -ldl \
	-o libraries/main
if record_options=--verify record self libraries.data libraries/main libraries/libopened.so; then
	is "libraries instrumented, program not: output" "$(cat libraries.data.out)" "$want"
	recording_is_verified "libraries instrumented, program not: agrees" libraries.data 100
	pcce-report -i libraries.data --format=folded >libraries.folded
	check "  the program is shown as the caller" \
		grep -q '^\[uninstrumented caller\];shlib_work;.*inner;burn ' libraries.folded
	is "  of every root of a library" \
		"$(grep -c '^\(shlib_work\|inner\|leaf\)[; ]' libraries.folded)" 0
	pcce-report -i libraries.data --stdio >libraries.tree
	check "  once" grep -q '[0-9]%  \[uninstrumented caller\]$' libraries.tree
	check "  a warning says when they would be wrong, and what helps" \
		grep -q 'wrong after an exception or longjmp() that ends in it; set LD_PRELOAD=libpcce' \
		libraries.data.err
else
	not_ok "libraries instrumented, program not: recorded" libraries.data.err
fi

# A C program knows nothing of exceptions.  The unwinder must not throw those of its library.
mkdir throws
cat >throws/lib.cc <<'END'
#include <stdexcept>
extern "C" __attribute__((noinline)) void throw_odd(int x)
{
	if (x & 1)
		throw std::runtime_error("odd");
}
extern "C" int work(int n)
{
	int caught = 0;

	for (int i = 0; i < n; i++) {
		try {
			throw_odd(i);
		} catch (const std::exception &) {
			caught++;
		}
	}
	return caught;
}
END
echo 'int work(int); int main(void) { return work(300000) != 150000; }' >throws/main.c
throwing() {
	$CXX $cflags -fPIC -shared throws/lib.cc $ldflags -o throws/libthrows.so &&
		$CC $cflags throws/main.c $ldflags -Lthrows -lthrows -Wl,-rpath,"$PWD/throws" \
			-o throws/main
}
check "a C program with a library that throws: builds" throwing
if record_options=--verify record self throws.data throws/main; then
	recording_is_verified "a C program with a library that throws: agrees" throws.data 100
else
	not_ok "a C program with a library that throws: recorded" throws.data.err
fi

# A library that calls its own exported functions, alone, and with another one in between.
gates() { # DIR CFLAGS LDFLAGS LIBRARY-FLAGS
	mkdir "$1" &&
		$CXX -O2 -g $2 -fPIC -shared "$w/gates_lib.cc" $3 $4 -o "$1/libgates.so" &&
		$CXX -O2 -g $2 -fPIC -shared "$w/gates_over.cc" $3 -ldl -o "$1/over.so" &&
		$CXX -O2 -g -fPIC -shared "$w/gates_over.cc" -ldl -o "$1/plain.so" &&
		$CXX -O2 -g $2 "$w/gates_main.cc" $3 -L"$1" -lgates -Wl,-rpath,"$PWD/$1" -ldl \
			-pthread -o "$1/main"
}
check "gates: builds plain" gates gates_plain "" "" ""
want=$(gates_plain/main) want_over=$(LD_PRELOAD=$PWD/gates_plain/over.so gates_plain/main)
check "gates: the other library makes a difference" test "$want" != "$want_over"
for flags in -Wl,-z,lazy -Wl,-z,now -Wl,-Bsymbolic; do
	dir=gates_${flags##*[,-]}
	check "gates $flags: builds" gates "$dir" "${cflags#-O2 -g }" "$ldflags" "$flags"
	is "gates $flags: output" "$("$dir/main")" "$want"
	[ $flags != -Wl,-Bsymbolic ] || continue
	for over in over plain; do
		is "gates $flags: output with $over.so" \
			"$(LD_PRELOAD=$PWD/$dir/$over.so "$dir/main")" "$want_over"
	done
done
for over in "" over plain; do
	cat >gates.sh <<-END
		#!/bin/sh
		LD_PRELOAD=\$LD_PRELOAD${over:+:$PWD/gates_lazy/$over.so} exec gates_lazy/main
	END
	chmod +x gates.sh
	# Jumps and exceptions are marked while they are under way.
	if record self gates.data ./gates.sh; then
		allow_marked=20 recording_is_exact "gates, ${over:-nothing}: all samples exact" \
			gates.data 50
	else
		not_ok "gates, ${over:-nothing}: recorded" gates.data.err
	fi
done

# A library that is instrumented and not encoded: nobody knows which of its functions are under way.
cat >bare.c <<'END'
#include "burn.h"

void bare_work(void) { burn(100000000); __asm__(""); }
void bare_call(void (*f)(void)) { f(); __asm__(""); }
END
cat >bare_main.c <<'END'
#include "burn.h"
void bare_work(void);
void bare_call(void (*f)(void));
__attribute__((noipa)) static void own(void) { burn(100000000); __asm__(""); }
__attribute__((noipa)) static void one(void) { bare_work(); __asm__(""); }
__attribute__((noipa)) static void two(void) { bare_call(own); __asm__(""); }
__attribute__((noipa)) static void three(void) { own(); __asm__(""); }
__attribute__((noipa)) static int deep(int n)
{
	if (!n)
		one();
	return n ? (n % 2 ? deep(n - 1) : deep(n - 1) + 1) + 1 : 0;
}
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return !deep(1000);
	one();
	two();
	three();
	return 0;
}
END
# shellcheck disable=SC2086 # lists of flags
check "not encoded: builds" $CC -I"$top/tests/workloads" $cflags -fPIC -shared bare.c -o libbare.so
# shellcheck disable=SC2086
check "not encoded: the program builds" $CC -I"$top/tests/workloads" $cflags bare_main.c $ldflags \
	-L. -lbare -Wl,-rpath,"$PWD" -o bare
record_options=--verify record self bare.data ./bare
check "not encoded: pcce-record warns" grep -q 'libbare.so is instrumented, but not encoded' bare.data.err
check "not encoded: some samples are exact" [ "$(stat_of bare.data exact)" -gt 0 ]
is "not encoded: the others are marked" "$(stat_of bare.data truncated_not_encoded)" \
	"$(($(stat_of bare.data samples) - $(stat_of bare.data exact)))"
is "not encoded: no mismatch" "$(stat_of bare.data mismatches)" 0
pcce-report -i bare.data --format=folded >folded
check "not encoded: in the library" grep -q 'main;one;\[truncated\];burn' folded
check "not encoded: below the library" grep -q 'main;two;\[truncated\];.*;own' folded
check "not encoded: elsewhere" grep -q 'main;three;own' folded
# A deep context is decoded in parts.
record_options=
record self bare.data ./bare deep
is "not encoded: all samples are marked in a deep context" \
	"$(stat_of bare.data truncated_not_encoded)" "$(stat_of bare.data samples)"
# Calls that are counted have the same gaps.
pcce-record -q --count -o bare.data -- ./bare 2>bare.data.err
check "not encoded, counted: pcce-record warns" \
	grep -q 'libbare.so is instrumented, but not encoded' bare.data.err
pcce-report -q -i bare.data --format=folded >folded
check "  below the library" grep -q 'main;two;\[truncated\];.*;own' folded
check "  elsewhere" grep -q 'main;three;own' folded
done_testing
