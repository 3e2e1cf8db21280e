/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What processes have mapped lately.  Samples that were counted together between two times are
 * in doubt if something was mapped over one of their addresses in between: before, it may have been
 * another library's.
 */
#ifndef PCCE_SAMPLER_REMAP_LOG_H
#define PCCE_SAMPLER_REMAP_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/abi.h>
#include "sampler/perf_sideband.h"

struct remap_log;

struct remap_log *remap_log_new(void);
void remap_log_free(struct remap_log *r);

/* Notes a mapping; other events are none of its business. 0 or -ENOMEM. */
int remap_log_note(struct remap_log *r, const struct perf_sideband_event *e);
/* Has anything that the sample names been mapped over after sample->time, up to last? What its
 * stack below the current segment names is not at hand: then any mapping counts. */
bool remap_log_concern(const struct remap_log *r, const struct pcce_sample *sample, uint64_t last);
/* Forgets what is older. */
void remap_log_forget(struct remap_log *r, uint64_t before);

#endif
