/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The modules whose contexts are selected, and the parts of an expression in them. */
#ifndef PCCE_API_SET_MODULES_H
#define PCCE_API_SET_MODULES_H

#include <pcce/dictionary.h>
#include "api/expression.h"
#include "elf/encoding_table.h"

struct set_module {
	void *data; /* of the table */
	struct encoding_table table;
	struct pcce_name name;
	uint8_t *parts;	     /* of each function: those that it matches */
	bool *special;	     /* of each function, see context_set.h of include/pcce */
	uint32_t first_func; /* functions of all modules have one numbering */
};

struct set_modules {
	struct set_module *all;
	size_t n;
	uint32_t n_funcs;
};

/* Reads the encoding tables of n files, and finds the functions of the expression. Each part must
 * be in one of them. 0, or -errno with a sentence in why. */
int set_modules_read(struct set_modules *m, const struct expression *e, const char *const *files,
		     size_t n, struct error *why);
void set_modules_free(struct set_modules *m);

/* The frames of a call of `from` that reached `to` by tail calls, without `to`: a matrix. */
uint64_t set_tail_step(const struct expression *e, const struct set_module *m, uint32_t from,
		       uint32_t to);

static inline const char *set_module_symbol(const struct set_module *m, uint32_t func)
{
	return encoding_table_string(&m->table, m->table.funcs[func].name);
}

#endif
