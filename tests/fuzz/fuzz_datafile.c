/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fuzzes the reader of pcce.data and the code after it in pcce-report: tables, address spaces and
 * the decoder, on whatever the reader accepts.
 *
 * Checksums would stop the fuzzer.  Records of a possible size, and tables in them, therefore get
 * correct checksums first.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "recording/address_space.h"
#include "recording/reader.h"
#include "decode/decode.h"
#include "recording/stack_store.h"
#include "elf/encoding_table.h"

#define MODULES 64

struct state {
	struct encoding_table tables[MODULES];
	void *bytes[MODULES];
	bool open[MODULES];
	struct address_spaces *spaces;
	struct stack_store *segments;
	struct stack_store_flat stack;
	struct decode_context context;
};

static void seal(uint8_t *data, size_t size)
{
	size_t at = sizeof(struct pcce_file_header);

	while (at + sizeof(struct pcce_record) <= size) {
		struct pcce_record *rec = (struct pcce_record *)(data + at);

		if (rec->size < sizeof(*rec) || rec->size > size - at || rec->size % 8)
			break;
		if (rec->type == PCCE_REC_TABLE &&
		    rec->size >= sizeof(struct pcce_rec_table) + sizeof(struct pcce_table)) {
			struct pcce_table *t = (struct pcce_table *)((uint8_t *)rec +
								     sizeof(struct pcce_rec_table));

			t->crc = 0;
			t->crc = (uint32_t)crc32(0, (const Bytef *)t,
						 rec->size - (uInt)sizeof(struct pcce_rec_table));
		}
		rec->crc = 0;
		rec->crc = (uint32_t)crc32(0, (const Bytef *)rec, rec->size);
		at += rec->size;
	}
}

static const struct encoding_table *table_of(void *ctx, uint32_t module)
{
	struct state *s = ctx;

	return module < MODULES && s->open[module] ? &s->tables[module] : NULL;
}

static void take_table(struct state *s, const struct pcce_rec_table *rec)
{
	struct error why;
	const void *table;
	size_t size;

	if (rec->module >= MODULES || s->bytes[rec->module])
		return;
	table = datafile_table(rec, &size);
	s->bytes[rec->module] = malloc(size);
	memcpy(s->bytes[rec->module], table, size);
	s->open[rec->module] =
		!encoding_table_open(s->bytes[rec->module], size, &s->tables[rec->module], &why);
}

static void decode(struct state *s, const struct pcce_rec_sample *rec)
{
	uint32_t space = address_spaces_at(s->spaces, rec->sample.pid, rec->sample.time);
	const struct stack_node *below;

	if (!stack_store_take(s->segments, &rec->sample, &below) && space != UINT32_MAX)
		if (!stack_store_flatten(below, &rec->sample, &s->stack))
			decode_sample(address_spaces_get(s->spaces, space), &rec->sample,
				      s->stack.entries, s->stack.n, false, true, &s->context);
}

static void pass(struct state *s, const uint8_t *data, size_t size, bool samples)
{
	const struct pcce_record *rec;
	struct datafile_reader *r;
	struct error why;

	if (datafile_open_memory(data, size, "input", &r, &why))
		return;
	while (datafile_next(r, &rec) > 0) {
		if (samples && rec->type == PCCE_REC_SAMPLE)
			decode(s, (const struct pcce_rec_sample *)rec);
		else if (!samples && rec->type == PCCE_REC_TABLE)
			take_table(s, (const struct pcce_rec_table *)rec);
		else if (!samples && rec->type == PCCE_REC_PROCESS)
			address_spaces_add_process(s->spaces, (const struct pcce_rec_process *)rec);
		else if (!samples && rec->type == PCCE_REC_MAP)
			address_spaces_add_map(s->spaces, (const struct pcce_rec_map *)rec);
		(void)datafile_string(rec, 1);
	}
	datafile_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct state s = {0};
	int i;

	memcpy(copy, data, size);
	seal(copy, size);
	s.spaces = address_spaces_new(table_of, &s);
	s.segments = stack_store_new();
	pass(&s, copy, size, false);
	if (!address_spaces_finish(s.spaces))
		pass(&s, copy, size, true);
	address_spaces_free(s.spaces);
	decode_context_free(&s.context);
	stack_store_free(s.segments);
	free(s.stack.entries);
	for (i = 0; i < MODULES; i++) {
		if (s.open[i])
			encoding_table_close(&s.tables[i]);
		free(s.bytes[i]);
	}
	free(copy);
	return 0;
}
