/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See frame_list.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/frame_list.h"

void listing_free(struct listing *l)
{
	free(l->text);
	free(l->end);
	*l = (struct listing){0};
}

void listing_cut(struct listing *l, size_t n)
{
	if (n >= l->n)
		return;
	l->n = n;
	l->size = n ? l->end[n - 1] : 0;
}

static int reserve(struct listing *l, size_t size)
{
	if (size > l->capacity) {
		char *more = realloc(l->text, size * 2);

		if (!more)
			return -ENOMEM;
		l->text = more;
		l->capacity = size * 2;
	}
	if (l->n == l->n_capacity) {
		size_t want = l->n_capacity ? l->n_capacity * 2 : 256;
		size_t *more = reallocarray(l->end, want, sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->end = more;
		l->n_capacity = want;
	}
	return 0;
}

int listing_add(struct listing *l, struct texts *texts, uint32_t number)
{
	size_t size;
	const char *text = texts_get(texts, number, &size);

	if (!text || reserve(l, l->size + size + 1))
		return -ENOMEM;
	if (l->n)
		l->text[l->size++] = ',';
	memcpy(l->text + l->size, text, size);
	l->size += size;
	l->end[l->n++] = l->size;
	return 0;
}

void listing_put(const struct listing *l, FILE *out)
{
	fwrite_unlocked(l->text, 1, l->size, out);
}
