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
	pcce-report -q -i "$1" --format=folded "${@:2}" | awk '{ n += $NF } END { printf "%.0f\n", n }'
}

live_of() { # FILE
	echo "$(pcce-report -q -i "$1" --event=malloc:live --stats | sed -n 's/^samples: //p')" \
		"$(bytes_of "$1" --event=malloc:live)"
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
is "nothing is live at the end" "$(live_of kinds.data)" "$(cut -d' ' -f3,4 truth)"
is "the peak is that of the library" "$(bytes_of kinds.data --event=malloc:peak)" \
	"$(cut -d' ' -f5 truth)"
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
is "as much is live at the end" "$(live_of crowd.data)" \
	"$(awk '{ n += $3; b += $4 } END { printf "%.0f %.0f\n", n, b }' truth)"
check "the sum of peaks is about that of the library ($(bytes_of crowd.data --event=malloc:peak))" \
	awk -v got="$(bytes_of crowd.data --event=malloc:peak)" \
	'{ n += $5 } END { exit !(got > n * 0.9 && got < n * 1.1) }' truth
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

# ---- frees ----------------------------------------------------------------------------

check "a program is built that frees in other threads" build "$CC" "$src/frees.c" frees -pthread
# Prints what a recording says, in the form of the program's output.
sums_of() { # FILE EVENT
	local kind
	for ((kind = 0; kind < 6; kind++)); do
		echo "$2_$kind" "$(pcce-report -q -i "$1" "--event=malloc:$2" --focus=make_$kind \
			--stats | sed -n 's/^samples: //p')" \
			"$(bytes_of "$1" "--event=malloc:$2" --focus=make_$kind)"
	done
}
while read -r threads rounds seed how; do
	name="$threads threads, $rounds rounds, seed $seed${how:+, $how}"
	# shellcheck disable=SC2086 # none, or one
	check "$name: it runs" bash -c "pcce-record -q -e malloc -o frees.data \
		./frees $threads $rounds $seed $how >frees.truth"
	{
		sums_of frees.data live
		if [ "$threads" = 1 ]; then sums_of frees.data peak; fi
	} >frees.got
	is "$name: live and peak of each context" "$(cat frees.got)" "$(cat frees.truth)"
	is "$name: nothing is lost" "$(pcce-report -q -i frees.data --event=malloc:live --stats |
		sed -n 's/^lost: //p')" 0
done <<END
1 20000 1
1 200000 7
4 50000 $RANDOM
16 5000 $RANDOM
4 20000 5 fork
END
check "the report says how much is live" grep -qE "[0-9.]+ MiB in [0-9]+ allocations were still live" \
	<(pcce-report -i frees.data --format=flat 2>&1)
check "a recording is compared with an earlier one by live bytes" grep -q "^bytes: [0-9]* before, [0-9]* now" \
	<(pcce-diff --event=malloc:live crowd.data frees.data)

cat >temporary.c <<'EOF'
#include <stdlib.h>
void *volatile kept;
__attribute__((noipa)) static void *by_temporary(size_t size) { return malloc(size); }
__attribute__((noipa)) static void *by_kept(size_t size) { return malloc(size); }
int main(void)
{
	for (int i = 0; i < 100; i++) {
		free(by_temporary(10));
		kept = by_kept(20);
		void *p = by_kept(30);
		free(kept);
		free(by_temporary(10));
		free(p);
	}
	kept = by_kept(5ul << 30);
	return kept ? 0 : 77;
}
EOF
check "a program with temporary allocations is built" build "$CC" temporary.c temporary
pcce-record -q -e malloc -o temporary.data ./temporary
status=$?
is "they are counted, and no others" \
	"$(pcce-report -q -i temporary.data --event=malloc:temporary --format=folded)" \
	"main;by_temporary;malloc 2000"
if [ $status = 77 ]; then skip "an allocation of 5 GiB is live" "there is no memory for it"; else
	is "an allocation of 5 GiB is live" "$(live_of temporary.data)" "1 5368709120"
fi

# What is live is that at the kill.
pcce-record -q -e malloc -o kill.data ./frees 4 0 3 forever 2>log &
recorder=$!
for ((i = 0; i < 100; i++)); do
	pid=$(pgrep -P $recorder -x frees) && break
	sleep 0.1
done
sleep 0.5
kill -9 "$pid"
wait $recorder
read -r n bytes <<<"$(live_of kill.data)"
check "a program that is killed in the middle has its live bytes ($n, $bytes)" \
	[ "$n" -gt 1000 -a "$n" -le 5100 ]

