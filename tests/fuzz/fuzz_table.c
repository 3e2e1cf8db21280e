/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fuzzes the encoding table's reader: opening, then every request of a decoder.  The first byte
 * says whether to correct the checksum, which a fuzzer would not find. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "elf/encoding_table.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void look_up(const struct encoding_table *t, uint64_t vaddr)
{
	const struct pcce_table_helper *h = encoding_table_helper_at(t, vaddr);

	sink += encoding_table_func_at(t, vaddr) + encoding_table_site_by_key(t, vaddr) +
		encoding_table_site_around(t, vaddr) + (h ? h->state : 0);
}

static void use(const struct encoding_table *t)
{
	uint32_t path[8];

	for (uint64_t i = 0; i < t->head->sites.count; i++) {
		const struct pcce_table_site *s = &t->sites[i];

		look_up(t, s->key - s->before);
		look_up(t, s->key);
		look_up(t, s->key + s->ret + s->after_len);
		sink += strlen(encoding_table_string(t, s->callee_name));
		if (encoding_table_landing(t, i) != PCCE_NONE)
			sink += t->sites[encoding_table_landing(t, i)].key;
	}
	for (uint64_t i = 0; i < t->head->funcs.count; i++) {
		const struct pcce_table_func *f = &t->funcs[i];
		uint64_t ids[] = {0, 1, f->num_cc - 1, f->num_cc};

		look_up(t, f->addr);
		sink += strlen(encoding_table_string(t, f->name));
		sink += encoding_table_tail_path(t, i, (i * 7 + 1) % t->head->funcs.count, path, 8);
		for (int k = 0; k < 4; k++) {
			uint32_t func = i, edge;
			uint64_t id = ids[k];

			/* Edges have no cycle, so this ends; else the fuzzer reports it. */
			while ((edge = encoding_table_in_edge(t, func, id)) != PCCE_NONE &&
			       t->edges[edge].site != PCCE_NONE) {
				id -= t->edges[edge].value;
				func = t->sites[t->edges[edge].site].func;
			}
		}
	}
	look_up(t, 0);
	look_up(t, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcce_table *copy;
	struct encoding_table t;
	struct error why;
	bool fix = size && *data & 1;

	if (!size)
		return 0;
	data++;
	size--;
	copy = malloc(size ? size : 1);
	memcpy(copy, data, size);
	if (fix && size >= sizeof(*copy)) {
		copy->crc = 0;
		copy->crc = crc32_z(0, (const unsigned char *)copy,
				    copy->size <= size ? copy->size : size);
	}
	if (encoding_table_open(copy, size, &t, &why)) {
		fuzz_refused(why.text);
	} else {
		use(&t);
		encoding_table_close(&t);
	}
	free(copy);
	return 0;
}
