/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads, decodes and sums up a recording: the data that pcce-report prints.
 */
#ifndef PCCE_PROFILE_PROFILE_H
#define PCCE_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <pcce/datafile.h>
#include "tree/cct.h"
#include "decode/decode.h"
#include "symbols/symbol_table.h"
#include "tree/hot_tree.h"
#include "tree/thread_origins.h"
#include "tree/selection.h"
#include "tree/select_tree.h"
#include "stream/label_sets.h"
#include "stream/recording.h"
#include "stream/sample_streams.h"
#include "stream/threads.h"
#include "tree/builder.h"
#include "base/error.h"

struct profile_stats {	  /* of what is selected; lost and sample_bytes: of whole events */
	uint64_t samples; /* = exact + truncated + undecodable + outside + unkept */
	uint64_t exact, truncated, undecodable, outside;
	uint64_t unkept;   /* samples of contexts that the recording did not keep (--hot) */
	uint64_t weight;   /* of all that is selected */
	uint64_t heaviest; /* weight of the sample that has most of it */
	uint64_t lost, lost_reasons[PCCE_LOSS_MAX + 1]; /* [0]: for other reasons */
	struct recording_due due;			/* of whole events */
	uint64_t unique_contexts; /* distinct calling contexts, whatever the instruction in the
				     innermost function */
	uint64_t max_depth;
	uint64_t max_encoding_stack;
	uint64_t sample_bytes; /* of the sample records of whole events */
	uint64_t reasons[DECODE_REASON_COUNT];
	bool verify;
	uint64_t verified, mismatches, unverifiable;
	bool frames; /* frames of uninstrumented code were restored: */
	/* Samples in uninstrumented code: with all frames up to the instrumented caller; with the
	 * innermost ones; without any; with frames that lead elsewhere, and were left out. */
	uint64_t restored, restored_in_part, not_restored, restored_wrong;
	uint64_t frames_unwound, frames_reused, stack_bytes; /* of the whole recording */
};

/*
 * If calls are shown: what they cost, by the samples of the other events. These are in the fields
 * cost of the tree, without those of the counting itself and those between bursts.
 */
struct profile_cost {
	const char *event; /* NULL: not known, or not asked for */
	uint64_t frequency, period;
	/* That are selected; of them: between bursts; in bursts, of the counting itself. */
	uint64_t samples, between, counting;
};

struct profile {
	struct symbol_table *names;
	struct cct tree;	     /* of what is selected */
	struct hot_tree_summary hot; /* which nodes of the tree are hot, if it is pruned */
	struct profile_stats stats;
	struct recording_only only;	  /* what the recording left out */
	struct recording_hot summary;	  /* what the recording kept, if it is a summary */
	uint64_t all_samples, all_weight; /* of these events, selected or not */
	uint64_t first, last;		  /* times of the first and the last sample */
	struct sample_streams *streams;	  /* threads and their names */
	uint64_t *stream_samples;	  /* selected samples of each stream; NULL: not counted */
	struct tree_leaf *leaves; /* lines in innermost functions; without options.lines, one for
				     all lines of a node */
	size_t n_leaves;
	struct threads *threads;
	struct thread_origins *origins; /* of threads */
	const char *events, *command, *sampler, *host,
		*kernel;   /* from the recording; "" if unknown. events is a list with commas */
	bool calls;	   /* the first event are calls, which were counted */
	uint32_t n_events; /* they do not add up: if none is selected, the first one is shown */
	const char *event; /* that is shown; a list with commas if several are */
	uint64_t frequency, period; /* of the event; one of them is 0 */
	struct profile_cost cost;
	uint64_t start_time, wall_time; /* when it began: CLOCK_MONOTONIC, and ns since 1970 */
	bool own_lines;			/* frames have their own lines, not those of their calls
					   (SELECT_BY_LINE) */
	bool complete;			/* the recording has its end record */
	uint64_t cut_off;		/* bytes of a record that was cut off at its end */
	uint64_t unknown;		/* records of unknown types */
	struct profile_internals *in;	/* profile_internal.h */
};

/* Returns a set of labels by its index (struct sample_stream); NULL: there is none. */
const struct label_set *profile_labels(const struct profile *p, uint32_t index);
/* Returns the index of the set with the same labels, and without ids. */
uint32_t profile_plain_labels(const struct profile *p, uint32_t index);

struct profile_options {
	bool tree;	/* build the tree; else only statistics */
	bool inlining;	/* inlined functions get their own frames */
	bool no_kernel; /* functions of the kernel get none */
	bool lines;	/* distinguish the lines of innermost functions */
	bool again;	/* profile_select() will be called */
	bool holders;	/* waits for locks continue with who ended them: linked_waits.c */
	bool origins;	/* contexts continue in the creation contexts of their threads */
	const char
		*by_label; /* contexts begin with a frame for the value of this label; NULL: not */
	bool samples;	   /* keep single samples, in the order of the file */
	bool cost;	   /* of calls, if the recording has it */
	bool all_events;   /* select all if none is selected; else the first one */
	bool all_time;	   /* if none is selected: the first one, and waits that add up to it */
	enum symbol_table_style names;
	const struct selection *select; /* NULL: everything */
};

