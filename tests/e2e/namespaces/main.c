/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Opens libraries, and then calls each of them in turn. An argument is a letter and a file:
 *
 *   m  dlmopen(): a new namespace     s  in the namespace that was opened last
 *   d  dlopen()                       b  dlopen() with RTLD_DEEPBIND
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void spin(int n)
{
	for (int i = 0; i < n * 1000; i++)
		sink += (unsigned long)i;
}

__attribute__((noinline)) static void back(int n)
{
	if (n)
		back(n - 1);
	else
		spin(300);
	sink++;
}

static void *open_library(const char *argument, Lmid_t *last)
{
	const char *file = argument + 1;
	void *library;

	switch (*argument) {
	case 'm':
		library = dlmopen(LM_ID_NEWLM, file, RTLD_NOW);
		if (library)
			dlinfo(library, RTLD_DI_LMID, last);
		return library;
	case 's':
		return dlmopen(*last, file, RTLD_NOW);
	case 'b':
		return dlopen(file, RTLD_NOW | RTLD_DEEPBIND);
	default:
		return dlopen(file, RTLD_NOW);
	}
}

int main(int argc, char **argv)
{
	void (*entry[8])(void (*)(int)) = {0};
	Lmid_t last = LM_ID_BASE;

	for (int i = 1; i < argc && i < 8; i++) {
		void *library = open_library(argv[i], &last);

		if (!library) {
			puts(dlerror());
			return 1;
		}
		if (dlerror())
			puts("an error after success");
		entry[i] = (void (*)(void (*)(int)))dlsym(library, "lib_entry");
	}
	for (int round = 0; round < 150; round++) {
		for (int i = 1; i < argc && i < 8; i++)
			entry[i](back);
		spin(300);
	}
	puts("done");
	return 0;
}
