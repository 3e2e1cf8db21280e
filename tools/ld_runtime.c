/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds the runtime to links of shared libraries that name all libraries themselves.
 *
 * pcce.specs adds the runtime where GCC adds the C library.  libtool links libraries of C++ with
 * -nostdlib, and names the startup files and all libraries, also the C library.  So a link with
 * -lc and without the runtime gets it, in front of the C library.  A link without the C library
 * gets nothing: there the runtime could not work.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/ld_runtime.h"

#define DSO "/libpcce_dso.a"

/* What pcce_shared in pcce.specs adds to a link. %s is the directory of the wrapper's directory. */
static const char *const runtime[] = {"-u",	      "__pcce_push",	"%s" DSO,
				      "--push-state", "--no-as-needed", "%s/libpcce.so.0",
				      "--pop-state",  "-rpath",		"%s"};
#define N_RUNTIME (sizeof(runtime) / sizeof(runtime[0]))

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length >= n && !strcmp(text + length - n, end);
}

/* The argument in front of which the runtime belongs; args->n: nowhere. */
static size_t place_of_runtime(const struct ld_args *args)
{
	size_t place = args->n;

	for (size_t i = 0; args->shared && i < args->n; i++) {
		if (ends_with(args->all[i], DSO))
			return args->n;
		if (!strcmp(args->all[i], "-lc"))
			place = i;
	}
	return place;
}

/* PREFIX/lib/pcce of PREFIX/lib/pcce/ld/ld. */
static bool find_directory(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n <= 0)
		return false;
	path[n] = 0;
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return false;
		*slash = 0;
	}
	return true;
}

int ld_runtime_add(struct ld_args *args)
{
	size_t place = place_of_runtime(args), i;
	char directory[PATH_MAX], **all;

	if (place == args->n || !find_directory(directory, sizeof(directory)))
		return 0;
	all = calloc(args->n + N_RUNTIME, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (i = 0; i < N_RUNTIME; i++) {
		const char *end = runtime[i][0] == '%' ? runtime[i] + 2 : NULL;

		if (asprintf(&all[place + i], "%s%s", end ? directory : runtime[i],
			     end ? end : "") < 0)
			break;
	}
	if (i < N_RUNTIME) {
		while (i--)
			free(all[place + i]);
		free(all);
		return -ENOMEM;
	}
	memcpy(all, args->all, place * sizeof(*all));
	memcpy(all + place + N_RUNTIME, args->all + place, (args->n - place) * sizeof(*all));
	free(args->all);
	args->all = all;
	args->n += N_RUNTIME;
	if (args->has_script && args->script >= place)
		args->script += N_RUNTIME;
	args->changed = true;
	return 0;
}