/* 0, or -errno with one sentence in why. */
int profile_load(const char *path, const struct profile_options *o, struct profile **out,
		 struct error *why);
void profile_free(struct profile *p);

/* Makes another selection. The profile must be loaded with options.again. 0 or -ENOMEM. */
int profile_select(struct profile *p, const struct selection *s);

/* Makes another tree of the samples that are selected now, with the detail that s asks for; s must
 * not select samples or contexts. The profile must be loaded with options.again. 0 or -ENOMEM. */
int profile_detail(const struct profile *p, const struct selection *s, struct cct *to);

/* Copies the name of an event to buffer, and returns that. */
const char *profile_event(const struct profile *p, uint32_t event, char *buffer, size_t size);

/* What is known of an event, by its number. */
struct profile_event {
	uint64_t samples, weight; /* of all its samples, selected or not */
	struct recording_rate rate;
	bool shown; /* by the last selection of events */
};
struct profile_event profile_event_facts(const struct profile *p, uint32_t event);

/* A selected sample or aggregated sample, in the order of the file. The profile must be loaded with
 * options.samples. */
struct profile_sample {
	uint64_t time;	  /* ns, CLOCK_MONOTONIC */
	uint32_t depth;	  /* frames, repetitions counted */
	uint32_t entries; /* on the encoding stack; depth and entries: UINT32_MAX means that or more
			   */
	uint32_t stream;  /* of profile.streams */
	uint32_t thread;  /* number of one of profile.threads */
	uint32_t event;	  /* below profile.n_events */
	uint32_t node;	  /* of profile.tree, where its context ends */
	uint64_t samples, weight;
	struct tree_place place; /* the innermost frame */
	uint32_t instruction;	 /* number of the instruction in its context */
	uint32_t leaf;		 /* index into profile.leaves, with options.again */
	enum decode_status status;
	enum decode_reason reason;
};

size_t profile_samples(const struct profile *p);
struct profile_sample profile_sample(const struct profile *p, size_t i);

/* Returns how the wait ended that the selected sample i is of. NULL: not known, or it is none.
 * *holder: the node where the context of who ended it ends; UINT32_MAX: there is none. */
const struct pcce_wait *profile_sample_wait(const struct profile *p, size_t i, uint32_t *holder);

/* The durations of the calls that the selected sample i counts; NULL: they were not timed. */
const struct pcce_durations *profile_sample_durations(const struct profile *p, size_t i);

/* Returns what to say in place of the context that ended a wait, if there is none. */
const char *profile_wait_end(uint32_t end);

/* The fields that are cheap to get, for formats that read millions of samples. */
struct profile_moment {
	uint64_t time, samples, weight;
	uint32_t instruction;
};

struct profile_moment profile_moment(const struct profile *p, size_t i);
uint32_t profile_instruction_node(const struct profile *p, uint32_t instruction);

/* The sum of the samples of one event at one place of one node in one thread, with the same labels.
 * Ids of traces and spans do not count. */
struct profile_cell {
	uint32_t node, thread, event;
	uint32_t labels; /* their index, for profile_labels() */
	struct tree_place place;
	uint32_t instruction; /* number of one instruction there */
	uint64_t weight, samples;
};

/* Calls each() for each cell, in order of node, place, thread, event and labels. Stops at the first
 * result that is not 0, and returns it. 0 or -ENOMEM. */
int profile_cells(const struct profile *p, int (*each)(void *ctx, const struct profile_cell *cell),
		  void *ctx);

/* Instructions have numbers below this. */
size_t profile_instruction_count(const struct profile *p);
/* Calls each() for each sampled instruction, in the order of nodes; weights are 0. */
int profile_instructions(const struct profile *p,
			 int (*each)(void *ctx, const struct profile_cell *cell), void *ctx);

struct profile_sum {
	uint64_t samples, weight;
	uint64_t error; /* most weight that may be missing (--hot) */
};

/* The sums of one thread's samples by context. */
struct thread_sums {
	const struct profile *p;
	uint32_t *first, *samples; /* as of profile_by_thread() */
	struct profile_sum *sum;   /* by node, of the thread of the last thread_sums_go() */
	uint32_t *nodes;	   /* nodes that have a sum, in order */
	size_t n;
};

/* 0 or -ENOMEM. Then, for each thread, thread_sums_go(). */
int thread_sums_new(const struct profile *p, struct thread_sums *s);
void thread_sums_free(struct thread_sums *s);
void thread_sums_go(struct thread_sums *s, uint32_t thread);

/* Sorts samples by thread and time: those of thread t are samples[first[t]] up to samples[first[t +
 * 1]], exclusive. The caller frees both arrays. 0 or -ENOMEM. */
int profile_by_thread(const struct profile *p, uint32_t **first, uint32_t **samples);

/* Prints in full the first `max` samples whose context and real stack differ, and the first `max`
 * undecodable ones. Ten of each are kept. */
void profile_print_failures(const struct profile *p, FILE *out, size_t max);

#endif
