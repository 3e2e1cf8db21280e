#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests where breakpoints see the calls of functions: pcce-check --probe names such a place, and
# after pcce-encode --breakpoints it is the function itself. gdb counts as many stops as in the
# program without pcce.

. "$(dirname "$0")/../lib.sh"
[ -n "$(type -P gdb)" ] || skip_all "gdb is not installed"
cd "$scratch" || exit 1

cat >library.c <<'END'
static volatile unsigned long sink;
/* Exported, and called from its own library through a gate. */
__attribute__((noinline, noclone)) unsigned long exported(unsigned long n)
{
	sink += n;
	return sink + 1;
}
unsigned long library(unsigned long n)
{
	return exported(n) + exported(n + 1) + 1;
}
END
cat >program.c <<'END'
#include <stdlib.h>
#ifdef __cplusplus
extern "C"
#endif
unsigned long library(unsigned long n);
#define KEPT __attribute__((noinline, noclone))
static volatile unsigned long sink;
static KEPT unsigned long direct(unsigned long n) { return sink += n; }
static KEPT unsigned long pointed(unsigned long n) { return (sink += n) + direct(n); }
KEPT unsigned long tail(unsigned long n) { sink += n; return direct(n * 2); }
KEPT unsigned long recursive(unsigned long n)
{
	if (!n)
		return 1;
	sink += recursive(n - 1);
	return sink * n + recursive(n - 1);
}
/* A part of it is cold, and in another section. */
KEPT unsigned long parted(unsigned long n)
{
	if (__builtin_expect(n == 77, 0)) {
		sink += direct(n);
		sink += pointed(n);
		abort();
	}
	return direct(n) + 1;
}
unsigned long (*volatile pointer)(unsigned long) = pointed;
static int compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}
int main()
{
	char text[] = "qwerty";

	for (unsigned long i = 0; i < 5; i++) {
		sink += direct(i) + tail(i) + parted(i) + recursive(3);
		sink += pointed(i) + pointer(i) + library(i);
	}
	qsort(text, sizeof(text) - 1, 1, compare);
	return 0;
}
END
cp program.c program.cc
functions=(direct pointed tail recursive parted compare exported library)

# stops PROGRAM PLACE...: prints how often gdb stops at each place after main has begun
stops() {
	local program=$1 place commands=() i=1
	shift
	for place; do
		i=$((i + 1))
		commands+=(-ex "break $place" -ex "ignore $i 1000000")
	done
	timeout 300 gdb -nx -q -batch -ex "tbreak main" -ex run "${commands[@]}" -ex continue \
		-ex "info breakpoints" "$program" >stops.log 2>&1
	awk '/exited normally/ { print "normal end" }
		/^[0-9]+ +breakpoint/ { if (n) print hits; n = $1; hits = 0 }
		/already hit/ { hits = $4 }
		END { print hits }' stops.log | tr '\n' ' '
}

# build COMPILER SOURCE FLAGS...: builds program.plain, program.pcce (encoded), program.off (not
# encoded) and program.all (encoded for breakpoints), each with its library
build() {
	local compiler=$1 source=$2 kind
	shift 2
	mkdir -p plain pcce off all
	# shellcheck disable=SC2046 # lists of flags
	$CC "$@" -fPIC -shared library.c -o plain/libwork.so &&
		$compiler "$@" "$source" -Lplain -lwork -Wl,-rpath,"$PWD/plain" -o program.plain &&
		$CC "$@" $(pcce-config --cflags) -fPIC -shared library.c $(pcce-config --ldflags) \
			-o pcce/libwork.so &&
		PCCE_ENCODE=off $CC "$@" $(pcce-config --cflags) -fPIC -shared library.c \
			$(pcce-config --ldflags) -o off/libwork.so &&
		pcce-encode --breakpoints -o all/libwork.so pcce/libwork.so || return
	for kind in pcce off all; do
		# shellcheck disable=SC2046 # lists of flags
		PCCE_ENCODE=$kind $compiler "$@" $(pcce-config --cflags) "$source" \
			$(pcce-config --ldflags) -L$kind -lwork -Wl,-rpath,"$PWD/$kind" \
			-o program.$kind || return
	done
	pcce-encode --breakpoints program.all
}

test_flags() { # COMPILER SOURCE FLAGS...
	local name="${*:2}" wanted places=() place function
	if ! build "$@" >build.log 2>&1; then
		not_ok "build $name" build.log
		return
	fi
	wanted=$(stops ./program.plain "${functions[@]}")
	case $wanted in
	*" 0 "*) not_ok "$name: gdb stops in the program without pcce" stops.log ;;
	"normal end "*) ;;
	*) not_ok "$name: the program without pcce ends" stops.log ;;
	esac
	is "$name: break FUNCTION, linked with PCCE_ENCODE=off" \
		"$(stops ./program.off "${functions[@]}")" "$wanted"
	is "$name: break FUNCTION after pcce-encode --breakpoints" \
		"$(stops ./program.all "${functions[@]}")" "$wanted"
	for function in "${functions[@]}"; do
		place=$(pcce-check --probe "$function" ./program.pcce 2>&1)
		place=${place% *}
		places+=("*(char *)&${place##*:}")
	done
	is "$name: break at the place of pcce-check --probe" \
		"$(stops ./program.pcce "${places[@]}")" "$wanted"
}

for flags in "-g -O0" "-g -Og" "-g -O1" "-g -O2" "-g -O3" "-g -Os" "-O2" "-g1 -O2" \
	"-g -gdwarf-4 -O2" "-g -O2 -no-pie -fno-pie" "-g -O2 -fcf-protection" "-g -O2 -flto"; do
	# shellcheck disable=SC2086 # a list of flags
	test_flags "$CC" program.c $flags
done
pcce-encode --breakpoints -o once program.pcce
pcce-encode --breakpoints -o twice once
check "encoded again, the program is the same" cmp once twice
for flags in "-g -O0" "-g -O2"; do
	# shellcheck disable=SC2086 # a list of flags
	test_flags "$CXX" program.cc $flags
done
done_testing
