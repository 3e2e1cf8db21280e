/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See texts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/texts.h"

void texts_init(struct texts *t, void (*make)(void *ctx, uint32_t number, FILE *out), void *ctx)
{
	*t = (struct texts){.make = make, .ctx = ctx};
}

void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->capacity; i++)
		free(t->list[i].text);
	free(t->list);
	*t = (struct texts){0};
}

static int make(struct texts *t, uint32_t number)
{
	struct text *text;
	FILE *out;

	if (number >= t->capacity) {
		size_t want = ((size_t)number + 1) * 2;
		struct text *more = reallocarray(t->list, want, sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + t->capacity, 0, (want - t->capacity) * sizeof(*more));
		t->list = more;
		t->capacity = want;
	}
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

int texts_put(struct texts *t, uint32_t number, FILE *out)
{
	if ((number >= t->capacity || !t->list[number].text) && make(t, number))
		return -ENOMEM;
	fwrite_unlocked(t->list[number].text, 1, t->list[number].size, out);
	return 0;
}
