/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Becomes gcc or g++ with the flags of pcce: the compiler wrapper.
 *
 * Where `pcce-gcc` compiles, it adds what `pcce-config --cflags` prints, and where it links, what
 * `pcce-config --ldflags` prints (gcc_args.c).  Everything else is as without this program, which
 * is gone when the compiler runs: its output, its exit status and its answers to configure.
 *
 * The name of this program tells the name of the compiler:
 *
 *	pcce-gcc, pcce-g++         the pair for which pcce was built, or PCCE_CC and PCCE_CXX
 *	pcce-NAME                  a link for another compiler, such as pcce-gcc-14: NAME
 *	pcce-gcc-ar                a link for CMake, which looks for this name with -flto: gcc-ar
 *	gcc, x86_64-linux-gnu-gcc  a link in a folder that PATH names first: the next of that name
 */
#include <errno.h>
#include <libiberty/libiberty.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/next_program.h"
#include "base/text.h"
#include "tools/gcc_args.h"

#define WAITING "PCCE_GCC_WAITING"
#define OWN_PREFIX "pcce-"

enum { CANNOT_RUN = 127 };

/* ccache takes this program for the compiler, so this program differs when a plugin does. */
__attribute__((used)) static const char plugins_hash[] = PCCE_PLUGINS_HASH;

struct wrapper {
	char root[PATH_MAX]; /* bin/pcce-gcc and lib/pcce are in it */
	struct stat self;
	const char *variable; /* PCCE_CC or PCCE_CXX */
	char *command;	      /* the compiler, and words that precede it, such as "ccache gcc" */
	bool compiles;	      /* it is not gcc-ar or gcc-ranlib */
	bool replaces;	      /* this program has the compiler's own name */
};

static void find_self(struct wrapper *w)
{
	ssize_t n = readlink("/proc/self/exe", w->root, sizeof(w->root) - 1);

	if (n < 0 || stat("/proc/self/exe", &w->self)) {
		message("pcce-gcc",
			"cannot compile: cannot find this program in /proc: %s; mount /proc",
			strerror(errno));
		exit(CANNOT_RUN);
	}
	w->root[n] = '\0';
	for (int i = 0; i < 2; i++)
		*strrchr(w->root, '/') = '\0';
}

/* Returns p, unless there was no memory for it. */
static void *has_memory(void *p)
{
	if (p)
		return p;
	message("pcce-gcc", "cannot compile: out of memory");
	exit(CANNOT_RUN);
}

static void choose_compiler(struct wrapper *w, const char *name)
{
	const char *chosen;

	w->variable = strstr(name, "++") ? "PCCE_CXX" : "PCCE_CC";
	w->replaces = strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) != 0;
	w->compiles = !strstr(name, "gcc-ar") && !strstr(name, "gcc-ranlib");
	chosen = w->compiles ? getenv(w->variable) : NULL;
	if (chosen && chosen[strspn(chosen, " ")])
		;
	else if (!strcmp(name, "pcce-gcc"))
		chosen = PCCE_DEFAULT_CC;
	else if (!strcmp(name, "pcce-g++"))
		chosen = PCCE_DEFAULT_CXX;
	else
		chosen = w->replaces ? name : name + strlen(OWN_PREFIX);
	w->command = has_memory(strdup(chosen));
}

/* Returns the path of the first word of the command. */
static char *find_compiler(struct wrapper *w, const char *word)
{
	const char *path = getenv("PATH");
	struct stat st;
	char *found = NULL;

	next_program_wait(WAITING, &w->self);
	if (!strchr(word, '/'))
		found = next_program_find(WAITING, path ? path : "/usr/bin:/bin", word);
	else if (stat(word, &st) || !same_file(&st, &w->self))
		found = has_memory(strdup(word));
	if (!found) {
		message("pcce-gcc",
			"cannot run '%s': there is no other program of this name; install it, or "
			"name a compiler with %s",
			word, w->variable);
		exit(CANNOT_RUN);
	}
	/* ccache under the compiler's name would run this program again. */
	if (w->replaces && !stat(found, &st))
		next_program_wait(WAITING, &st);
	return found;
}

/* Returns a flag of pcce, which ends with the path of a file in lib/pcce. */
static char *flag_with(const struct wrapper *w, const char *begin, const char *file)
{
	char *flag = NULL;

	if (asprintf(&flag, "%s%s/lib/pcce/%s", begin, w->root, file) < 0)
		flag = NULL;
	return has_memory(flag);
}

/* Returns the flags for linking. *n is their number. */
static char **read_link_flags(const struct wrapper *w, int *n)
{
	char *file[] = {"", flag_with(w, "@", "link.flags"), NULL}, **words = file;

	*n = 2;
	/* With the file's name, `-v` would show the name of a file in place of what the linker
	 * gets.  CMake and libtool read this. */
	expandargv(n, &words);
	if (words == file) {
		message("pcce-gcc", "cannot link: cannot read '%s'; reinstall pcce", file[1] + 1);
		exit(CANNOT_RUN);
	}
	--*n;
	return words + 1;
}

int main(int argc, char **argv)
{
	enum gcc_work work = GCC_OTHER;
	char **link_flags = NULL, **command, *path;
	int n_link_flags = 0;
	struct wrapper w;
	size_t at = 0;

	find_self(&w);
	choose_compiler(&w, argc ? text_base(argv[0]) : "pcce-gcc");
	if (w.compiles)
		work = gcc_args_work(argc, argv);
	if (work == GCC_LINKS)
		link_flags = read_link_flags(&w, &n_link_flags);
	/* Room for the words of the command, -fplugin, the arguments and NULL. */
	command = has_memory(
		calloc(strlen(w.command) + (size_t)(n_link_flags + argc) + 3, sizeof(*command)));
	for (char *word = strtok(w.command, " "); word; word = strtok(NULL, " "))
		command[at++] = word;
	if (work != GCC_OTHER)
		command[at++] = flag_with(&w, "-fplugin=", "pcce_plugin.so");
	for (int i = 0; i < n_link_flags; i++)
		command[at++] = link_flags[i];
	for (int i = 1; i < argc; i++)
		command[at++] = argv[i];
	path = find_compiler(&w, command[0]);
	/* GCC finds its parts, and runs itself, by this word, with PATH. */
	if (w.replaces || !getenv("PATH"))
		command[0] = path;
	execv(path, command);
	message("pcce-gcc", "cannot run '%s': %s; name a compiler with %s", path, strerror(errno),
		w.variable);
	return CANNOT_RUN;
}
