/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * damage GOOD DIRECTORY
 *
 * Writes damaged copies of a good recording, which is not packed.
 *
 * Each case is a line of the table below and becomes DIRECTORY/NAME.data.  Standard output gets the
 * case's name and what a reader must do: "error" (one sentence, non-zero exit), "cut" (succeed,
 * and report the incomplete end) or "good" (read what the good recording has).  If the
 * case says so, the checksum is corrected, so that the intended check meets the damage.
 */
#include <errno.h>
#include <pcce/duration.h>

#include "tests/datafile/damage.h"

CASE(empty_file)
{
	cut_to(f, 0);
}
CASE(one_byte)
{
	cut_to(f, 1);
}
CASE(half_magic)
{
	cut_to(f, 4);
}
CASE(half_header)
{
	cut_to(f, 20);
}
CASE(header_less_one)
{
	cut_to(f, sizeof(struct pcce_file_header) - 1);
}
CASE(wrong_magic)
{
	header(f)->magic ^= 1;
}
CASE(swapped_magic)
{
	header(f)->magic = __builtin_bswap64(header(f)->magic);
}
CASE(newer_version)
{
	header(f)->version++;
}
CASE(version_zero)
{
	header(f)->version = 0;
}
CASE(wrong_byte_order)
{
	header(f)->byte_order = 0x04030201;
}
CASE(unknown_feature)
{
	header(f)->features = 1ULL << 40;
}
CASE(header_size_small)
{
	header(f)->header_size = 8;
}
CASE(header_size_odd)
{
	header(f)->header_size = 33;
}
CASE(header_size_huge)
{
	header(f)->header_size = 0xfffffff8;
}
CASE(perf_data)
{
	memcpy(f->bytes, "PERFILE2", 8);
}
CASE(elf_file)
{
	memcpy(f->bytes, "\177ELF\2\1\1", 8);
}
CASE(text_file)
{
	memset(f->bytes, 'x', f->size);
}
CASE(wrong_crc)
{
	record_at(f, FIRST(SAMPLE))->crc ^= 1;
}
CASE(flipped_bit)
{
	f->bytes[FIRST(SAMPLE) + 40] ^= 4;
}
CASE(flipped_bit_in_table)
{
	f->bytes[FIRST(TABLE) + 300] ^= 4;
}
CASE(size_zero)
{
	record_at(f, FIRST(SAMPLE))->size = 0;
}
CASE(size_below_header)
{
	record_at(f, FIRST(SAMPLE))->size = 8;
}
CASE(size_not_multiple)
{
	record_at(f, FIRST(SAMPLE))->size += 4;
}
CASE(size_huge)
{
	record_at(f, FIRST(SAMPLE))->size = 0xfffffff8;
}
CASE(size_beyond_type)
{
	record_at(f, FIRST(MAP))->size += 8;
}
CASE(size_less_than_struct)
{
	record_at(f, FIRST(MAP))->size -= 8;
}
CASE(unknown_type_huge)
{
	record_at(f, FIRST(SAMPLE))->type = 77, record_at(f, FIRST(PROCESS))->size = 0x20000000;
}
CASE(no_info)
{
	cut_out(f, sizeof(struct pcce_file_header),
		record_at(f, sizeof(struct pcce_file_header))->size);
}
CASE(second_info)
{
	size_t at = FIRST(INFO), size = record_at(f, at)->size;
	void *copy = malloc(size);

	memcpy(copy, f->bytes + at, size);
	put_in(f, at + size, copy, size);
	free(copy);
}
CASE(string_without_end)
{
	size_t at = FIRST(PROCESS), size = record_at(f, at)->size, i;

	for (i = sizeof(struct pcce_rec_process); i < size; i++)
		f->bytes[at + i] = 'x';
	reseal(f, at);
}
CASE(one_string_missing)
{
	size_t at = FIRST(INFO), i;

	/* The last of its strings loses its end. */
	for (i = record_at(f, at)->size; i-- > sizeof(struct pcce_rec_info);)
		if (f->bytes[at + i])
			break;
	for (i++; i < record_at(f, at)->size; i++)
		f->bytes[at + i] = 'x';
	reseal(f, at);
}
CASE(garbage_after_string)
{
	size_t at = FIRST(MODULE), size = record_at(f, at)->size;
	static const uint8_t more[8];

	put_in(f, at + size, more, 8);
	record_at(f, at)->size += 8;
	f->bytes[at + size + 7] = 1;
	reseal(f, at);
}
CASE(module_out_of_order)
{
	REC(module, FIRST(MODULE))->module = 5, reseal(f, FIRST(MODULE));
}
CASE(module_build_id_size)
{
	REC(module, FIRST(MODULE))->build_id_size = 33, reseal(f, FIRST(MODULE));
}
CASE(map_without_module)
{
	REC(map, FIRST(MAP))->module = 1000, reseal(f, FIRST(MAP));
}
CASE(map_overflows)
{
	REC(map, FIRST(MAP))->length = ~0ULL, reseal(f, FIRST(MAP));
}
CASE(table_without_module)
{
	REC(table, FIRST(TABLE))->module = 1000, reseal(f, FIRST(TABLE));
}
CASE(table_of_no_module)
{
	REC(table, FIRST(TABLE))->module = PCCE_MODULE_NONE, reseal(f, FIRST(TABLE));
}
CASE(symbol_without_module)
{
	REC(symbol, FIRST(SYMBOL))->module = 1000, reseal(f, FIRST(SYMBOL));
}
CASE(symbol_string)
{
	memset(f->bytes + FIRST(SYMBOL) + sizeof(struct pcce_rec_symbol), 'x',
	       record_at(f, FIRST(SYMBOL))->size - sizeof(struct pcce_rec_symbol)),
		reseal(f, FIRST(SYMBOL));
}
CASE(sample_entries_more)
{
	REC(sample, FIRST(SAMPLE))->sample.n_entries += 1, reseal(f, FIRST(SAMPLE));
}
CASE(sample_entries_huge)
{
	REC(sample, FIRST(SAMPLE))->sample.n_entries = 0x10000001, reseal(f, FIRST(SAMPLE));
}
CASE(sample_below_less)
{
	struct pcce_sample *s = &REC(sample, FIRST(SAMPLE))->sample;

	s->n_below = 0;
	s->below = 5;
	reseal(f, FIRST(SAMPLE));
}
CASE(sample_segments_more)
{
	REC(sample, FIRST(SAMPLE))->sample.n_segments = 0xffffffff, reseal(f, FIRST(SAMPLE));
}
CASE(sample_stack_unsaid)
{
	struct pcce_sample *s = &REC(sample, FIRST(SAMPLE))->sample;

	s->flags &= ~PCCE_SAMPLE_STACK;
	s->n_stack = 1;
	reseal(f, FIRST(SAMPLE));
}
CASE(sample_stack_huge)
{
	struct pcce_sample *s = &REC(sample, FIRST(SAMPLE))->sample;

	s->flags |= PCCE_SAMPLE_STACK;
	s->n_stack = 0x20000000;
	reseal(f, FIRST(SAMPLE));
}
/* Puts a kernel stack before the first sample. */
static void put_kernel_stack(struct file *f, uint32_t number, uint32_t n, uint32_t frames)
{
	struct {
		struct pcce_rec_kernel_stack rec;
		uint64_t frames[PCCE_KERNEL_FRAMES + 1];
	} k = {.rec = {.number = number, .n = n}};
	size_t at = FIRST(SAMPLE);

	k.rec.rec.type = PCCE_REC_KERNEL_STACK;
	k.rec.rec.size = (uint32_t)(sizeof(k.rec) + frames * sizeof(uint64_t));
	put_in(f, at, &k, k.rec.rec.size);
	reseal(f, at);
}

