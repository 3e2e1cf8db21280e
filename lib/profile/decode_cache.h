/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes samples with a cache: each distinct state is decoded once, however often it was sampled.
 * The cache keeps 128 bits of hash of a sample's state, and its meaning. Meanings are numbered from
 * 0.
 */
#ifndef PCCE_PROFILE_DECODE_CACHE_H
#define PCCE_PROFILE_DECODE_CACHE_H

#include <stdbool.h>
#include "stream/address_space.h"
#include "stream/reader.h"
#include "tree/thread_origins.h"
#include "stream/stack_store.h"
#include "tree/builder.h"
#include "decode/verify.h"

struct decode_cache;

/* The meaning of a sample. */
struct decode_cache_meaning {
	uint32_t node;	  /* of the tree, if there is a builder */
	uint32_t place;	  /* of the innermost instruction: see decode_cache_take_places() */
	uint32_t context; /* number of the calling context, from 1; 0: the sample is undecodable */
	uint32_t depth;	  /* frames, repetitions counted; UINT32_MAX: that or more */
	uint32_t entries; /* on the thread's own encoding stack, known or not; UINT32_MAX: that or
			     more */
	uint32_t origin;  /* number of the creation context of the thread; 0: not known */
	uint8_t status;	  /* enum decode_status */
	uint8_t reason;	  /* enum decode_reason */
	uint8_t verify;	  /* enum verify_result */
	uint8_t restored; /* enum restored_result */
	bool counting;	  /* in code that counts calls */
	bool between;	  /* between two bursts, when calls were not counted */
};

/* A sample with the segments of its encoding stack. */
struct decode_cache_sample {
	const struct pcce_sample *sample;
	const struct stack_node *below;
};

/* Receives the results. A function that does not return 0 ends the decoding with its result. */
struct decode_cache_sink {
	/* Called for each new state; the context is valid during the call. Of a deep context, it
	 * has the frames of the innermost part only. part(), which may be NULL, is called with each
	 * new other one before. */
	int (*met)(void *ctx, const struct decode_cache_sample *s, uint32_t space,
		   const struct decode_cache_meaning *m, const struct decode_context *context);
	int (*part)(void *ctx, uint32_t space, const struct decode_context *part);
	/* Called for each new meaning, which gets the next number, before its first sample. */
	int (*meaning)(void *ctx, const struct decode_cache_meaning *m);
	/* Called for each sample or aggregated sample, in order. s has no segments. */
	int (*sample)(void *ctx, const struct stream_event *s, uint32_t meaning);
	/* Called after the last sample; may be NULL. */
	int (*end)(void *ctx);
	void *ctx;
	struct decode_cache *
		*decoding; /* if not NULL: receives the cache, for decode_cache_line() */
};

/* Makes a cache; NULL: no memory. The segments must outlive what the sink keeps. Without a builder,
 * which may be NULL, meanings have no nodes. origins receives the creation contexts of threads.
 * below: contexts continue in the creation context (decode_sample(), origins). */
struct decode_cache *decode_cache_new(struct address_spaces *spaces, struct stack_store *segments,
				      struct tree_builder *b, struct thread_origins *origins,
				      bool below, const struct decode_cache_sink *sink);
void decode_cache_free(struct decode_cache *d);
/* Before the first sample: contexts begin with a frame for the value of this label. The cache must
 * have a builder. */
void decode_cache_group(struct decode_cache *d, const char *key);

/* 0, -ENOMEM, or what the sink returned. The last samples reach the sink in decode_cache_end(). */
int decode_cache_push(struct decode_cache *d, const struct stream_event *s);
/* For callers that know the address space and the stack below the sample. */
int decode_cache_push_in(struct decode_cache *d, const struct stream_event *s, uint32_t space);
int decode_cache_end(struct decode_cache *d);

/* Returns the number of distinct calling contexts so far. */
size_t decode_cache_unique(const struct decode_cache *d);

/* Sets *line to the source line of a place. The cache must have a builder. */
void decode_cache_line(const struct decode_cache *d, uint32_t place, struct tree_line *line);

/* Returns the array that places are numbers into, for the caller to free, and its length in *n. */
struct tree_place *decode_cache_take_places(struct decode_cache *d, size_t *n);
/* Returns the same array, which remains that of the cache, until the next sample. */
struct tree_place *decode_cache_places(const struct decode_cache *d);

#endif
