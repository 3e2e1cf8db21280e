/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loads the plugin of the compiler that runs: the file that the flags of pcce-config name.
 *
 *	lib/pcce/pcce_plugin.so           this file
 *	lib/pcce/gcc-12/pcce_plugin.so    the plugin (plugin/plugin.c), built for GCC 12
 *	lib/pcce/gcc-14/pcce_plugin.so    ... for GCC 14
 *
 * A plugin works in one build of GCC only.  This file works in each, since it uses only what is the
 * same in all: the names of the entry point, and the first field of its second argument.  It
 * includes no header of GCC.  The real plugin gets both arguments unchanged, so GCC shows and
 * accepts the same as without this file.
 *
 * A compiler without a plugin gets one error that says which are there and how to get one.  clang
 * loads the files of -fplugin= too.  It gets an error from the constructor, since it never calls
 * plugin_init().
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define PLUGIN "pcce_plugin.so"

EXPORTED int plugin_is_GPL_compatible;
EXPORTED int plugin_init(void *plugin, const char *const *gcc);

/* Changes with each plugin.  Compiler caches know only the file that -fplugin= names, so this file
 * must differ when a plugin beside it does. */
EXPORTED const char pcce_plugins_hash[] = PCCE_PLUGINS_HASH;

/* Prints an error as GCC does and ends the compiler. */
__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	/* fatal_error(location_t, const char *, ...), whose first argument is long since GCC 15.
	 * 0 is no location. */
	void (*fatal_error)(unsigned long, const char *, ...);
	char text[2 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	*(void **)&fatal_error = dlsym(RTLD_DEFAULT, "_Z11fatal_errorjPKcz");
	if (!fatal_error)
		*(void **)&fatal_error = dlsym(RTLD_DEFAULT, "_Z11fatal_errormPKcz");
	if (fatal_error)
		fatal_error(0, "%s", text);
	fflush(NULL);
	fprintf(stderr, "pcce: error: %s\n", text);
	_exit(1);
}

/* Writes the directory of this file. */
static void own_directory(char directory[PATH_MAX])
{
	Dl_info info;
	char *end;

	if (!dladdr(pcce_plugins_hash, &info) || !realpath(info.dli_fname, directory))
		die("cannot load the plugin of pcce: cannot find the directory of "
		    "pcce_plugin.so; reinstall pcce");
	end = strrchr(directory, '/');
	*end = '\0';
}

static bool has_plugin(const char *directory, int major)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/gcc-%d/" PLUGIN, directory, major);
	return !access(path, R_OK);
}

/* Writes which versions of GCC have a plugin, such as "GCC 11, 12 and 14". */
static void list_plugins(const char *directory, char *list, size_t size)
{
	int found[PCCE_GCC_LAST - PCCE_GCC_FIRST + 1], count = 0;
	size_t used;

	for (int major = PCCE_GCC_FIRST; major <= PCCE_GCC_LAST; major++)
		if (has_plugin(directory, major))
			found[count++] = major;
	used = (size_t)snprintf(list, size, count ? "GCC" : "no compiler");
	for (int i = 0; i < count && used < size; i++) {
		const char *separator = !i ? "" : i + 1 == count ? " and" : ",";

		used += (size_t)snprintf(list + used, size - used, "%s %d", separator, found[i]);
	}
}

/* clang and clang++, also with a version; not its tools such as clangd, which read the flags of a
 * build and go on without plugins. */
static bool runs_in_clang(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *name;

	if (length <= 0)
		return false;
	path[length] = '\0';
	name = basename(path);
	if (strncmp(name, "clang", strlen("clang")) != 0)
		return false;
	name += strlen("clang");
	return !name[strspn(name, "+-.0123456789")];
}

__attribute__((constructor)) static void refuse_clang(void)
{
	char directory[PATH_MAX], list[256];

	if (!runs_in_clang())
		return;
	own_directory(directory);
	list_plugins(directory, list, sizeof(list));
	die("cannot compile with clang: pcce is a plugin of GCC; use GCC (%s has plugins for %s), "
	    "or leave out the flags of pcce-config",
	    directory, list);
}

/* gcc is a struct plugin_gcc_version, which begins with the version: "12.2.0". */
int plugin_init(void *plugin, const char *const *gcc)
{
	char directory[PATH_MAX], path[PATH_MAX + 64], list[256], why[2 * PATH_MAX];
	int (*init)(void *plugin, const char *const *gcc);
	int major = atoi(gcc[0]);
	void *handle;

	own_directory(directory);
	list_plugins(directory, list, sizeof(list));
	if (major < PCCE_GCC_FIRST || major > PCCE_GCC_LAST)
		die("cannot use GCC %s: pcce supports GCC %d to %d; use one of these (%s has "
		    "plugins for %s)",
		    gcc[0], PCCE_GCC_FIRST, PCCE_GCC_LAST, directory, list);
	if (!has_plugin(directory, major))
		die("cannot use GCC %s: %s has plugins for %s; install the package pcce-gcc-%d or "
		    "pcce-gcc-source, or build pcce with 'make GCCS=all'",
		    gcc[0], directory, list, major);
	snprintf(path, sizeof(path), "%s/gcc-%d/" PLUGIN, directory, major);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		snprintf(why, sizeof(why), "%s", dlerror());
		if (!dlsym(RTLD_DEFAULT, "ix86_preferred_stack_boundary"))
			die("cannot load the plugin into GCC %s: it compiles for another processor "
			    "than x86-64; leave out the flags of pcce-config, or use this compiler "
			    "in place of pcce-gcc",
			    gcc[0]);
		die("cannot load the plugin into GCC %s: %s; build pcce with this compiler", gcc[0],
		    why);
	}
	*(void **)&init = dlsym(handle, "plugin_init");
	if (!init)
		die("cannot load the plugin into GCC %s: %s; reinstall pcce", gcc[0], dlerror());
	return init(plugin, gcc);
}
