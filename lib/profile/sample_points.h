/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Caches what the decoder must know about each sampled instruction, and numbers places.
 */
#ifndef PCCE_PROFILE_SAMPLE_POINTS_H
#define PCCE_PROFILE_SAMPLE_POINTS_H

#include <stdbool.h>
#include "stream/address_space.h"
#include "tree/builder.h"

enum sample_point_kind {
	SAMPLE_POINT_EXACT,   /* the instruction matters: it is in a slot, an entry or a helper */
	SAMPLE_POINT_PLAIN,   /* instrumented code outside slots: only the function matters */
	SAMPLE_POINT_FOREIGN, /* uninstrumented code: the instruction does not matter */
};

struct sample_point {
	uint64_t ip;
	uint64_t bias; /* run-time minus link-time address */
	uint32_t space;
	uint32_t func; /* PLAIN, else PCCE_NONE */
	uint32_t module;
	uint32_t place; /* number */
	uint8_t kind;	/* enum sample_point_kind */
	bool needs_r11;
};

struct sample_points;

struct sample_points *sample_points_new(struct address_spaces *spaces);
void sample_points_free(struct sample_points *p);

/* Returns the point of an instruction, valid until the next call. NULL: no memory. */
const struct sample_point *sample_points_at(struct sample_points *p, uint32_t space, uint64_t ip);

/* Returns the number of a place; equal places have equal numbers. UINT32_MAX: no memory. */
uint32_t sample_points_number(struct sample_points *p, struct tree_place place);
struct tree_place sample_points_place(const struct sample_points *p, uint32_t number);
/* Returns all places, until the next one is added. */
struct tree_place *sample_points_places(const struct sample_points *p);
/* Returns all places, for the caller to free, and their number in *n. */
struct tree_place *sample_points_take_places(struct sample_points *p, size_t *n);

#endif
