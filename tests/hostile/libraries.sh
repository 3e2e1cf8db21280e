#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Attacks the self sampler with libraries that come and go: it must know whose code is on the stack,
# also where another library was a moment ago, and without /proc.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

for i in 1 2 3 4 5 6; do
	cat >library.c <<END_C
#include "burn.h"
extern void call_back(void (*f)(void));
static NOINLINE void leaf_$i(void) { burn(20000); }
static NOINLINE void middle_$i(void) { leaf_$i(); burn(100); }
NOINLINE void enter(void) { call_back(middle_$i); burn(100); }
END_C
	check "library $i builds" $CC -O2 -g -fPIC -shared -I"$w" $cflags library.c $ldflags \
		-o "library$i.so"
done
mkdir -p folder && cp library6.so folder/

cat >loads.c <<'END_C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

__attribute__((visibility("default"))) void call_back(void (*f)(void))
{
	f();
	burn(50);
}

static int one(const char *path, int rounds)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*enter)(void) = lib ? (void (*)(void))dlsym(lib, "enter") : NULL;

	if (!enter) {
		puts(dlerror());
		return 1;
	}
	for (int i = 0; i < rounds; i++)
		enter();
	return dlclose(lib);
}

static int come_and_go(int times)
{
	char path[64];
	int failed = 0;

	for (int i = 0; i < times; i++) {
		snprintf(path, sizeof(path), "./library%d.so", i % 6 + 1);
		failed += one(path, 20);
	}
	return failed;
}

static void *in_thread(void *arg)
{
	(void)arg;
	return (void *)(long)come_and_go(100);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int status = 0;

	if (!strcmp(what, "threads")) {
		pthread_t t[3];
		void *result;

		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, in_thread, NULL);
		for (int i = 0; i < 3; i++) {
			pthread_join(t[i], &result);
			status += result != NULL;
		}
	} else if (!strcmp(what, "forks")) {
		one("./library1.so", 10);
		for (int i = 0; i < 5; i++)
			if (fork() == 0)
				_exit(come_and_go(60));
		for (int i = 0, s; i < 5; i++) {
			wait(&s);
			status += s;
		}
	} else if (!strcmp(what, "moves")) {
		status = one("folder/library6.so", 1000) || chdir("folder") ||
			 one("/proc/self/cwd/library6.so", 1000);
	} else {
		status = come_and_go(300);
	}
	puts(status ? "failed" : "done");
	return status;
}
END_C
check "the program builds" $CC -O2 -g -pthread -I"$w" $cflags loads.c $ldflags -rdynamic -ldl -o loads

for what in come threads forks moves; do
	frequency=5000 record self $what.data ./loads $what
	is "$what: output" "$? $(cat $what.data.out)" "0 done"
	recording_is_exact "$what: all samples are exact" $what.data 40
	pcce-report -i $what.data --format=folded >folded 2>&1
	case $what in moves) all=6 ;; *) all="1 2 3 4 5 6" ;; esac
	for i in $all; do
		check "$what: contexts lead through library $i" \
			grep -q "enter;call_back;middle_$i;leaf_$i" folded
	done
done

if [ "$(id -u)" = 0 ] && command -v unshare >/dev/null && unshare --mount true 2>/dev/null; then
	record_command='mount -t tmpfs none /proc && exec ./loads come'
	frequency=5000 record self no-proc.data unshare --mount sh -c "$record_command"
	is "without /proc: output" "$? $(cat no-proc.data.out)" "0 done"
	recording_is_exact "without /proc: all samples are exact" no-proc.data 100
else
	skip "without /proc" "needs root"
fi

# What the sampler itself asks the kernel for once it has begun: nothing about mappings.
if command -v strace >/dev/null; then
	strace -f -o trace pcce-record -q -b self -F 5000 -o t.data -- ./loads come >t.out 2>&1
	pid=$(grep -m1 'execve("./loads"' trace | cut -d ' ' -f 1)
	is "its maps are read once, at the start" \
		"$(grep -c "^$pid .*/proc/self/maps" trace)" 1
else
	skip "its maps are read once, at the start" "needs strace"
fi
done_testing
