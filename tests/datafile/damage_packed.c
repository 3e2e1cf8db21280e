/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Damaged recordings with packed records. */
#include "tests/datafile/damage.h"

/* Packs the records from `from` to `to`, at most 1 MiB, into one. */
static void pack(struct file *f, size_t from, size_t to)
{
	static struct {
		struct pcce_rec_packed head;
		uint8_t data[1 << 20];
	} p;
	z_stream z = {.next_in = f->bytes + from,
		      .avail_in = (uInt)(to - from),
		      .next_out = p.data,
		      .avail_out = sizeof(p.data)};

	for (size_t at = from; at < to; at += record_at(f, at)->size)
		record_at(f, at)->crc = 0;
	memset(&p, 0, sizeof(p));
	deflateInit2(&z, 1, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
	if (deflate(&z, Z_FINISH) != Z_STREAM_END) {
		fputs("damage: the good file is too large\n", stderr);
		exit(2);
	}
	p.head = (struct pcce_rec_packed){
		.rec.type = PCCE_REC_PACKED,
		.rec.size = (uint32_t)(sizeof(p.head) + (z.total_out + 7) / 8 * 8),
		.packed = (uint32_t)z.total_out,
		.unpacked = (uint32_t)(to - from),
	};
	deflateEnd(&z);
	cut_out(f, from, to - from);
	put_in(f, from, &p, p.head.rec.size);
	reseal(f, from);
	header(f)->features |= PCCE_FEATURE_PACKED;
}

#define RECORDS sizeof(struct pcce_file_header)

/* Packs the whole file, and gives the packed record. */
static struct pcce_rec_packed *packed(struct file *f)
{
	pack(f, RECORDS, f->size);
	return REC(packed, RECORDS);
}

CASE(packed_whole)
{
	packed(f);
}
CASE(packed_in_parts)
{
	pack(f, FIRST(SYMBOL), f->size);
	pack(f, FIRST(SAMPLE), FIRST(PACKED));
	pack(f, RECORDS, FIRST(PACKED));
}
CASE(packed_only_samples)
{
	size_t second = find(f, PCCE_REC_SAMPLE, 1);

	pack(f, FIRST(SAMPLE), second);
}
/* Packs the first n bytes of a record of `whole` bytes, without compression. */
static void store(struct file *f, size_t at, uint32_t whole, uint32_t n)
{
	struct {
		struct pcce_rec_packed head;
		uint8_t final, size[4], data[4096];
	} __attribute__((packed)) p = {
		.head = {.rec.type = PCCE_REC_PACKED,
			 .rec.size = (uint32_t)(sizeof(p.head) + (n + 5 + 7) / 8 * 8),
			 .packed = n + 5,
			 .unpacked = n},
		.final = 1,
		.size = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8)},
	};

	memcpy(p.data, f->bytes + at, n);
	cut_out(f, at, whole);
	put_in(f, at, &p, p.head.rec.size);
	reseal(f, at);
	header(f)->features |= PCCE_FEATURE_PACKED;
}

CASE(packed_unannounced)

{
	packed(f);
	header(f)->features = 0;
}
CASE(packed_wrong_crc)
{
	packed(f)->rec.crc ^= 1;
}
CASE(packed_more)
{
	packed(f)->packed += 8, reseal(f, RECORDS);
}
CASE(packed_less)
{
	packed(f)->packed -= 8, reseal(f, RECORDS);
}
CASE(packed_nothing)
{
	packed(f)->packed = 0, reseal(f, RECORDS);
}
CASE(packed_unpacks_more)
{
	packed(f)->unpacked += 8, reseal(f, RECORDS);
}
CASE(packed_unpacks_less)
{
	packed(f)->unpacked -= 8, reseal(f, RECORDS);
}
CASE(packed_unpacks_odd)
{
	packed(f)->unpacked -= 1, reseal(f, RECORDS);
}
CASE(packed_unpacks_nothing)
{
	packed(f)->unpacked = 0, reseal(f, RECORDS);
}
CASE(packed_unpacks_huge)
{
	packed(f)->unpacked = 0xfffffff8, reseal(f, RECORDS);
}
CASE(packed_unpacks_too_well)
{
	packed(f)->unpacked = PCCE_RECORD_MAX, reseal(f, RECORDS);
}
CASE(packed_flipped_bit)
{
	((uint8_t *)(packed(f) + 1))[100] ^= 4, reseal(f, RECORDS);
}
CASE(packed_twice)
{
	pack(f, FIRST(SAMPLE), f->size);
	pack(f, FIRST(PACKED), f->size);
}
CASE(packed_stored)
{
	struct pcce_record *rec = record_at(f, FIRST(SAMPLE));

	rec->crc = 0;
	store(f, FIRST(SAMPLE), rec->size, rec->size);
}
CASE(packed_with_checksum)
{
	uint32_t whole = record_at(f, FIRST(SAMPLE))->size;

	store(f, FIRST(SAMPLE), whole, whole);
}
CASE(packed_size_zero)
{
	size_t at = FIRST(SAMPLE);
	uint32_t whole = record_at(f, at)->size;

	record_at(f, at)->crc = record_at(f, at)->size = 0;
	store(f, at, whole, whole);
}
CASE(packed_size_beyond)
{
	struct pcce_record *rec = record_at(f, FIRST(SAMPLE));

	rec->crc = 0;
	store(f, FIRST(SAMPLE), rec->size, rec->size - 8);
}
CASE(packed_after_the_end)

{
	size_t end = FIRST(END), size = record_at(f, end)->size;

	put_in(f, f->size, f->bytes + end, size);
	pack(f, end, f->size);
}
CASE(packed_cut)
{
	size_t at = FIRST(SAMPLE);

	pack(f, at, f->size);
	cut_to(f, f->size - 9);
}

const struct damage_case packed_cases[] = {
	GOOD(packed_whole),	     GOOD(packed_in_parts),
	GOOD(packed_only_samples),   ERROR(packed_unannounced),
	ERROR(packed_wrong_crc),     ERROR(packed_more),
	ERROR(packed_less),	     ERROR(packed_nothing),
	ERROR(packed_unpacks_more),  ERROR(packed_unpacks_less),
	ERROR(packed_unpacks_odd),   ERROR(packed_unpacks_nothing),
	ERROR(packed_unpacks_huge),  ERROR(packed_unpacks_too_well),
	ERROR(packed_flipped_bit),   ERROR(packed_twice),
	GOOD(packed_stored),	     ERROR(packed_with_checksum),
	ERROR(packed_size_zero),     ERROR(packed_size_beyond),
	ERROR(packed_after_the_end), CUT(packed_cut),
};
const size_t n_packed_cases = sizeof(packed_cases) / sizeof(packed_cases[0]);
