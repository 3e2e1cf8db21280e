#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests programs with little memory.  The runtime reserves what it needs, and no more: a limit of
# address space or of data that a program respects without pcce is enough with it, too.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1

cat >memory.c <<'END'
/* memory THREADS DEPTH: THREADS threads exist at the same time, and each recurses to DEPTH.
 * Then allocates.  Prints the most address space in KiB, and how often malloc() and its kin were
 * called in threads, which themselves do not call them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void __libc_free(void *);

static int calls;
static volatile unsigned long sum;
static pthread_barrier_t together;
static unsigned int depth;

static void count(void)
{
	if (syscall(SYS_gettid) != getpid())
		__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t n)
{
	count();
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t m)
{
	count();
	return __libc_calloc(n, m);
}

void free(void *p)
{
	count();
	__libc_free(p);
}

static NOINLINE unsigned int down(unsigned int n);

static NOINLINE unsigned int other(unsigned int n)
{
	return down(n) + 1;
}

static NOINLINE unsigned int down(unsigned int n)
{
	unsigned int r = n == 0 ? 0 : n % 2 ? down(n - 1) : other(n - 1);

	sum += r;
	return r;
}

static void *work(void *arg)
{
	down(depth);
	pthread_barrier_wait(&together);
	return arg;
}

static NOINLINE int start(pthread_t *t, const pthread_attr_t *attr, unsigned int n)
{
	return n ? start(t, attr, n - 1) : pthread_create(t, attr, work, NULL);
}

int main(int argc, char **argv)
{
	unsigned int n = (unsigned int)atoi(argv[1]);
	pthread_t *t = calloc(n, sizeof(*t));
	char line[256], peak[64] = "";
	pthread_attr_t attr;
	FILE *f;

	(void)argc;
	depth = (unsigned int)atoi(argv[2]);
	pthread_barrier_init(&together, NULL, n + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (unsigned int i = 0; i < n; i++) {
		int err = start(&t[i], &attr, i % 50);

		if (err) {
			printf("pthread_create %u: %s\n", i, strerror(err));
			return 1;
		}
	}
	pthread_barrier_wait(&together);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	if (!malloc(4 << 20)) {
		printf("malloc fails\n");
		return 1;
	}
	f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmPeak: %63s", peak);
	printf("%s %d\n", peak, calls);
	return 0;
}
END

$CC -O2 -g memory.c -o plain -pthread || exit 1
flags=$(pcce-config --cflags) link=$(pcce-config --ldflags)
check "builds" $CC -O2 -g $flags memory.c -o pcce -pthread $link

# costs NAME THREADS DEPTH KIB: at most KIB KiB of address space more for each thread, and 4 MiB for
# the program
costs() {
	local plain pcce calls want
	read -r plain want < <(./plain "$2" "$3")
	read -r pcce calls < <(./pcce "$2" "$3")
	echo "#   $1: $plain KiB, $pcce KiB with pcce"
	check "$1: address space" [ "$pcce" -le $((plain + 4096 + $2 * $4)) ]
	is "$1: threads call malloc as often" "$calls" "$want"
	# The limit is what the program needs, and the same again.
	is "$1: with a limit of address space" \
		"$(ulimit -v $((plain + 4096 + $2 * $4)) && ./pcce "$2" "$3" | cut -d ' ' -f 2)" "$want"
	is "$1: with a limit of data, which also counts what is not used yet" \
		"$(ulimit -d $((4096 + 8192 + $2 * (256 + $4))) && ./pcce "$2" "$3" | cut -d ' ' -f 2)" "$want"
}
costs "100 shallow threads" 100 3 24
costs "100 threads of depth 200" 100 200 40
costs "20 threads of depth 1,000" 20 1000 64
# 1.5 entries a level, 18 bytes an entry; twice that while the area grows, and while it is half full
costs "a thread of depth 2,000" 1 2000 256

# ---- pcce-record --count ---------------------------------------------------------------------

# The counting engine reserves much.  Where memory is limited, the program has most of it.
cat >reserve.c <<'END'
/* reserve MIB: reserves memory.  Prints how much it has got of that, and what it has in all. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((noinline)) static int reserve(void)
{
	return mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

int main(int argc, char **argv)
{
	FILE *f = fopen("/proc/self/status", "r");
	int wanted = argc > 1 ? atoi(argv[1]) : 0, got = 0;
	unsigned long size = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmSize: %lu", &size);
	while (got < wanted && reserve())
		got++;
	printf("%d MiB\n%lu\n", got, size / 1024);
	return 0;
}
END
check "reserve builds" $CC -O1 -g $flags reserve.c -o reserve $link

# counts_in NAME LIMIT MIB COMMAND...: the command counts ./reserve, which gets MIB
counts_in() {
	local name=$1 limit=$2 mib=$3
	shift 3
	"$@" pcce-record --count -o limited.data -- ./reserve "$mib" >out 2>err
	is "--count, $name: the program has what it needs" "$(head -n 1 out)" "$mib MiB"
	check "--count, $name: one sentence says that counts have little" \
		[ "$(grep -c "warning: there is a limit of $limit, so counts have only" err)" = 1 ]
	is "--count, $name: the counts are right" \
		"$(pcce-report -q -i limited.data --format=folded)" \
		"main 1${mib:+
main;reserve $mib}"
}
limited() { # OPTION-OF-ULIMIT KIB COMMAND...
	(ulimit "$1" "$2" && shift 2 && "$@")
}
counts_in "ulimit -v" 'address space (ulimit -v)' 10240 limited -v 13000000
counts_in "ulimit -v, little" 'address space (ulimit -v)' 64 limited -v 100000
counts_in "ulimit -d" 'data (ulimit -d)' 10240 limited -d 13000000
counts_in "ulimit -f" 'the size of files (ulimit -f)' 10 limited -f 100000
limited -f 1000 pcce-record --count -o limited.data -- ./reserve >out 2>err
is "--count, ulimit -f, too little: the error" "$(cat out err)" \
	"pcce-record: cannot count calls: there is no shared memory: File too large"

# A kernel that seems never to overcommit
without_overcommit() {
	unshare -m bash -c 'mount --bind never /proc/sys/vm/overcommit_memory && "$@"' - "$@"
}
echo 2 >never
if without_overcommit true 2>unshare.log; then
	counts_in "no overcommit" 'memory (vm.overcommit_memory is 2)' 10 without_overcommit
	check "--count, no overcommit: little is reserved" [ "$(tail -n 1 out)" -le 256 ]
else
	skip "--count, no overcommit" "needs root and unshare: $(tail -n 1 unshare.log)"
fi

# ---- a reader of recordings ------------------------------------------------------------------

# A program that reads recordings outlives the end of its memory, at whichever allocation it comes.
cat >reader.c <<'END'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <pcce/decode.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static long left = -1, n;

static int fails(void)
{
	n++;
	if (left > 0)
		left--;
	if (left)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

static int read_all(const char *path)
{
	struct pcce_decode_recording *r;
	const struct pcce_decode_sample *s;
	int more = pcce_decode_recording_open(path, 0, &r, NULL), samples = 0;

	if (more)
		return -1;
	while ((more = pcce_decode_recording_next(r, &s, NULL)) > 0)
		samples++;
	pcce_decode_recording_close(r);
	return more ? -1 : samples;
}

int main(int argc, char **argv)
{
	int all = argc > 1 ? read_all(argv[1]) : -1, errors = 0;
	long needed = n;

	for (long i = 0; i < needed; i += 1 + i / 300) {
		int got;

		left = i;
		got = read_all(argv[1]);
		left = -1;
		errors += got < 0;
		if (got >= 0 && got != all)
			return 3;
	}
	if (read_all(argv[1]) != all || all < 1)
		return 4;
	printf("%ld allocations, %d errors\n", needed, errors);
	return errors < 20;
}
END
cat >burn.c <<'END'
#include <pthread.h>

static volatile unsigned int sum;

static NOINLINE unsigned int burn(unsigned int n)
{
	for (int i = 0; i < 20000; i++)
		sum += n;
	return n ? burn(n - 1) + sum : sum;
}

static void *start(void *none)
{
	burn(500);
	return none;
}

int main(void)
{
	pthread_t t;

	for (int i = 0; i < 40 && !pthread_create(&t, NULL, start, NULL); i++)
		pthread_join(t, NULL);
	return 0;
}
END
if [ ${#sanitize[@]} -gt 0 ]; then
	skip "a reader of recordings without memory" "sanitizers have their own malloc"
else
	$CC -O1 "-DNOINLINE=__attribute__((noinline, noclone))" $flags burn.c -o burn -pthread $link
	record self few.data ./burn
	check "a reader of recordings builds" $CC -O1 -I"$top/include" reader.c -L"$out/lib" \
		-l:libpcce-decode.so.0 -Wl,-rpath,"$out/lib" -o reader
	check "... and goes on when its memory is exhausted" timeout 300 ./reader few.data
	cat check.log
fi
done_testing
