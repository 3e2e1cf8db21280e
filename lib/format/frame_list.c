/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the list of frame texts as one buffer with the end of each item. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "format/frame_list.h"

void frame_list_free(struct frame_list *l)
{
	free(l->text);
	free(l->end);
	*l = (struct frame_list){0};
}

void frame_list_cut(struct frame_list *l, size_t n)
{
	if (n >= l->n)
		return;
	l->n = n;
	l->size = n ? l->end[n - 1] : 0;
}

static int reserve_item(struct frame_list *l, size_t size)
{
	if (array_reserve(&l->text, &l->capacity, size, 1))
		return -ENOMEM;
	return array_grow_from(&l->end, l->n, &l->n_capacity, 256, sizeof(*l->end));
}

int frame_list_add(struct frame_list *l, struct text_cache *texts, uint32_t number)
{
	size_t size;
	const char *text = text_cache_get(texts, number, &size);

	if (!text || reserve_item(l, l->size + size + 1))
		return -ENOMEM;
	if (l->n)
		l->text[l->size++] = ',';
	memcpy(l->text + l->size, text, size);
	l->size += size;
	l->end[l->n++] = l->size;
	return 0;
}

void frame_list_put(const struct frame_list *l, FILE *out)
{
	if (l->size)
		fwrite_unlocked(l->text, 1, l->size, out);
}