CASE(kernel_stack_out_of_order)
{
	put_kernel_stack(f, 1, 2, 2);
}
CASE(kernel_stack_more_frames)
{
	put_kernel_stack(f, 0, 3, 2);
}
CASE(kernel_stack_huge)
{
	put_kernel_stack(f, 0, 0x20000001, 1);
}
CASE(kernel_stack_too_many_frames)
{
	put_kernel_stack(f, 0, PCCE_KERNEL_FRAMES + 1, PCCE_KERNEL_FRAMES + 1);
}
CASE(kernel_stack_empty)
{
	put_kernel_stack(f, 0, 0, 0);
}
CASE(kernel_stack_missing)
{
	struct pcce_sample *s;

	put_kernel_stack(f, 0, 2, 2);
	s = &REC(sample, FIRST(SAMPLE))->sample;
	s->flags |= PCCE_SAMPLE_KERNEL | PCCE_SAMPLE_KERNEL_STACK;
	s->kip = 1;
	reseal(f, FIRST(SAMPLE));
}
CASE(wait_with_unknown_end)
{
	struct pcce_rec_wait w = {.rec = {.type = PCCE_REC_WAIT, .size = sizeof(w)},
				  .wait = {.end = PCCE_ENDED_MAX + 1}};
	size_t at = FIRST(SAMPLE);

	put_in(f, at, &w, sizeof(w));
	reseal(f, at);
}

