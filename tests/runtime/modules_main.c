// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests an executable with (-DWITH_RUNTIME) or without a runtime, together with a library that was
 * linked (-DLINKED) or is loaded.  There must be one page per thread, one registry and one
 * announcement.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pcce/abi.h>

#ifdef WITH_RUNTIME
extern __thread struct pcce_page pcce_page;
#endif
#ifdef LINKED
void *lib_page(void);
int lib_push(void);
#else
static void *(*lib_page)(void);
static int (*lib_push)(void);
#endif

static int bad;

static int count(const struct pcce_page *page, void *arg)
{
	(void)page;
	++*(int *)arg;
	return 0;
}

static void check(const char *where, int threads)
{
	int (*walk)(int (*)(const struct pcce_page *, void *), void *) =
		(int (*)(int (*)(const struct pcce_page *, void *), void *))(uintptr_t)dlsym(
			RTLD_DEFAULT, "pcce_threads_walk");
	struct pcce_page *page = lib_page();
	int n = 0;

#ifdef WITH_RUNTIME
	bad += page != &pcce_page;
#endif
	bad += page->magic != PCCE_PAGE_MAGIC || page->tid != (uint32_t)syscall(SYS_gettid);
	bad += !lib_push();
	if (walk)
		walk(count, &n);
	bad += n != threads;
	if (bad)
		printf("# %s: %d bad, %d threads, magic %x\n", where, bad, n, page->magic);
}

static void *routine(void *arg)
{
	check("thread", 2);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
#ifndef LINKED
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!lib) {
		printf("# %s\n", dlerror());
		return 1;
	}
	lib_page = (void *(*)(void))(uintptr_t)dlsym(lib, "lib_page");
	lib_push = (int (*)(void))(uintptr_t)dlsym(lib, "lib_push");
#endif
	(void)argc;
	(void)argv;
	check("main", 1);
	pthread_create(&t, NULL, routine, NULL);
	pthread_join(t, NULL);
	check("main again", 1);
	return bad != 0;
}
