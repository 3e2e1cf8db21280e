/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the cache of output texts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "format/text_cache.h"

void text_cache_init(struct text_cache *t, void (*make)(void *ctx, uint32_t number, FILE *out),
		     void *ctx)
{
	*t = (struct text_cache){.make = make, .ctx = ctx};
}

void text_cache_free(struct text_cache *t)
{
	for (size_t i = 0; i < t->capacity; i++)
		free(t->list[i].text);
	free(t->list);
	*t = (struct text_cache){0};
}

static int make_text(struct text_cache *t, uint32_t number)
{
	struct text *text;
	FILE *out;

	if (array_reach(&t->list, &t->capacity, number, 256, sizeof(*t->list)))
		return -ENOMEM;
	text = &t->list[number];
	out = open_memstream(&text->text, &text->size);
	if (!out)
		return -ENOMEM;
	t->make(t->ctx, number, out);
	if (!fclose(out))
		return 0;
	free(text->text);
	text->text = NULL;
	return -ENOMEM;
}

const char *text_cache_get(struct text_cache *t, uint32_t number, size_t *size)
{
	if ((number >= t->capacity || !t->list[number].text) && make_text(t, number))
		return NULL;
	*size = t->list[number].size;
	return t->list[number].text;
}

int text_cache_put(struct text_cache *t, uint32_t number, FILE *out)
{
	size_t size;
	const char *text = text_cache_get(t, number, &size);

	if (!text)
		return -ENOMEM;
	fwrite_unlocked(text, 1, size, out);
	return 0;
}
