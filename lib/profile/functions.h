/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers the functions of a tree's nodes. Functions of one name in a module are distinct if the
 * compiler made code for each. Inlined code is one function by name, wherever it was inlined.
 */
#ifndef PCCE_PROFILE_FUNCTIONS_H
#define PCCE_PROFILE_FUNCTIONS_H

#include "profile/profile.h"

struct function {
	uint32_t name, file; /* strings of the names; file 0: unknown */
	uint32_t module;     /* UINT32_MAX: none */
	uint32_t func;	     /* of the module's table, or PCCE_NONE */
	uint8_t kind;	     /* enum decode_frame_kind */
	uint8_t flags;	     /* CCT_KERNEL */
};

struct functions {
	struct function *list;
	size_t n;
	uint32_t *of_node; /* number of each node's function; the root has none */
	struct functions_internals *in;
};

/* t: the tree of p, or another one of the same names. 0 or -ENOMEM. */
int functions_new(const struct profile *p, const struct cct *t, struct functions *f);
void functions_free(struct functions *f);

/* Returns the number of a pseudo function for a remark; UINT32_MAX: no memory. */
uint32_t functions_remark(struct functions *f, const char *text);

#endif
