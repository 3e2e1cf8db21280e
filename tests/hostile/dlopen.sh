#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests instrumented libraries that a program without instrumentation loads with dlopen(), as
# plugins and Python's extension modules are loaded.  The C library keeps little room for the
# thread-local memory that they need.

. "$(dirname "$0")/../lib.sh"
frequency=500
cd "$scratch" || exit 1

cat >library.c <<'END'
/* Library N of 8: rec_N and work_N call each other, N apart. */
#define JOIN(a, b) a##b
#define NAME(a, n) JOIN(a, n)
#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sum;

static NOINLINE unsigned long NAME(leaf_, N)(unsigned long n)
{
	for (unsigned long i = 0; i < 20000; i++)
		sum += i ^ n;
	return sum & 1;
}

static NOINLINE unsigned long NAME(rec_, N)(unsigned long n)
{
	unsigned long r = n ? NAME(rec_, N)(n - 1) : NAME(leaf_, N)(N);

	sum += r;
	return r + n;
}

unsigned long NAME(work_, N)(unsigned long n)
{
	return NAME(rec_, N)(n) >> 1 << 1;
}
END

cat >program.c <<'END'
/* program SECONDS LIBRARY...: opens the libraries, and then calls each of them in turn, in the main
 * thread and in threads that began before and after.  Each does so for SECONDS of its CPU time. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long (*work[64])(unsigned long);
static int seconds, n;
static pthread_barrier_t opened;

static void *call_all(void *arg)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (int i = 0; i < n; i++)
			work[i](70);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec - begin.tv_sec < seconds);
	return arg;
}

static void *early(void *arg)
{
	pthread_barrier_wait(&opened);
	return call_all(arg);
}

int main(int argc, char **argv)
{
	pthread_t before, after;
	char name[16];

	seconds = atoi(argv[1]);
	n = argc - 2;
	pthread_barrier_init(&opened, NULL, 2);
	pthread_create(&before, NULL, early, NULL);
	for (int i = 0; i < n; i++) {
		void *library = dlopen(argv[i + 2], RTLD_NOW);

		snprintf(name, sizeof(name), "work_%d", i);
		work[i] = library ? (unsigned long (*)(unsigned long))dlsym(library, name) : NULL;
		if (!work[i]) {
			printf("%s\n", dlerror());
			return 1;
		}
	}
	pthread_barrier_wait(&opened);
	pthread_create(&after, NULL, call_all, NULL);
	call_all(NULL);
	pthread_join(before, NULL);
	pthread_join(after, NULL);
	printf("done\n");
	return 0;
}
END

libraries=()
flags=$(pcce-config --cflags) link=$(pcce-config --ldflags)
build() {
	for n in 0 1 2 3 4 5 6 7; do
		$CC -O2 -g $flags -DN=$n -fPIC -shared library.c $link -o "lib$n.so" || return
	done
}
check "builds eight libraries" build
for n in 0 1 2 3 4 5 6 7; do
	libraries+=("$PWD/lib$n.so")
done
$CC -O2 program.c -o program -ldl -pthread || exit 1
# Libraries of C++ that a program already has use such memory, too.
$CXX -O2 -x c++ -fpermissive -w program.c -o program_cxx -ldl -pthread -Wl,--no-as-needed -lstdc++ || exit 1
is "a program opens one" "$(./program 0 "${libraries[0]}")" "done"
is "a program opens eight" "$(./program 0 "${libraries[@]}")" "done"
is "a program of C++ opens eight" "$(./program_cxx 0 "${libraries[@]}")" "done"

for sampler in self bpf; do
	if [ $sampler = bpf ] && ! has_bpf; then
		skip "recorded by bpf" "pcce-record cannot use BPF: $bpf_reason"
		continue
	fi
	if ! record $sampler $sampler.data ./program 1 "${libraries[@]}"; then
		not_ok "recorded by $sampler" $sampler.data.err
		continue
	fi
	recording_is_exact "$sampler: all samples exact" $sampler.data 30
	# The self sampler only has threads that the runtime meets.
	[ $sampler = self ] || is "$sampler: all three threads" "$(stat_of $sampler.data threads)" 3
	pcce-report -i $sampler.data --format=folded >$sampler.folded
	for n in 0 7; do
		check "$sampler: the calls in library $n" \
			grep -Eq "(^|;)work_$n;rec_$n;.*rec_$n;leaf_$n( |;)" $sampler.folded
	done
done

python=$(command -v python3)
if [ -z "$python" ]; then
	skip "Python's ctypes" "python3 is not installed"
	done_testing
fi
cat >ctypes_program.py <<'END'
import ctypes, sys, time
libraries = [ctypes.CDLL(p) for p in sys.argv[1:]]
end = time.process_time() + 1
while time.process_time() < end:
    for n, library in enumerate(libraries):
        getattr(library, "work_%d" % n)(70)
print("done")
END
is "Python's ctypes opens eight" "$($python ctypes_program.py "${libraries[@]}" 2>&1)" "done"
if record self python.data "$python" ctypes_program.py "${libraries[@]}"; then
	recording_is_exact "Python: all samples in the libraries exact" python.data 30
else
	not_ok "Python is recorded" python.data.err
fi
done_testing
