/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How the parts of damage.c find and change records. */
#ifndef PCCE_TESTS_DAMAGE_H
#define PCCE_TESTS_DAMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <pcce/datafile.h>

struct file {
	uint8_t *bytes;
	size_t size;
};

static inline struct pcce_record *record_at(const struct file *f, size_t at)
{
	return (struct pcce_record *)(f->bytes + at);
}

/* Returns the position of the n-th record of a type (0: the first), or 0. */
static inline size_t find(const struct file *f, uint32_t type, int n)
{
	size_t at;

	for (at = sizeof(struct pcce_file_header); at + sizeof(struct pcce_record) <= f->size;
	     at += record_at(f, at)->size)
		if (record_at(f, at)->type == type && !n--)
			return at;
	fprintf(stderr, "damage: the good file has no record of type %u\n", type);
	exit(2);
}

static inline void reseal(struct file *f, size_t at)
{
	struct pcce_record *rec = record_at(f, at);

	rec->crc = 0;
	rec->crc = (uint32_t)crc32(0, (const Bytef *)rec, rec->size);
}

static inline struct pcce_file_header *header(struct file *f)
{
	return (struct pcce_file_header *)f->bytes;
}

static inline void cut_to(struct file *f, size_t size)
{
	f->size = size;
}

/* Removes n bytes. */
static inline void cut_out(struct file *f, size_t at, size_t n)
{
	memmove(f->bytes + at, f->bytes + at + n, f->size - at - n);
	f->size -= n;
}

/* Inserts n bytes, for which there is room. */
static inline void put_in(struct file *f, size_t at, const void *bytes, size_t n)
{
	memmove(f->bytes + at + n, f->bytes + at, f->size - at);
	memcpy(f->bytes + at, bytes, n);
	f->size += n;
}

#define CASE(name) static void name(struct file *f)
#define FIRST(type) find(f, PCCE_REC_##type, 0)
#define REC(type, at) ((struct pcce_rec_##type *)(f->bytes + (at)))

struct damage_case {
	const char *name, *wanted;
	void (*apply)(struct file *f);
};

#define ERROR(name)                  \
	{                            \
#name, "error", name \
	}
#define GOOD(name)                  \
	{                           \
#name, "good", name \
	}
#define CUT(name)                  \
	{                          \
#name, "cut", name \
	}

extern const struct damage_case packed_cases[]; /* damage_packed.c */
extern const size_t n_packed_cases;

#endif
