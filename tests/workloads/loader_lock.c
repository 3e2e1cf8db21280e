/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Works in callbacks of dl_iterate_phdr(), which hold the loader's lock, and waits there for a lock
 * under which another thread works.  Meanwhile threads begin, processes fork and libraries are
 * loaded.
 *
 * flags: -O2 -pthread
 * marked: 2
 * expect: (^|;)walk;.*visit;burn( |;)
 * expect: (^|;)hold;burn( |;)
 * expect: (^|;)main;run_child;in_child;burn( |;)
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ended; /* atomic */

static NOINLINE int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	burn(30000);
	pthread_mutex_lock(arg);
	burn(30000);
	pthread_mutex_unlock(arg);
	return 0;
}

static NOINLINE void *walk(void *arg)
{
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
		dl_iterate_phdr(visit, arg);
		burn(1000);
	}
	return arg;
}

static NOINLINE void *hold(void *arg)
{
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(arg);
		burn(30000);
		pthread_mutex_unlock(arg);
	}
	return arg;
}

static NOINLINE void *work(void *arg)
{
	burn(300000);
	return arg;
}

static NOINLINE void in_child(void)
{
	burn(4000000);
	burnt++;
}

static NOINLINE int run_child(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		in_child();
		_exit(7);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : -1000;
}

int main(void)
{
	pthread_t walker, holder, worker;
	int sum = 0;

	pthread_create(&walker, NULL, walk, &lock);
	pthread_create(&holder, NULL, hold, &lock);
	for (int i = 0; i < ROUNDS(25, 2); i++) {
		void *library = dlopen("libm.so.6", RTLD_NOW);

		for (int n = 0; n < ROUNDS(10, 1); n++) {
			pthread_create(&worker, NULL, work, NULL);
			pthread_join(worker, NULL);
		}
		sum += run_child();
		if (library)
			dlclose(library);
	}
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	pthread_join(walker, NULL);
	pthread_join(holder, NULL);
	printf("%d\n", sum);
	return 0;
}
