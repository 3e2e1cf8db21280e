/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Instructions at which samples were taken: what the decoder has to know about each, looked
 * up once.
 */
#ifndef PCCE_PROFILE_SAMPLE_POINTS_H
#define PCCE_PROFILE_SAMPLE_POINTS_H

#include <stdbool.h>
#include "recording/address_space.h"
#include "tree/builder.h"

enum point_kind {
	POINT_EXACT,   /* the instruction matters: it is in a slot, an entry or a helper */
	POINT_PLAIN,   /* instrumented code outside slots: only the function matters */
	POINT_FOREIGN, /* code that is not instrumented: where in it does not matter */
};

struct point {
	uint64_t ip;
	uint64_t bias; /* run-time minus link-time address */
	uint32_t space;
	uint32_t func; /* PLAIN, else PCCE_NONE */
	uint32_t module;
	uint32_t place; /* number */
	uint8_t kind;	/* enum point_kind */
	bool needs_r11;
};

struct points;

struct points *points_new(struct spaces *spaces);
void points_free(struct points *p);

/* Valid until the next call; NULL: no memory. */
const struct point *points_at(struct points *p, uint32_t space, uint64_t ip);

/* Places by number; equal ones have equal numbers. UINT32_MAX: no memory. */
uint32_t points_number(struct points *p, struct place place);
struct place points_place(const struct points *p, uint32_t number);
/* All places, for the caller to free. */
struct place *points_take_places(struct points *p, size_t *n);

#endif
