/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds the program for which a wrapper of the same name stands. Two wrappers may be in one list of
 * directories, and each would run the other for ever. So an environment variable lists the programs
 * that wait for this one, and no wrapper runs these again. */
#ifndef PCCE_BASE_NEXT_PROGRAM_H
#define PCCE_BASE_NEXT_PROGRAM_H

#include <stdbool.h>
#include <sys/stat.h>

bool same_file(const struct stat *a, const struct stat *b);
/* Adds a program to those that `variable` lists. Returns 0 or -ENOMEM. */
int next_program_wait(const char *variable, const struct stat *program);
/* Returns the first program of this name in a list of directories that `variable` does not list,
 * malloc'ed, or NULL. path: NULL is an empty list. */
char *next_program_find(const char *variable, const char *path, const char *name);

#endif