check "a program that damages its counters is built" build "$CC" "$src/rubbish.c" rubbish
for seed in 1 2 3; do
	check "the recorder survives rubbish in counters ($seed)" \
		pcce-record -q -e malloc -o rubbish.data ./rubbish $seed
	pcce-report -q -i rubbish.data --stats >log
	status=$?
	check "what it writes is readable ($seed)" [ $status = 0 -o $status = 3 ]
done

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

cat >half.c <<'EOF'
#include <stdlib.h>
void *volatile kept;
__attribute__((noipa)) static void *by_kept(void) { return malloc(1000); }
__attribute__((noipa)) static void *by_freed(void) { return malloc(1000); }
int main(void)
{
	for (int i = 0; i < 100000; i++) {
		kept = by_kept();
		free(by_freed());
	}
	return 0;
}
EOF
check "a program that frees half is built" build "$CC" half.c half
check "samples by bytes of it" pcce-record -q -e malloc=100k -o half.data ./half
is "what it frees is not live" \
	"$(bytes_of half.data --event=malloc:live --focus=by_freed)" 0
check "what it does not free is ($(bytes_of half.data --event=malloc:live))" \
	awk -v got="$(bytes_of half.data --event=malloc:live)" \
	'BEGIN { exit !(got > 1e8 * 0.8 && got < 1e8 * 1.2) }'

# ---- units ---------------------------------------------------------------------------

pcce-report -q -i kinds.data >tree
check "the tree has bytes" grep -qE '^ *17\.7% +78\.1 KiB .*by_strdup' tree
check "the head has their sum" grep -q "^1801 samples, 441\.3 KiB, of malloc: " tree
check "callees have bytes" grep -qE '^ *17\.7% +78\.1 KiB  strdup' \
	<(pcce-report -q -i kinds.data --format=callees)
check "functions have bytes" grep -qE ' 100 +78\.1 KiB +78\.1 KiB  strdup' \
	<(pcce-report -q -i kinds.data --format=flat)
check "pprof has space and objects" grep -qE 'alloc_objects/count alloc_space/bytes inuse_space' \
	<(pcce-report -q -i kinds.data --format=pprof >kinds.pb.gz &&
		gzip -dc kinds.pb.gz | strings -n 5 | tr '\n' ' ' |
		sed 's/.*alloc_objects.*alloc_space.*inuse_objects.*inuse_space.*/alloc_objects\/count alloc_space\/bytes inuse_space/')
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
	$(($(grep -xE '[0-9]+' handled) * 14))
is "all contexts are exact" "$(stat_of signals.data exact)" "$(stat_of signals.data samples)"

cat >jumps.c <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
static sigjmp_buf there;
static volatile int n;
static void *volatile kept;
static void on_alarm(int sig)
{
	n += sig != 0;
	siglongjmp(there, 1);
}
static void *other(void *arg)
{
	while (n < 300)
		free(malloc(16 + (n < 0)));
	return arg;
}
int main(void)
{
	const struct itimerval often = {{0, 300}, {0, 300}};
	sigset_t set;
	pthread_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, other, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGALRM, on_alarm);
	sigsetjmp(there, 1);
	setitimer(ITIMER_REAL, &often, NULL);
	while (n < 300) {
		kept = malloc(16);
		free(kept);
	}
	signal(SIGALRM, SIG_IGN);
	pthread_join(t, NULL);
	return 0;
}
END
check "a program is built that jumps out of allocations" build "$CC" jumps.c jumps -pthread -fno-builtin
check "it waits for no lock in vain" timeout 60 pcce-record -q -e malloc -o jumps.data \
	bash preload.sh "$scratch/bump.so" ./jumps
cp "$scratch/check.log" said
check "what is lost is said" grep -qE "not followed|not known" said

cat >short.c <<'END'
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
static void *volatile kept;
__attribute__((noipa)) static void *by_kept(void)
{
	return malloc(24);
}
int main(void)
{
	const struct rlimit none = {0, 0};

	/* The heap is large enough before there is no more memory. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	kept = malloc(16 << 20);
	free(kept);
	if (setrlimit(RLIMIT_AS, &none))
		return 2;
	for (int i = 0; i < 200000; i++)
		if (!(kept = by_kept()))
			return 1;
	return 0;
}
END
check "a program is built whose memory is short" build "$CC" short.c short
check "it runs as before" pcce-record -q -e malloc -o short.data ./short
cp "$scratch/check.log" said
check "a sentence says that allocations were not followed" grep -q "were not followed" said
is "each one is live or counted as not followed" \
	"$(pcce-report -q -i short.data --event=malloc:live --stats |
		awk '/^(samples|lost_unfollowed):/ { n += $2 } END { print n }')" 200000

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
