/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Collects the encoding stacks of a recording's threads from their samples.
 *
 * A sample holds the newest, incomplete segment. Of the segments below, it holds only those that
 * no earlier sample of the thread brought (struct pcce_sample). The store keeps equal stacks once,
 * also those of different threads: a node is a segment with everything below it.
 */
#ifndef PCCE_STREAM_STACK_STORE_H
#define PCCE_STREAM_STACK_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>

struct stack_node;
struct stack_store;

struct stack_store *stack_store_new(void); /* NULL: out of memory */
void stack_store_free(struct stack_store *all);

/*
 * Takes the next sample of its thread, in the order of time.  *below: the known part of the stack
 * below the sample's own entries; NULL if nothing is known or the stack is empty. *below lives as
 * long as the store. 0 or -ENOMEM.
 */
int stack_store_take(struct stack_store *all, const struct pcce_sample *s,
		     const struct stack_node **below);

/*
 * For users that leave out samples of a recording. Later samples of the thread only name the
 * segments that a sample has carried (struct pcce_sample). If that one is left out, the first one
 * that is kept and stands on them has to carry them. *out is the sample, which must be taken
 * already, with all segments below it that no other *out of the window has carried: there can be
 * more than PCCE_SAMPLE_SEGMENTS. It is valid until the next call. 0 or -ENOMEM.
 */
int stack_store_complete(struct stack_store *all, const struct pcce_sample *s,
			 const struct pcce_sample **out);
/* Begins another window, whose samples carry all segments below them again. All samples are of one
 * window until the first call. Forgets threads that have ended. */
void stack_store_begin_window(struct stack_store *all);
/* A thread has ended. Samples of it that come late are taken until the next window begins. */
void stack_store_end_thread(struct stack_store *all, uint32_t pid, uint32_t tid);

/* How many segments are known, with this one. */
uint64_t stack_store_depth(const struct stack_node *below);

/* A hash of the stack; 0 for none. */
uint64_t stack_store_hash(const struct stack_node *below);

/*
 * For users that keep few of the stacks of a long recording. stack_store_keep() marks a stack; then
 * stack_store_sweep() frees all segments that are neither marked nor in the last known stack of a
 * thread, and forgets the marks. stack_store_count() returns the number of segments.
 */
void stack_store_keep(const struct stack_node *below);
void stack_store_sweep(struct stack_store *all);
size_t stack_store_count(const struct stack_store *all);

struct stack_store_flat {
	struct pcce_entry *entries;
	uint32_t n;
	size_t capacity;
};

/* For users that build stacks themselves: a segment on top of `below`; NULL: out of memory. */
const struct stack_node *stack_store_intern(struct stack_store *all, const struct stack_node *below,
					    const struct pcce_entry *entries);
const struct stack_node *
stack_store_below(const struct stack_node *node); /* NULL: node is the lowest known segment */
const struct pcce_entry *
stack_store_entries(const struct stack_node *node); /* PCCE_SEGMENT_ENTRIES */

/* Writes the known entries, oldest first, the sample's own last. Reuses and grows the buffer. 0 or
 * -ENOMEM. */
int stack_store_flatten(const struct stack_node *below, const struct pcce_sample *s,
			struct stack_store_flat *out);
/* Writes only the newest `segments` segments and the sample's own entries. *rest becomes the newest
 * segment that is left out, or NULL. 0 or -ENOMEM. */
int stack_store_flatten_newest(const struct stack_node *below, uint64_t segments,
			       const struct pcce_sample *s, struct stack_store_flat *out,
			       const struct stack_node **rest);

#endif
