/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the linker wrapper needs to know of a linker's command line. */
#ifndef PCCE_LD_ARGS_H
#define PCCE_LD_ARGS_H

#include <stdbool.h>

struct ld_args {
	char *output;	  /* malloc'ed */
	bool relocatable; /* -r and its like: the result is an object file */
	bool gc_sections;
};

/* 0 or -ENOMEM. Response files (@file) are read; one that cannot be read is left to the linker's
 * complaint. */
int ld_args_parse(int argc, char *const *argv, struct ld_args *out);
void ld_args_free(struct ld_args *a);

#endif
