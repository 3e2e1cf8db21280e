/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A program with an SDK of OpenTelemetry: linked in, or in the library that DLOPEN names.
 *
 *   serve N     two routes, and none
 *   hostile N   the variable names what is no record
 */
#include <dlfcn.h>
#include <errno.h>
#include <pcce.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "sdk.h"

#ifdef DLOPEN
static void (*start)(void);
static void (*attach)(const char *route, unsigned char id);
static void (*attach_address)(unsigned long address);

static void open_sdk(void)
{
	void *library = dlopen(DLOPEN, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		exit(1);
	start = (void (*)(void))dlsym(library, "sdk_start");
	attach = (void (*)(const char *, unsigned char))dlsym(library, "sdk_attach");
	attach_address = (void (*)(unsigned long))dlsym(library, "sdk_attach_address");
}
#else
#define start sdk_start
#define attach sdk_attach
#define attach_address sdk_attach_address
#define open_sdk()
#endif

static volatile unsigned long sink;

__attribute__((noinline)) static void burn(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

int main(int argc, char **argv)
{
	bool hostile = argc > 1 && !strcmp(argv[1], "hostile");
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *edge = page + 4096 - 28;

	open_sdk();
	start();
	munmap(page + 4096, 4096);
	/* A valid record at the end of the memory, with attributes beyond. */
	memset(edge, 7, 28);
	edge[24] = 1;
	edge[26] = edge[27] = -1;
	for (unsigned long i = 0; i < n; i++) {
		attach("/slow", 1);
		if (pcce_label_set("k", "v") != -EBUSY)
			puts("the record of the SDK was not respected");
		burn(600000);
		attach("/quick", 2);
		burn(300000);
		attach(NULL, 0);
		burn(300000);
		if (!hostile)
			continue;
		attach_address(16);
		burn(100000);
		attach_address(~0UL - 27);
		burn(100000);
		attach_address((unsigned long)page + 4096);
		burn(100000);
		attach_address((unsigned long)edge);
		burn(300000);
		attach_address(0);
	}
	puts("done");
	return 0;
}
