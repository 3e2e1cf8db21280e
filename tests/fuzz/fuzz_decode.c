/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Captured contexts of libpcce-decode: a table and a state, both from the input, decoded as a state
 * and as a thread page.  The table's checksum is made right.
 *
 *   byte 0            number of entries
 *   bytes 1 .. 7      unused
 *   bytes 8 .. 39     ip, r11, id, ext
 *   then              entries, table
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <pcce/abi.h>
#include <pcce/decode.h>
#include <pcce/table.h>
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define START 0x400000

static volatile uint64_t sink;

static void use(const struct pcce_decode_context *c)
{
	struct pcce_decode_frame f;

	sink += pcce_decode_context_status(c) + pcce_decode_context_depth(c);
	for (size_t i = 0; !pcce_decode_context_frame(c, i, &f, sizeof(f)); i++) {
		sink += strlen(f.function) + strlen(f.module) + strlen(f.file) + f.line;
		if (f.span > i + 1)
			abort();
	}
}

static void *copy_of(const uint8_t *data, size_t size)
{
	struct pcce_table *copy = malloc(size + 1);

	memcpy(copy, data, size);
	if (size >= sizeof(*copy)) {
		copy->crc = 0;
		copy->crc = crc32_z(0, (const unsigned char *)copy,
				    copy->size <= size ? copy->size : size);
	}
	return copy;
}

static void decode(struct pcce_decode_process *p, const struct pcce_decode_state *state)
{
	const struct pcce_decode_context *c;
	struct pcce_page page = {
		.magic = PCCE_PAGE_MAGIC, .version = PCCE_PAGE_VERSION, .state = PCCE_STATE_LIVE};

	if (!pcce_decode_process_state(p, state, sizeof(*state), &c, NULL))
		use(c);
	page.id = state->id;
	page.ext = state->ext;
	page.off = (uint32_t)(state->n_entries % (PCCE_SEGMENT_ENTRIES + 1) * 16);
	page.place = (uint32_t)(state->n_entries / 64) << PCCE_PLACE_SHIFT;
	memcpy(page.entry, state->entries, page.off);
	if (!pcce_decode_process_page(p, &page, NULL, 0, state->ip, state->r11, &c, NULL))
		use(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcce_decode_process *p;
	struct pcce_entry entries[256];
	struct pcce_decode_state state = {.entries = entries};
	struct pcce_decode_module module = {
		.path = "exe", .start = START, .end = START + (1 << 24), .vaddr = 0};
	size_t at = 40;
	void *table;

	if (size < at || pcce_decode_process_new(0, &p, NULL))
		return 0;
	memcpy(&state.ip, data + 8, 8);
	memcpy(&state.r11, data + 16, 8);
	memcpy(&state.id, data + 24, 8);
	memcpy(&state.ext, data + 32, 8);
	state.n_entries = (size - at) / 16 < data[0] ? (size - at) / 16 : data[0];
	memcpy(entries, data + at, state.n_entries * 16);
	at += state.n_entries * 16;
	table = copy_of(data + at, size - at);
	module.table = table;
	module.table_size = size - at;
	if (pcce_decode_process_add(p, &module, sizeof(module), NULL) != 1)
		fuzz_refused("has no table");
	decode(p, &state);
	pcce_decode_process_free(p);
	free(table);
	return 0;
}