/* Puts durations with two buckets before the first sample. */
static void put_durations(struct file *f, uint64_t ended, uint32_t n, uint32_t first,
			  uint32_t second)
{
	struct {
		struct pcce_rec_durations rec;
		struct pcce_duration_count of[2];
	} d = {.rec = {.durations = {.ended = ended, .n = n}},
	       .of = {{.bucket = first, .count = 3}, {.bucket = second, .count = 4}}};
	size_t at = FIRST(SAMPLE);

	d.rec.rec.type = PCCE_REC_DURATIONS;
	d.rec.rec.size = sizeof(d);
	put_in(f, at, &d, sizeof(d));
	reseal(f, at);
}

CASE(durations_more_buckets)
{
	put_durations(f, 7, 3, 8, 9);
}
CASE(durations_huge)
{
	put_durations(f, 7, 0x10000002, 8, 9);
}
CASE(durations_out_of_order)
{
	put_durations(f, 7, 2, 9, 8);
}
CASE(durations_unknown_bucket)
{
	put_durations(f, 7, 2, 8, PCCE_DURATION_BUCKETS);
}
CASE(durations_that_do_not_add_up)
{
	put_durations(f, 8, 2, 8, 9);
}
/* Puts a set of labels, "k" and "v", before the first sample, which has the set `of`. */
static void put_labels(struct file *f, struct pcce_rec_labels fields, const char text[8],
		       uint32_t of)
{
	struct {
		struct pcce_rec_labels rec;
		char text[8];
	} l = {.rec = fields};
	struct pcce_rec_labeled labeled = {
		.rec = {.type = PCCE_REC_LABELED, .size = sizeof(labeled)}, .number = of};
	size_t at = FIRST(SAMPLE);

	l.rec.rec.type = PCCE_REC_LABELS;
	l.rec.rec.size = sizeof(l);
	memcpy(l.text, text, sizeof(l.text));
	put_in(f, at, &labeled, sizeof(labeled));
	reseal(f, at);
	put_in(f, at, &l, sizeof(l));
	reseal(f, at);
}

#define LABELS(...) ((struct pcce_rec_labels){.n = 1, .bytes = 4, __VA_ARGS__})

CASE(labels_out_of_order)
{
	put_labels(f, LABELS(.number = 1), "k\0v\0\0\0\0", 0);
}
CASE(labels_more_bytes)
{
	put_labels(f, LABELS(.number = 0, .bytes = 12), "k\0v\0\0\0\0", 0);
}
CASE(labels_bytes_huge)
{
	put_labels(f, LABELS(.number = 0, .bytes = 0xfffffffc), "k\0v\0\0\0\0", 0);
}
CASE(labels_more)
{
	put_labels(f, LABELS(.number = 0, .n = 2), "k\0v\0\0\0\0", 0);
}
CASE(labels_without_end)
{
	put_labels(f, LABELS(.number = 0, .bytes = 5), "k\0v\0x\0\0", 0);
}
CASE(labels_missing)
{
	put_labels(f, LABELS(.number = 0), "k\0v\0\0\0\0", 1);
}
CASE(after_the_end)
{
	size_t at = FIRST(INFO), size = record_at(f, at)->size;
	void *copy = malloc(size);

	memcpy(copy, f->bytes + at, size);
	put_in(f, f->size, copy, size);
	free(copy);
}
CASE(record_taken_out_halfway)
{
	cut_out(f, FIRST(SAMPLE) + 24, 8);
}
CASE(bytes_put_in)
{
	put_in(f, FIRST(SAMPLE), "garbage", 8);
}
CASE(zeros_in_the_middle)
{
	memset(f->bytes + FIRST(SAMPLE), 0, 64);
}

CASE(cut_after_header)
{
	cut_to(f, sizeof(struct pcce_file_header) + 8);
}
CASE(cut_in_info)
{
	cut_to(f, FIRST(INFO) + 40);
}
CASE(cut_in_record_header)
{
	cut_to(f, FIRST(SAMPLE) + 12);
}
CASE(cut_in_sample)
{
	cut_to(f, find(f, PCCE_REC_SAMPLE, 1) + 50);
}
CASE(cut_in_table)
{
	cut_to(f, FIRST(TABLE) + 100);
}
CASE(cut_in_symbol)
{
	cut_to(f, FIRST(SYMBOL) + 44);
}
CASE(cut_one_byte)
{
	cut_to(f, f->size - 1);
}
CASE(cut_without_end)
{
	cut_to(f, FIRST(END));
}
CASE(zeros_at_the_end)
{
	memset(f->bytes + FIRST(END), 0, record_at(f, FIRST(END))->size);
}
CASE(more_zeros_at_the_end)
{
	cut_to(f, FIRST(END));
	memset(f->bytes + f->size, 0, 4000);
	f->size += 4000;
}

