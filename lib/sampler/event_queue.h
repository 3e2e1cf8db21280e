/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the samplers in the kernel (bpf, kmod) have in common: their samples and the side band,
 * put in order of time, and told to the sink for the processes that are followed.
 *
 * Samples come through the sampler's own rings, all else through the side band.  Both go through a
 * queue that sorts by time, and what is younger than a limit, before which nothing more can
 * come, waits for the next turn: so the sink gets everything in order of time.
 */
#ifndef PCCE_SAMPLER_EVENT_QUEUE_H
#define PCCE_SAMPLER_EVENT_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "sampler/sampler.h"
#include "sampler/perf_sideband.h"
#include "base/error.h"

#define EVENT_QUEUE_MARGIN \
	1000000 /* ns between a sample's time and its arrival in a ring, at most */

struct event_queue;

uint64_t event_queue_now(void);

/* offsets, n_offsets: see tls_offsets.h. program: the command's file, or NULL. 0, or -errno with
 * one sentence in why.
 */
int event_queue_open(int64_t *offsets, uint32_t *n_offsets, uint32_t capacity, const char *program,
		     struct event_queue **out, struct error *why);
void event_queue_close(struct event_queue *s);

/* The kernel has taken a followed process's events away, because it did an exec of a set-uid
 * program: gives it new ones. 0 or -errno. */
typedef int event_queue_reattach(void *ctx, const struct perf_sideband_event *exec);

/* From now on this process is followed. attached: it has been running before. reattach: NULL if
 * nothing is ever taken away. 0 or -ENOMEM. */
int event_queue_begin(struct event_queue *s, pid_t pid, bool attached,
		      event_queue_reattach *reattach, void *ctx);

/* Also wake up when this descriptor becomes readable. 0 or -errno. */
int event_queue_watch(struct event_queue *s, int fd);
/* Waits until there may be something to do. 0 or -errno. */
int event_queue_wait(struct event_queue *s, int timeout_ms);

/* A sample, with what follows it. Its copy, valid until the next call, or NULL: out of memory. */
struct pcce_sample *event_queue_add(struct event_queue *s, const struct pcce_sample *sample,
				    size_t size);
/* Takes what the side band has. heard (or NULL) sees it, too; it returns 0 or -errno. */
int event_queue_listen(struct event_queue *s,
		       int (*heard)(void *ctx, const struct perf_sideband_event *e), void *ctx);
/* Hands out what is not younger than limit. 0, or the sink's -errno. */
int event_queue_flush(struct event_queue *s, const struct sampler_sink *sink, uint64_t limit);

#endif
