/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Caches pieces of output in an array indexed by number. Each piece is made once, at its first use.
 */
#ifndef PCCE_FORMAT_TEXT_CACHE_H
#define PCCE_FORMAT_TEXT_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct text_cache {
	void (*make)(void *ctx, uint32_t number, FILE *out);
	void *ctx;
	struct text {
		char *text; /* NULL: not made yet */
		size_t size;
	} * list;
	size_t capacity;
};

void text_cache_init(struct text_cache *t, void (*make)(void *ctx, uint32_t number, FILE *out),
		     void *ctx);
void text_cache_free(struct text_cache *t);

/* Writes the text with a number. 0 or -ENOMEM. */
int text_cache_put(struct text_cache *t, uint32_t number, FILE *out);
/* Returns the text with a number; NULL: no memory. */
const char *text_cache_get(struct text_cache *t, uint32_t number, size_t *size);

#endif
