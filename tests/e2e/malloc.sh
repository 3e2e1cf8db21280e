#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record -e malloc: who allocates, how often and how many bytes. The truth is a library that
# counts behind libpcce-malloc.so, and the real stack.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
[ ${#sanitize[@]} = 0 ] || skip_all "a sanitizer has its own malloc()"
src=$top/tests/e2e/malloc
build() { # COMPILER SOURCE PROGRAM [FLAG...]
	# shellcheck disable=SC2046 # lists of flags
	$1 -g -O2 $(pcce-config --cflags) "$2" -o "$3" "${@:4}" $(pcce-config --ldflags)
}
check "a program in C is built" build "$CC" "$src/kinds.c" kinds
check "a program in C++ is built" build "$CXX" "$src/crowd.cc" crowd -pthread
check "the library that counts is built" \
	$CC -D_GNU_SOURCE -O2 -shared -fPIC -o wrapper.so "$src/wrapper.c"

stat_of() { # FILE NAME
	pcce-report -q -i "$1" --stats | sed -n "s/^$2: //p"
}
bytes_of() { # FILE [OPTION...]
	pcce-report -q -i "$1" --format=folded "${@:2}" | awk '{ n += $NF } END { print n + 0 }'
}

# ---- every function, and totals -----------------------------------------------------

cat >preload.sh <<'END'
LD_PRELOAD=$LD_PRELOAD:$1 exec "$2" "${@:3}"
END
record() { # FILE EVENT PROGRAM [ARGUMENT...]
	rm -f truth
	TRUTH=$scratch/truth pcce-record -q -e "$2" -o "$1" \
		bash preload.sh "$scratch/wrapper.so" "./$3" "${@:4}" 2>log
}

check "each function allocates, keeps errno, and fails as before" record kinds.data malloc kinds
is "no warning" "$(cat log)" ""
is "as many allocations as the library counts" "$(stat_of kinds.data samples)" \
	"$(cut -d' ' -f1 truth)"
is "as many bytes as the library counts" "$(bytes_of kinds.data)" "$(cut -d' ' -f2 truth)"
is "all contexts are exact" "$(stat_of kinds.data exact)" "$(stat_of kinds.data samples)"
pcce-report -q -i kinds.data --format=folded >folded
n=0
for kind in malloc calloc realloc reallocarray posix_memalign aligned_alloc memalign strdup; do
	n=$((n + 1))
	is "$kind: bytes" "$(sed -n "s/^main;by_$kind;$kind //p" folded)" $((n * 10000))
done
is "a call through a pointer: bytes" "$(sed -n 's/^main //p' folded)" 90000
is "a jump: bytes" "$(sed -n 's/^main;by_jump;malloc //p' folded)" 1000

check "threads, forked children and exceptions" record crowd.data malloc crowd
is "no warning" "$(cat log)" ""
is "five children and the program end" "$(wc -l <truth)" 6
is "as many allocations as the library counts" "$(stat_of crowd.data samples)" \
	"$(awk '{ n += $1 } END { print n }' truth)"
is "as many bytes as the library counts" "$(bytes_of crowd.data)" \
	"$(awk '{ n += $2 } END { print n }' truth)"
is "nothing is lost, and all contexts are exact" \
	"$(stat_of crowd.data lost) $(stat_of crowd.data exact)" "0 $(stat_of crowd.data samples)"
check "the ring has one record for each context of a thread" \
	[ "$(stat -c %s crowd.data)" -lt 2000000 ]

# ---- contexts -----------------------------------------------------------------------

if [ -e "$out/lib/pcce/libpcce-verify.so" ]; then
	check "contexts are compared with the real stack" \
		pcce-record -q --verify -e malloc -o verify.data ./crowd
	is "none differs" "$(stat_of verify.data mismatches)" 0
	check "most are compared ($(stat_of verify.data verified))" \
		[ "$(stat_of verify.data verified)" -gt 100000 ]
else
	skip "contexts are the real stack" "no libpcce-verify.so"
fi

# ---- samples by bytes ----------------------------------------------------------------

# shellcheck disable=SC2086 # CFLAGS is a list
check "the test of points is built" $CC $CFLAGS -O2 -I"$top/userlib" -o points \
	"$src/poisson.c" "$top/userlib/malloc/poisson.c" -lm
check "points are a Poisson process, and weights are unbiased" ./points
check "samples by bytes" record rare.data malloc=1k kinds
check "there are fewer of them ($(stat_of rare.data samples))" \
	[ "$(stat_of rare.data samples)" -lt 900 ]
check "their weights are about the bytes of the program ($(bytes_of rare.data))" \
	awk -v got="$(bytes_of rare.data)" -v want="$(cut -d' ' -f2 truth)" \
	'BEGIN { exit !(got > want * 0.6 && got < want * 1.5) }'

# ---- units ---------------------------------------------------------------------------

pcce-report -q -i kinds.data >tree
check "the tree has bytes" grep -qE '^ *17\.7% +78\.1 KiB .*by_strdup' tree
check "the head has their sum" grep -q "^1801 samples, 441\.3 KiB, of malloc: " tree
check "callees have bytes" grep -qE '^ *17\.7% +78\.1 KiB  strdup' \
	<(pcce-report -q -i kinds.data --format=callees)
check "functions have bytes" grep -qE ' 100 +78\.1 KiB +78\.1 KiB  strdup' \
	<(pcce-report -q -i kinds.data --format=flat)
check "pprof has space and objects" grep -qE 'alloc_objects/count alloc_space/bytes' \
	<(pcce-report -q -i kinds.data --format=pprof >kinds.pb.gz &&
		gzip -dc kinds.pb.gz | strings -n 5 | tr '\n' ' ' |
		sed 's/.*alloc_objects.*alloc_space.*/alloc_objects\/count alloc_space\/bytes/')
check "speedscope has bytes" grep -q '"unit":"bytes"' \
	<(pcce-report -q -i kinds.data --format=speedscope)
check "callgrind has bytes" grep -q '^event: B : Allocated bytes' \
	<(pcce-report -q -i kinds.data --format=callgrind)

# ---- ends, and what is not seen --------------------------------------------------------

check "the program ends while its threads allocate" \
	timeout 60 pcce-record -q -e malloc -o exit.data ./crowd exit
is "all contexts are exact" "$(stat_of exit.data exact)" "$(stat_of exit.data samples)"

cat >signals.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
static volatile long handled;
static void *volatile kept;
static void on_alarm(int sig)
{
	kept = malloc(sig);
	handled++;
}
int main(void)
{
	const struct itimerval often = {{0, 200}, {0, 200}};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 500)
		kept = aligned_alloc(64, 64);
	signal(SIGALRM, SIG_IGN);
	printf("%ld\n", handled);
	return 0;
}
END
# POSIX forbids that with the C library's allocator, but not with this one.
cat >bump.c <<'END'
#include <stdlib.h>
#include <string.h>
static _Alignas(64) char room[256 << 20];
static size_t used;
void *malloc(size_t size)
{
	size_t need = (size + 63) / 64 * 64;
	size_t at = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);

	return at + need <= sizeof(room) ? room + at : NULL;
}
void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}
void *realloc(void *old, size_t size)
{
	void *p = malloc(size);

	return old && p ? memcpy(p, old, size) : p;
}
void *aligned_alloc(size_t alignment, size_t size)
{
	return alignment <= 64 ? malloc(size) : NULL;
}
void free(void *p)
{
	(void)p;
}
END
check "a program is built whose handler allocates" build "$CC" signals.c signals
check "an allocator is built for it" $CC -O1 -fno-builtin -shared -fPIC -o bump.so bump.c
check "its allocations are recorded" timeout 60 pcce-record -q -e malloc -o signals.data \
	bash preload.sh "$scratch/bump.so" ./signals
