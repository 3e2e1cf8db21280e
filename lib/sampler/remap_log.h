/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Logs recent mappings of processes. An aggregated sample covers a span of time. It is ambiguous if
 * something was mapped over one of its addresses in this span, because the address can have
 * belonged to another library before.
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

/* Notes a mapping, and ignores other events. 0 or -ENOMEM. */
int remap_log_note(struct remap_log *r, const struct perf_sideband_event *e);
/* Whether an address of the sample was mapped over after sample->time, up to last. Addresses in
 * complete segments are unknown here. If the sample has any, each mapping counts. */
bool remap_log_concern(const struct remap_log *r, const struct pcce_sample *sample, uint64_t last);
/* Removes mappings before this time. */
void remap_log_forget(struct remap_log *r, uint64_t before);

#endif
