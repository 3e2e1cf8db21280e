/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See address_list.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "symbols/address_list.h"

void address_list_sort(struct address_list *l)
{
	size_t kept = 0;

	if (l->n)
		qsort(l->all, l->n, sizeof(*l->all), compare_u64);
	for (size_t i = 0; i < l->n; i++)
		if (!kept || l->all[kept - 1] != l->all[i])
			l->all[kept++] = l->all[i];
	l->n = kept;
}

int address_list_add(struct address_list *l, uint64_t address)
{
	uint64_t *recent = &l->recent[address * 0x9e3779b97f4a7c15ull >> 54];

	if (*recent == address + 1)
		return 0;
	/* Many of the others are duplicates, too: removes them before it asks for more memory. */
	if (l->n == l->capacity) {
		size_t want = l->capacity ? l->capacity * 4 : 1024;
		uint64_t *more;

		address_list_sort(l);
		if (l->n * 2 >= l->capacity) {
			more = reallocarray(l->all, want, sizeof(*more));
			if (!more)
				return -ENOMEM;
			l->all = more;
			l->capacity = want;
		}
	}
	l->all[l->n++] = address;
	*recent = address + 1;
	return 0;
}

void address_list_free(struct address_list *l)
{
	free(l->all);
	*l = (struct address_list){0};
}
