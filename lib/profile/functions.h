/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions that the nodes of a tree stand for.  A function that was compiled as one is told
 * from others of its name in its module; what was inlined is one function by name, wherever it
 * was inlined.
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
	uint32_t *of_node;
	struct functions_internals *in;
};

/* 0 or -ENOMEM. */
int functions_new(const struct profile *p, const struct cct *t, struct functions *f);
void functions_free(struct functions *f);

/* A function that is none, for a remark; UINT32_MAX: no memory. */
uint32_t functions_remark(struct functions *f, const char *text);

#endif
