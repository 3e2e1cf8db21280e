/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * swap TIMES: loads swap1.so and swap2.so in turn, mostly at one place, and makes 100 page faults
 * in each of them. This takes longer than the recorder needs to know the addresses there.
 *
 * With LIBRARY it is one of them. They have the same code, with different names.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#ifdef LIBRARY

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)
#define fault NAME(fault_, LIBRARY)

__attribute__((noipa)) static void fault(char *page)
{
	madvise(page, 4096, MADV_DONTNEED);
	*(volatile char *)page = 1;
}

void enter(char *page)
{
	for (int i = 0; i < 100; i++) {
		struct timespec pause = {.tv_nsec = 4000000};

		fault(page);
		nanosleep(&pause, NULL);
	}
}

#else

int main(int argc, char **argv)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (argc != 2 || page == MAP_FAILED)
		return 2;
	for (int i = 0; i < atoi(argv[1]); i++) {
		void *lib = dlopen(i % 2 ? "./swap2.so" : "./swap1.so", RTLD_NOW);
		void (*enter)(char *) = lib ? (void (*)(char *))dlsym(lib, "enter") : NULL;

		if (!enter)
			return 1;
		enter(page);
		dlclose(lib);
	}
	return 0;
}

#endif
