/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the profile_*.c files share. */
#ifndef PCCE_PROFILE_INTERNAL_H
#define PCCE_PROFILE_INTERNAL_H

#include "tools/lib/address_space.h"
#include "tools/lib/datafile_read.h"
#include "tools/lib/profile.h"
#include "tools/lib/sample.h"
#include "tools/lib/samples.h"

/* What a raw sample means in one address space. */
struct decoded {
	struct decoded *next;
	const struct raw_sample *raw;
	uint64_t r11;
	uint64_t depth; /* frames, repetitions counted */
	uint32_t space;
	uint32_t leaf;			/* of the profile */
	uint32_t context;		/* number of the chain of calls, from 1; 0: not counted */
	uint32_t marked;		/* the selection in which it was counted last */
	uint8_t status, reason, verify; /* enum decode_status, decode_reason, verify_result */
	bool needs_r11;
};

struct loaded_table {
	void *data;
	struct table table;
	uint32_t module;
};

struct internals {
	struct spaces *spaces;
	struct samples samples;
	struct flat_stack stack; /* of the sample that is being decoded */
	struct cct all;		 /* all contexts, without weights; empty if it has become the profile's tree */
	struct loaded_table **tables;
	size_t n_tables, tables_capacity;
	struct decoded *decoded; /* in the order in which they were met */
	size_t n_decoded;
	uint32_t *thread_of; /* of each stream: its number in profile.threads */
	size_t *selected;    /* the samples that are selected; NULL: all */
	size_t n_selected;
	uint32_t n_contexts;
	uint32_t selections; /* how often something was selected */
	bool has_tree, again;
};

/* One sentence in why; returns code. */
int profile_fail(int code, char *why, size_t size, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* profile_read.c: reads all records. 0, or -errno: -ENOMEM without a sentence. */
int profile_read(struct profile *p, struct datafile_reader *reader, const char *name, char *why, size_t why_size);

/* late_symbols.c: adds symbols that this machine has and the recording has not. 0 or -ENOMEM. */
int profile_late_symbols(struct profile *p);

/* profile_decode.c: decodes each different sample once, and makes in->all. 0 or -ENOMEM. */
int profile_decode(struct profile *p, const struct profile_options *o);
int profile_decode_raw(const struct profile *p, const struct raw_sample *raw, uint64_t r11, uint32_t space,
		       struct context *ctx);

#endif
