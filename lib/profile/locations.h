/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Converts the tree to the form of other tools' profiles: functions, and locations in them. A
 * location belongs to one frame of the real stack: an instruction, and the functions inlined there,
 * each with its line. The nodes that are inlined into one frame are one location.
 */
#ifndef PCCE_PROFILE_LOCATIONS_H
#define PCCE_PROFILE_LOCATIONS_H

#include <stdint.h>
#include "profile/profile.h"

#define LOCATION_NONE UINT32_MAX

struct location_function {
	uint32_t name, file; /* strings of the names; file: 0 if unknown */
	uint32_t module;     /* UINT32_MAX: none */
	uint32_t func;	     /* of the module's table, or PCCE_NONE */
	uint8_t kind;	     /* enum decode_frame_kind */
	uint8_t flags;	     /* CCT_* */
};

struct location_line {
	uint32_t function; /* index into functions */
	uint32_t line;	   /* 0: unknown */
};

struct location {
	struct tree_place place; /* vaddr 0: unknown */
	uint32_t first, n;	 /* lines[first .. first + n), innermost first: all but the last are
				    inlined */
};

struct locations {
	struct location_function *functions;
	size_t n_functions;
	struct location_line *lines;
	size_t n_lines;
	struct location *list;
	size_t n;
	uint32_t *caller; /* by node: the location from which it is called; LOCATION_NONE: none, or
			     it is inlined */
	struct locations_internals *in;
};

/* 0 or -ENOMEM. */
int locations_new(const struct profile *p, struct locations *l);
void locations_free(struct locations *l);

/* Returns the location of the innermost frame of a context that ends at place in node;
 * LOCATION_NONE: no memory. */
uint32_t locations_leaf(struct locations *l, uint32_t node, struct tree_place place);
/* Returns a location of a pseudo function for a remark; LOCATION_NONE: no memory. */
uint32_t locations_remark(struct locations *l, const char *text);

/* Returns the function's name for the linker, "" if that is not known. (pprof would demangle an
 * ordinary name in its place: it removes parameters, and takes different functions for one.) */
const char *locations_system_name(const struct locations *l, uint32_t function);

#endif
