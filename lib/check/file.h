/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds out what pcce knows of one ELF file: whether it is instrumented, and by what. */
#ifndef PCCE_CHECK_FILE_H
#define PCCE_CHECK_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

enum check_state {
	CHECK_PLAIN,	   /* not compiled with the plugin */
	CHECK_NOT_ENCODED, /* compiled with the plugin, but pcce-encode has not seen it */
	CHECK_STRIPPED,	   /* encoded, but nobody has its encoding table */
	CHECK_UNUSABLE,	   /* its encoding table cannot be read */
	CHECK_HIDDEN,	   /* a program whose contexts are undecodable: PCCE_TABLE_HIDDEN */
	CHECK_ENCODED,
};

struct check_file {
	enum check_state state;
	struct error
		unusable; /* CHECK_UNUSABLE: a fragment that continues "an encoding table that" */
	bool program;	  /* not a library */
	const char *privilege;	    /* as privilege_of_program() returns it */
	bool lines;		    /* it has source lines */
	bool link;		    /* it names a file that has them */
	char compilers[256];	    /* as .comment has them, separated by ", "; "": unknown */
	unsigned int sites_version; /* of the plugin's records; 0: unknown */
	unsigned int table_version;
	uint64_t functions, sites;
	char **needed;	/* names of libraries that it needs itself */
	char *run_path; /* where it looks for them first; NULL: nowhere else */
	size_t n_needed;
};

/* Reads the file that fd has open. 0, or -errno with a fragment that continues the file's name. */
int check_file_read(int fd, struct check_file *f, struct error *why);
void check_file_free(struct check_file *f);

#endif
