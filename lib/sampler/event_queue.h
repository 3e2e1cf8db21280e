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

#define DELIVERY_MARGIN 1000000 /* ns between a sample's time and its arrival in a ring, at most */

struct delivery;

uint64_t delivery_now(void);

/* offsets, n_offsets: see tls_offsets.h. program: the command's file, or NULL. 0, or -errno with one sentence in why.
 */
int delivery_open(int64_t *offsets, uint32_t *n_offsets, uint32_t capacity, const char *program, struct delivery **out,
		  char *why, size_t why_size);
void delivery_close(struct delivery *s);

/* The kernel has taken a followed process's events away, because it did an exec of a set-uid program: gives it new
 * ones. 0 or -errno. */
typedef int delivery_reattach(void *ctx, const struct sideband_event *exec);

/* From now on this process is followed. attached: it has been running before. reattach: NULL if nothing is ever taken
 * away. 0 or -ENOMEM. */
int delivery_begin(struct delivery *s, pid_t pid, bool attached, delivery_reattach *reattach, void *ctx);

/* Also wake up when this descriptor becomes readable. 0 or -errno. */
int delivery_watch(struct delivery *s, int fd);
/* Waits until there may be something to do. 0 or -errno. */
int delivery_wait(struct delivery *s, int timeout_ms);

/* A sample, with what follows it. Its copy, valid until the next call, or NULL: out of memory. */
struct pcce_sample *delivery_add(struct delivery *s, const struct pcce_sample *sample, size_t size);
/* Takes what the side band has. heard (or NULL) sees it, too; it returns 0 or -errno. */
int delivery_listen(struct delivery *s, int (*heard)(void *ctx, const struct sideband_event *e), void *ctx);
/* Hands out what is not younger than limit. 0, or the sink's -errno. */
int delivery_flush(struct delivery *s, const struct sampler_sink *sink, uint64_t limit);

#endif