static const struct damage_case cases[] = {
	ERROR(empty_file),
	ERROR(one_byte),
	ERROR(half_magic),
	ERROR(half_header),
	ERROR(header_less_one),
	ERROR(wrong_magic),
	ERROR(swapped_magic),
	ERROR(newer_version),
	ERROR(version_zero),
	ERROR(wrong_byte_order),
	ERROR(unknown_feature),
	ERROR(header_size_small),
	ERROR(header_size_odd),
	ERROR(header_size_huge),
	ERROR(perf_data),
	ERROR(elf_file),
	ERROR(text_file),
	ERROR(wrong_crc),
	ERROR(flipped_bit),
	ERROR(flipped_bit_in_table),
	ERROR(size_zero),
	ERROR(size_below_header),
	ERROR(size_not_multiple),
	ERROR(size_huge),
	ERROR(size_beyond_type),
	ERROR(size_less_than_struct),
	ERROR(unknown_type_huge),
	ERROR(no_info),
	ERROR(second_info),
	ERROR(string_without_end),
	ERROR(one_string_missing),
	ERROR(garbage_after_string),
	ERROR(module_out_of_order),
	ERROR(module_build_id_size),
	ERROR(map_without_module),
	ERROR(map_overflows),
	ERROR(table_without_module),
	ERROR(table_of_no_module),
	ERROR(symbol_without_module),
	ERROR(symbol_string),
	ERROR(sample_entries_more),
	ERROR(sample_entries_huge),
	ERROR(sample_below_less),
	ERROR(sample_segments_more),
	ERROR(sample_stack_unsaid),
	ERROR(sample_stack_huge),
	ERROR(kernel_stack_out_of_order),
	ERROR(kernel_stack_more_frames),
	ERROR(kernel_stack_huge),
	ERROR(kernel_stack_too_many_frames),
	ERROR(kernel_stack_empty),
	ERROR(kernel_stack_missing),
	ERROR(wait_with_unknown_end),
	ERROR(durations_more_buckets),
	ERROR(durations_huge),
	ERROR(durations_out_of_order),
	ERROR(durations_unknown_bucket),
	ERROR(durations_that_do_not_add_up),
	ERROR(labels_out_of_order),
	ERROR(labels_more_bytes),
	ERROR(labels_bytes_huge),
	ERROR(labels_more),
	ERROR(labels_without_end),
	ERROR(labels_missing),
	ERROR(after_the_end),
	ERROR(record_taken_out_halfway),
	ERROR(bytes_put_in),
	ERROR(zeros_in_the_middle),
	CUT(cut_after_header),
	CUT(cut_in_info),
	CUT(cut_in_record_header),
	CUT(cut_in_sample),
	CUT(cut_in_table),
	CUT(cut_in_symbol),
	CUT(cut_one_byte),
	CUT(cut_without_end),
	CUT(zeros_at_the_end),
	CUT(more_zeros_at_the_end),
};

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = malloc(64 << 20);

	if (!f || !bytes) {
		fprintf(stderr, "damage: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	*size = fread(bytes, 1, 64 << 20, f);
	fclose(f);
	return bytes;
}

/* Writes the copy of a case. */
static void apply(const struct damage_case *c, const struct file *original, const char *directory)
{
	char path[4096];
	FILE *out;
	struct file copy = {.bytes = malloc(original->size + (1 << 20))};

	memcpy(copy.bytes, original->bytes, original->size);
	copy.size = original->size;
	c->apply(&copy);
	snprintf(path, sizeof(path), "%s/%s.data", directory, c->name);
	out = fopen(path, "wb");
	if (!out || fwrite(copy.bytes, 1, copy.size, out) != copy.size || fclose(out)) {
		fprintf(stderr, "damage: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	printf("%s %s\n", c->name, c->wanted);
	free(copy.bytes);
}

int main(int argc, char **argv)
{
	struct file original;
	size_t i;

	if (argc != 3) {
		fputs("usage: damage GOOD DIRECTORY\n", stderr);
		return 2;
	}
	original.bytes = read_file(argv[1], &original.size);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		apply(&cases[i], &original, argv[2]);
	for (i = 0; i < n_packed_cases; i++)
		apply(&packed_cases[i], &original, argv[2]);
	free(original.bytes);
	return 0;
}
