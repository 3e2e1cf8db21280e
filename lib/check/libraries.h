/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lists the ELF files of a program: the program and the libraries that it needs, or what a process
 * has mapped. */
#ifndef PCCE_CHECK_LIBRARIES_H
#define PCCE_CHECK_LIBRARIES_H

#include <sys/types.h>
#include "check/file.h"

struct check_entry {
	char *name; /* a path, or of a library that was not found its name */
	bool found;
	struct error error; /* found, but not readable: continues the name; else "" */
	struct check_file file;
};

struct check_list {
	struct check_entry *all; /* the program first */
	size_t n;
};

/* Finds libraries as the dynamic linker does, without running it. It does not know its cache, but
 * the folders that the cache is made of. 0, or -errno with a sentence. */
int check_libraries_of_file(const char *path, struct check_list *l, struct error *why);
int check_libraries_of_process(pid_t pid, struct check_list *l, struct error *why);
void check_list_free(struct check_list *l);

#endif
