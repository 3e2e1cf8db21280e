/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Keeps a list of texts with commas between them, of which the last ones can be replaced: the
 * frames of one context after another. */
#ifndef PCCE_FORMAT_FRAME_LIST_H
#define PCCE_FORMAT_FRAME_LIST_H

#include "format/text_cache.h"

struct frame_list {
	char *text;
	size_t size, capacity;
	size_t *end; /* end of each item in the text */
	size_t n, n_capacity;
};

void frame_list_free(struct frame_list *l);
/* Leaves the first n items, or all if there are fewer. */
void frame_list_cut(struct frame_list *l, size_t n);
/* 0 or -ENOMEM. */
int frame_list_add(struct frame_list *l, struct text_cache *texts, uint32_t number);
void frame_list_put(const struct frame_list *l, FILE *out);

#endif
