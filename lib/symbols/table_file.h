/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decides whether a file is instrumented and encoded, and finds the file with its table. */
#ifndef PCCE_SYMBOLS_TABLE_FILE_H
#define PCCE_SYMBOLS_TABLE_FILE_H

#include "elf/module.h"

enum table_state {
	TABLE_NONE,	   /* not instrumented, as far as the file says */
	TABLE_NOT_ENCODED, /* instrumented, and pcce-encode has not seen it */
	TABLE_STRIPPED,	   /* encoded, and nobody has the table */
	TABLE_FOUND,
};

struct table_file {
	enum table_state state;
	struct elf_section section; /* TABLE_FOUND: of the table, in fd */
	int fd;			    /* the file itself or its debug file */
	bool separate;		    /* it is the debug file */
};

/* fd has the module open, and must stay open while *out is used. */
void table_file_find(int fd, const struct elf_module *m, struct table_file *out);
void table_file_close(struct table_file *f);

/* For messages: a fragment that continues the file's name, and what to do, with a semicolon before
 * it; "": nothing. */
const char *table_state_text(enum table_state state);
const char *table_state_remedy(enum table_state state);

#endif
