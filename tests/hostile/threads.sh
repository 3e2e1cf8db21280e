#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests threads on stacks that the program provides.  A thread that works without pcce must work
# with it, and nothing below its stack may change, whether or not its functions were bound before.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1

cat >stacks.c <<'END'
/* stacks KIB: runs threads on a stack of KIB KiB, with bytes below it that must stay.  Prints
 * how far below the stack something was written, or the error of pthread_create(). */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD 65536
#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sum;
static jmp_buf env;

static NOINLINE void jump(void)
{
	longjmp(env, 1);
}

static NOINLINE unsigned int down(unsigned int n);

static NOINLINE unsigned int other(unsigned int n)
{
	return down(n) + 1;
}

/* Two sites alternate, so each call has its own entry: 40 levels are more than two segments. */
static NOINLINE unsigned int down(unsigned int n)
{
	unsigned int r = n == 0 ? 0 : n % 2 ? down(n - 1) : other(n - 1);

	sum += r;
	return r;
}

static void *work(void *arg)
{
	if (!setjmp(env))
		jump();
	down(40);
	/* Bound when it is called, by the program itself. */
	sum += (unsigned long)atoi("12");
	if (arg)
		pthread_exit(NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	size_t size = (size_t)atoi(argv[argc - 1]) * 1024;
	unsigned char *memory = mmap(NULL, GUARD + size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	size_t touched = 0;

	memset(memory, 0xa5, GUARD);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, memory + GUARD, size);
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		int err = pthread_create(&t, &attr, work, i == 2 ? &attr : NULL);

		if (err) {
			printf("error %d\n", err);
			return 1;
		}
		pthread_join(t, NULL);
	}
	while (touched < GUARD && memory[touched] == 0xa5)
		touched++;
	printf("%zu bytes below %lu\n", GUARD - touched, sum);
	return 0;
}
END

flags=$(pcce-config --cflags) link=$(pcce-config --ldflags)
$CC -O2 -g stacks.c -o plain -pthread -Wl,-z,lazy || exit 1
for kind in "" -static "-fPIC -shared"; do
	name=${kind:+ (${kind##*-})}
	if [ "$kind" = "-fPIC -shared" ]; then
		# The program's code is in a library, and the runtime in libpcce.so.
		echo 'extern int run(int, char **); int main(int c, char **v) { return run(c, v); }' >main.c
		check "builds$name" sh -c "
			$CC -O2 -g $flags -fPIC -shared -Dmain=run stacks.c -o libstacks.so -pthread -Wl,-z,lazy $link &&
			$CC main.c -o pcce -L. -lstacks -Wl,-rpath,\$PWD -pthread -Wl,-z,lazy $link"
	else
		check "builds$name" $CC -O2 -g $flags $kind stacks.c -o pcce -pthread -Wl,-z,lazy $link
	fi
	for kib in 16 20 24 28 32 40 48 64 128; do
		for now in "" 1; do
			is "a stack of $kib KiB${now:+, bound at the start}$name" \
				"$(LD_BIND_NOW=$now ./pcce $kib 2>&1)" "$(./plain $kib)"
		done
	done
done
done_testing
