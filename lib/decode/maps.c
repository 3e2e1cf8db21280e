/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Looks up addresses in a sorted array of mappings, by binary search. */
#include "base/sorted.h"
#include "decode/maps.h"
#include "elf/encoding_table.h"

size_t decode_maps_behind(const struct decode_maps *m, uint64_t address)
{
	return SORTED_COUNT(i, m->n, m->list[i].end <= address);
}

static const struct decode_module *maps_find(const struct decode_space *as, uint64_t address)
{
	const struct decode_maps *m = (const struct decode_maps *)as;
	size_t i = decode_maps_behind(m, address);

	return i < m->n && m->list[i].start <= address ? &m->list[i] : NULL;
}

static const struct decode_module *maps_main(const struct decode_space *as)
{
	return ((const struct decode_maps *)as)->main;
}

static const struct decode_module *maps_number(const struct decode_space *as, size_t number)
{
	const struct decode_maps *m = (const struct decode_maps *)as;

	return number < m->n ? &m->list[number] : NULL;
}

void decode_maps_set(struct decode_maps *m, struct decode_module *list, size_t n)
{
	*m = (struct decode_maps){
		.as = {.find = maps_find, .main_module = maps_main, .mapping = maps_number},
		.list = list,
		.n = n,
	};
	for (size_t i = 0; i < n; i++) {
		if (list[i].main_executable && !m->main)
			m->main = &list[i];
		if (list[i].table && list[i].table->head->flags & PCCE_TABLE_MISSING)
			m->as.missing = true;
	}
}
