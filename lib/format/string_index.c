/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the numbering of strings with two growing arrays. */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "format/string_index.h"

int64_t string_index_number(struct string_index *u, uint32_t string)
{
	if (!string)
		return 0;
	if (string == UINT32_MAX || array_reach(&u->number, &u->capacity, string, 1024, 4) ||
	    array_reach(&u->list, &u->list_capacity, u->n + 1, 1024, 4))
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
