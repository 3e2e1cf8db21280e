/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decoding with a memory: each different state is decoded once, however often it was
 * sampled.  Nothing of a sample is kept but 128 bits of hash and what it meant: what samples mean
 * is numbered from 0.
 */
#ifndef PCCE_PROFILE_DECODE_CACHE_H
#define PCCE_PROFILE_DECODE_CACHE_H

#include <stdbool.h>
#include "recording/address_space.h"
#include "recording/reader.h"
#include "tree/thread_origins.h"
#include "recording/stack_store.h"
#include "tree/builder.h"
#include "decode/verify.h"

struct decode_cache;

/* What a sample means. */
struct decode_cache_meaning {
	uint32_t node;	  /* of the tree, if there is one */
	uint32_t place;	  /* of the innermost instruction: see decode_cache_take_places() */
	uint32_t context; /* number of the chain of calls, from 1; 0: it does not decode */
	uint32_t depth;	  /* frames, repetitions counted; UINT32_MAX: that or more */
	uint32_t entries; /* on the thread's own encoding stack, also those that are not known; the
			     same */
	uint32_t origin;  /* number of the chain of calls that created the thread; 0: not known */
	uint8_t status;	  /* enum decode_status */
	uint8_t reason;	  /* enum decode_reason */
	uint8_t verify;	  /* enum verify_result */
};

/* A sample with the stack below it. */
struct decode_cache_sample {
	const struct pcce_sample *sample;
	const struct stack_node *below;
};

/* Where samples go. Functions return 0, or what ends the decoding. */
struct decode_cache_sink {
	/* A state is met for the first time; the context is valid during the call. */
	int (*met)(void *ctx, const struct decode_cache_sample *s, uint32_t space,
		   const struct decode_cache_meaning *m, const struct decode_context *context);
	/* What a sample means that follows, with the next number. */
	int (*meaning)(void *ctx, const struct decode_cache_meaning *m);
	/* Each sample or sum, in order; without its segments. */
	int (*sample)(void *ctx, const struct datafile_sample *s, uint32_t meaning);
	/* After the last of them; may be NULL. */
	int (*end)(void *ctx);
	void *ctx;
	struct decode_cache *
		*decoding; /* if not NULL: where to put the decoding, for decode_cache_line() */
};

/* Segments must outlive what the sink keeps. The builder may be NULL: then there are statuses and
 * no nodes. Where threads come from goes to origins. below: contexts go on there (decode_sample(),
 * origins). */
struct decode_cache *decode_cache_new(struct address_spaces *spaces, struct stack_store *segments,
				      struct tree_builder *b, struct thread_origins *origins,
				      bool below, const struct decode_cache_sink *sink);
void decode_cache_free(struct decode_cache *d);

/* 0, -ENOMEM, or what the sink returned. The last samples reach the sink at the end only. */
int decode_cache_push(struct decode_cache *d, const struct datafile_sample *s);
int decode_cache_end(struct decode_cache *d);

/* Different chains of calls so far. */
size_t decode_cache_unique(const struct decode_cache *d);

/* The line of one; only with a builder. */
void decode_cache_line(const struct decode_cache *d, uint32_t place, struct tree_line *line);

/* The places that meanings speak of, for the caller to free, and how many those are. */
struct tree_place *decode_cache_take_places(struct decode_cache *d, size_t *n);

#endif
