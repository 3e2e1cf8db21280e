/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shares types and functions among the files that make a profile. */
#ifndef PCCE_PROFILE_PROFILE_INTERNAL_H
#define PCCE_PROFILE_PROFILE_INTERNAL_H

#include "base/hash_table.h"
#include "profile/decode_cache.h"
#include "profile/profile.h"
#include "stream/recording.h"
#include "base/error.h"

#define PROFILE_FAILURES 10
#define PROFILE_AHEAD 16 /* samples between the prefetch of a sum and its change */

/* A sample that profile_print_failures() shows in full. */
struct profile_failure {
	bool mismatch; /* context and real stack differ; else: the sample is undecodable */
	uint8_t reason;
	uint32_t space;
	struct pcce_sample *sample; /* with its entries, segments and stack */
	const struct stack_node *below;
};

/* What samples at one instruction of one context have in common, by the number of their meaning. */
struct profile_instruction {
	uint32_t node; /* of the tree of all contexts */
	uint32_t place, context, depth, entries;
	uint32_t origin; /* of profile.origins */
	uint8_t status, reason, verify, restored;
	bool counting, between;
	uint32_t leaf; /* of the profile, if samples are kept */
};

HASH_TABLE_TYPE(leaf_table, uint32_t);

/* All samples of an event. */
struct profile_event_sum {
	uint64_t samples, weight, bytes;
};

/* A kept sample of a wait for a futex. */
struct profile_wait {
	size_t sample;
	uint32_t holder; /* kept sample of who ended it; UINT32_MAX: none */
	struct pcce_wait wait;
};

/* A kept sample of calls that were timed. */
struct profile_durations {
	size_t sample;
	struct pcce_durations *of; /* with its buckets */
};

struct profile_internals {
	struct recording *recording;
	struct recording_account accounts[RECORDING_ACCOUNTS]; /* of the recording */
	struct profile_event_sum events[RECORDING_ACCOUNTS];   /* the same */
	struct recording_rate rates[RECORDING_ACCOUNTS];       /* the same */
	bool shown[RECORDING_ACCOUNTS];			       /* which events are selected */
	char event[256], cost_event[256]; /* profile.event, if not all are shown; of profile.cost */
	struct stack_store *segments;
	struct cct
		all; /* all contexts, without weights; empty if it has become the profile's tree */
	struct profile_failure failures[2 * PROFILE_FAILURES];
	size_t n_failures, n_mismatches;
	struct tree_place *places;
	bool has_tree, again, inlining, with_cost, all_events, all_time;
	bool link_waits;
	const char *by_label; /* of the options */
	bool kept;	      /* keeps single samples: */
	struct profile_instruction *instructions;
	size_t n_instructions, instructions_capacity;
	struct profile_sum *totals; /* of instructions, if no samples are kept */
	/* The profile's leaves, index + 1, while it is read: if lines are told apart, by content,
	 * else by node (0: none). */
	struct leaf_table leaves_by_content;
	uint32_t *leaf_of_node;
	size_t leaf_of_node_capacity;
	uint32_t *instruction, *stream;
	uint32_t *weight; /* of one sample; or PROFILE_SUM | index into sums */
	uint64_t *time;
	size_t n_samples, samples_capacity;
	struct profile_sum *sums;
	size_t n_sums;
	struct profile_wait *waits; /* in order of samples */
	size_t n_waits;
	struct profile_durations *durations; /* in order of samples */
	size_t n_durations;
	uint32_t n_contexts;
	uint32_t *node_of;   /* of each instruction: its node in the tree that is shown; UINT32_MAX:
				not selected */
	uint32_t *thread_of; /* of each stream: its number in profile.threads */
	uint32_t *selected;  /* indices of the selected samples; NULL: all */
	size_t n_selected;
};

#define PROFILE_SUM 0x80000000u

/* read.c: opens the recording and reads all records but samples. 0, or -errno; -ENOMEM can come
 * without a sentence. */
int profile_read(struct profile *p, const char *path, struct error *why);

/* load.c: the steps of loading. s: what will be selected. 0 or -ENOMEM. */
int profile_prepare(struct profile *p, const struct profile_options *o, const struct selection *s);
int profile_number_threads(struct profile *p);
/* Gives the functions of all contexts names for people. */
int profile_shorten_names(struct profile *p);

/* decode_pass.c: decodes all samples into the sink. below: contexts continue with the creation
 * contexts of their threads. progress: what progress() shows. Returns the same as profile_read().
 */
int profile_decode(struct profile *p, struct tree_builder *b, bool below,
		   const struct decode_cache_sink *sink, size_t *n_places, const char *progress,
		   struct error *why);

/* late_symbols.c: adds symbols that this machine has and the recording lacks. Only decoded samples
 * tell which addresses need names, so the caller decodes all samples between begin and end. begin
 * sets *late to NULL if this machine has nothing to add. */
struct late_symbols;
int late_symbols_begin(struct profile *p, struct late_symbols **late);
extern const struct decode_cache_sink late_sink; /* its ctx: the struct late_symbols */
/* places: those of the decoding. Frees late. */
int late_symbols_end(struct late_symbols *late, const struct tree_place *places, size_t n_places);

/* Returns the event of a stream, below p->n_events. */
static inline uint32_t profile_stream_event(const struct profile *p, uint32_t stream)
{
	uint32_t event = sample_streams_get(p->streams, stream)->event;

	return event < p->n_events ? event : p->n_events - 1;
}

/* profile.c: adds samples that mean the same to the statistics. */
void profile_count(struct profile_stats *s, const struct profile_instruction *at, uint64_t samples);
/* Notes the weight of a sample, or of aggregated ones. */
static inline void profile_weigh(struct profile_stats *s, uint64_t samples, uint64_t weight)
{
	s->weight += weight;
	if (samples > 1)
		weight /= samples;
	if (weight > s->heaviest)
		s->heaviest = weight;
}

/* samples.c: keeps the next instruction. lines: gives lines, so that leaves of different lines are
 * distinct; NULL: they are not. 0 or -ENOMEM. */
int profile_keep_instruction(struct profile *p, const struct decode_cache_meaning *m,
			     const struct decode_cache *lines);
/* Keeps a sample. 0 or -ENOMEM. */
int profile_keep(struct profile_internals *in, uint32_t instruction, uint32_t stream,
		 const struct stream_event *s);
/* The sum of a kept sample, and the sum that a value of internals.weight means. */
struct profile_sum profile_sum(const struct profile_internals *in, size_t sample);
struct profile_sum profile_unpack(const struct profile_internals *in, uint32_t weight);
/* Frees what only profile_keep() needs. */
void profile_settle(struct profile_internals *in);
/* select.c: chooses the events that are shown, and makes the sums theirs. */
void profile_show_events(struct profile *p, const struct selection *s);
/* Adds totals and order to the profile's tree. 0 or -ENOMEM. */
int profile_finish_tree(struct profile *p);
void profile_forget(struct profile_internals *in);

/* linked_waits.c: finds who ended the waits, and links both if the profile is to have links. lines:
 * as in profile_keep_instruction(). 0 or -ENOMEM. */
int profile_link_waits(struct profile *p, const struct decode_cache *lines);

/* failures.c: keeps a sample for profile_print_failures(), if it is one of the first. */
int profile_keep_failure(struct profile_internals *in, const struct decode_cache_sample *s,
			 uint32_t space, bool mismatch, uint8_t reason);

#endif
