/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the numbering of strings with two growing arrays. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/string_index.h"

static int grow_index(uint32_t **list, size_t *capacity, size_t need)
{
	size_t want = *capacity ? *capacity : 1024;
	uint32_t *more;

	if (need < *capacity)
		return 0;
	while (want <= need)
		want *= 2;
	more = reallocarray(*list, want, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + *capacity, 0, (want - *capacity) * sizeof(*more));
	*list = more;
	*capacity = want;
	return 0;
}

int64_t string_index_number(struct string_index *u, uint32_t string)
{
	if (!string)
		return 0;
	if (string == UINT32_MAX || grow_index(&u->number, &u->capacity, string) ||
	    grow_index(&u->list, &u->list_capacity, u->n + 1))
		return -1;
	if (!u->number[string]) {
		u->list[++u->n] = string;
		u->number[string] = u->n;
	}
	return u->number[string];
}

void string_index_free(struct string_index *u)
{
	free(u->number);
	free(u->list);
	*u = (struct string_index){0};
}
