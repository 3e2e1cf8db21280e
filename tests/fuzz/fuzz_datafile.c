/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fuzzes the loader of recordings, and the address spaces, tables and decoder behind it.
 *
 * Random inputs would fail their checksums. So the harness first corrects the checksums of records
 * with a possible size, and of the tables in them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "decode/decode.h"
#include "stream/recording.h"
#include "tests/fuzz/fuzz.h"

struct state {
	struct recording *recording;
	struct stack_store *stacks;
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

static int decode(void *ctx, const struct stream_event *of)
{
	struct state *s = ctx;
	struct address_spaces *spaces = s->recording->spaces;
	uint32_t space = address_spaces_at(spaces, of->sample->pid, of->sample->time);

	if (space == UINT32_MAX || stack_store_flatten(of->below, of->sample, &s->stack))
		return -ENOMEM;
	return decode_sample(address_spaces_get(spaces, space), of->sample, s->stack.entries,
			     s->stack.n, false, true, &s->context);
}

static int read_strings(struct stream *s, uint32_t type, const void *rec, size_t size,
			const char *const *strings, int n_strings)
{
	(void)s;
	(void)type;
	(void)rec;
	(void)size;
	for (int i = 0; i < n_strings; i++)
		(void)strlen(strings[i]);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct stream_ops ops = {.record = read_strings};
	struct stream to = {&ops, NULL};
	uint8_t *copy = malloc(size ? size : 1);
	struct state s = {0};
	struct error why;

	memcpy(copy, data, size);
	seal(copy, size);
	s.stacks = stack_store_new();
	if (recording_open_memory(copy, size, "input", &to, &s.recording, &why) ||
	    recording_samples(s.recording, NULL, s.stacks, decode, &s, &why))
		fuzz_refused(why.text);
	recording_close(s.recording);
	decode_context_free(&s.context);
	stack_store_free(s.stacks);
	free(s.stack.entries);
	free(copy);
	return 0;
}