cp "$scratch/check.log" handled
is "each one in a handler counts" "$(bytes_of signals.data --focus=on_alarm)" \
	$(($(tail -n 1 handled) * 14))
is "all contexts are exact" "$(stat_of signals.data exact)" "$(stat_of signals.data samples)"

cat >killed.c <<'END'
#include <signal.h>
#include <stdlib.h>
void *volatile kept;
int main(void)
{
	for (int i = 0; i < 1000; i++)
		kept = malloc(10);
	raise(SIGKILL);
}
END
check "a program is built that kills itself" build "$CC" killed.c killed
pcce-record -q -e malloc -o killed.data ./killed
is "it was killed, and its sums are there" "$? $(bytes_of killed.data)" "137 10000"

check "a static program is built" build "$CC" killed.c static -static
pcce-record -q -e malloc -o static.data ./static 2>log
check "what a static program allocates is not seen, and a sentence says so" \
	grep -q "allocations of process [0-9]* are not seen: .* is static" log

cat >own.c <<'END'
#include <stddef.h>
static char room[1 << 20];
static size_t used;
void *malloc(size_t size)
{
	used += (size + 15) / 16 * 16;
	return room + used - (size + 15) / 16 * 16;
}
void free(void *p)
{
	(void)p;
}
void *volatile kept;
int main(void)
{
	kept = malloc(10);
	return 0;
}
END
check "a program is built that has its own malloc()" build "$CC" own.c own -fno-builtin
pcce-record -q -e malloc -o own.data ./own 2>log
check "that is not seen, either" grep -q "contains its own malloc()" log

# A limit of the size of files ends a program by SIGXFSZ if the ring exceeds it.
check "the program runs where the ring may not be made" \
	bash -c 'ulimit -f 1000; pcce-record -q -e malloc -o /dev/null ./kinds'

# refused TEXT ARGUMENT...
refused() {
	pcce-record -q -o no.data "${@:2}" ./kinds 2>log
	check "refused: ${*:2}" grep -qF "$1" log
}
refused "it must be malloc=BYTES" -e malloc=0
refused "it must be malloc=BYTES" -e malloc=12q
refused "it must be malloc=BYTES" -e cpu-clock=12k
refused "not by time" -e malloc -F 100
refused "it records allocations alone" -e malloc,cpu-clock
refused "use -b self" -b bpf -e malloc
done_testing
