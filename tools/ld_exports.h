/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Keeps the runtime's names visible where a link would hide them. */
#ifndef PCCE_LD_EXPORTS_H
#define PCCE_LD_EXPORTS_H

#include <stdbool.h>
#include "tools/ld_args.h"

#define LD_EXPORTS_FILES 3

struct ld_exports {
	char **argv; /* to link with, ends with NULL; NULL: the arguments as they were given */
	int argc;
	int files[LD_EXPORTS_FILES]; /* descriptors that the linker reads */
	int n_files;
	char names[LD_EXPORTS_FILES][32];
	const char *originals[LD_EXPORTS_FILES]; /* the files whose places they take */
	char option[64];
};

/*
 * Changes arguments that would hide the runtime's names. What cannot be changed stays, and
 * pcce-encode finds that the names are hidden. objects: the linker must not see that the runtime is
 * in archives. Returns 0 or -ENOMEM.
 */
int ld_exports_make(const struct ld_args *args, char *linker, bool objects, struct ld_exports *out);
/* Names the original files in a list of dependencies that the linker has written (Makefile syntax).
 */
void ld_exports_fix_list(const struct ld_exports *e, const char *path);
void ld_exports_free(struct ld_exports *e);

#endif
