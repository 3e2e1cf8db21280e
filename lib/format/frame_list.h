/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Texts with commas between, of which the last ones change: frames of one context after the other. */
#ifndef PCCE_FORMAT_FRAME_LIST_H
#define PCCE_FORMAT_FRAME_LIST_H

#include "format/text_cache.h"

struct listing {
	char *text;
	size_t size, capacity;
	size_t *end; /* of each item, in the text */
	size_t n, n_capacity;
};

void listing_free(struct listing *l);
/* Leaves the first n items, or all if there are fewer. */
void listing_cut(struct listing *l, size_t n);
/* 0 or -ENOMEM. */
int listing_add(struct listing *l, struct texts *texts, uint32_t number);
void listing_put(const struct listing *l, FILE *out);

#endif
