/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Merges the samples of a sampler in the kernel (bpf, kmod) and the side band into the order of
 * time, and passes them to the sink for the followed processes.
 *
 * Samples come from the sampler's rings, and all other events from the side band. Both pass through
 * a queue that sorts by time. Events younger than a limit wait for the next turn, because older
 * ones can still arrive. So the sink gets everything in the order of time.
 */
#ifndef PCCE_SAMPLER_EVENT_QUEUE_H
#define PCCE_SAMPLER_EVENT_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "sampler/sampler.h"
#include "sampler/perf_sideband.h"
#include "base/error.h"

#define EVENT_QUEUE_MARGIN 1000000 /* ns, most time between a sample and its arrival in a ring */

struct event_queue;

uint64_t event_queue_now(void);

/* offsets, n_offsets: see tls_offsets.h. program: the command's file, or NULL. Returns 0, or -errno
 * with the reason in why. */
int event_queue_open(int64_t *offsets, uint32_t *n_offsets, uint32_t capacity, const char *program,
		     struct event_queue **out, struct error *why);
void event_queue_close(struct event_queue *s);

/* Called after the kernel removed the events of a followed process, because it did an exec of a
 * set-uid program. Opens new events. 0 or -errno. */
typedef int event_queue_reattach(void *ctx, const struct perf_sideband_event *exec);

/* Starts following n processes; pids == NULL: all. attached: they were running before. reattach:
 * NULL if the kernel never removes events. 0 or -ENOMEM. */
int event_queue_begin(struct event_queue *s, const pid_t *pids, size_t n, bool attached,
		      event_queue_reattach *reattach, void *ctx);

/* Makes event_queue_wait() also return if this descriptor is readable. 0 or -errno. */
int event_queue_watch(struct event_queue *s, int fd);
/* Waits for events. 0 or -errno. */
int event_queue_wait(struct event_queue *s, int timeout_ms);

/* Returns how many words follow a sample: frames of the kernel, or what is known of a wait. */
static inline size_t event_queue_words(const struct pcce_sample *s)
{
	return s->flags & (PCCE_SAMPLE_KERNEL_STACK | PCCE_SAMPLE_WAIT) ? s->kip : 0;
}

/* Adds a sample with its entries and segments. behind: these words, and then those of its labels,
 * as the sampler brings them. 0 or -ENOMEM. */
int event_queue_add(struct event_queue *s, const struct pcce_sample *sample, size_t size,
		    const uint64_t *behind);
/* Reads the side band. heard (or NULL) also gets each event, and returns 0 or -errno. */
int event_queue_listen(struct event_queue *s,
		       int (*heard)(void *ctx, const struct perf_sideband_event *e), void *ctx);
/* Passes everything up to the time limit to the sink. 0, or the sink's -errno. */
int event_queue_flush(struct event_queue *s, struct stream *sink, uint64_t limit);

#endif
