/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads from a linker's command line what the linker wrapper needs. */
#ifndef PCCE_LD_ARGS_H
#define PCCE_LD_ARGS_H

#include <stdbool.h>
#include <stddef.h>

struct ld_args {
	char *output;	  /* malloc'ed */
	bool relocatable; /* -r and the like: the result is an object file */
	bool shared;
	bool gc_sections;
	bool exclude_libs; /* symbols of at least one archive are hidden */
	bool has_script;   /* a version script */
	size_t script;	   /* index into all: the first script, or the option with its name */
	char *depend;	   /* --dependency-file: malloc'ed, or NULL */
	char **all;	   /* the arguments, with those of response files in place of their names */
	bool changed;	   /* all is not what the linker was given */
	size_t n;
};

/* Returns 0 or -ENOMEM. Reads response files (@file) and skips those that cannot be read, of which
 * the linker complains. */
int ld_args_parse(int argc, char *const *argv, struct ld_args *out);
void ld_args_free(struct ld_args *a);

#endif
