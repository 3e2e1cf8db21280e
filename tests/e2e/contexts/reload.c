/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * reload FIRST SECOND: loads two libraries, one after the other, and prints the address of their
 * function `pass`, and the keys of the contexts in which it calls back. The call is asked about
 * twice, since keys are remembered.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <pcce.h>

static uint64_t key;

static __attribute__((noinline, noclone)) void ask(void)
{
	key = pcce_stack_id();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void (*pass)(void (*)(void)) = NULL;
		uint64_t first;

		*(void **)&pass = library ? dlsym(library, "pass") : NULL;
		if (!pass) {
			fprintf(stderr, "reload: %s\n", dlerror());
			return 1;
		}
		pass(ask);
		first = key;
		/* In one place, as above. */
		for (int k = 0; k < 2; k++)
			pass(ask);
		printf("%p %016" PRIx64 " %016" PRIx64 "\n", *(void **)&pass, first, key);
		dlclose(library);
	}
	return 0;
}
