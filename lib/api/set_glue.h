/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What lies between a call that pushed and the special function where the next segment begins. */
#ifndef PCCE_API_SET_GLUE_H
#define PCCE_API_SET_GLUE_H

#include "api/set_modules.h"

struct set_glue {
	struct pcce_set_glue *all;
	size_t n;
	const char **names; /* sorted: those of callees outside a module that matter */
	size_t n_names;
	const char **leavers; /* sorted: those of functions that leave their module by tail calls */
	size_t n_leavers;
};

/* 0 or -ENOMEM. */
int set_glue_make(struct set_glue *g, const struct expression *e, const struct set_modules *m);
void set_glue_free(struct set_glue *g);
/* What a place says of the callee of its site: pcce_set_place.callee. */
uint32_t set_glue_callee(const struct set_glue *g, const struct set_module *m,
			 const struct pcce_table_site *s);

#endif
