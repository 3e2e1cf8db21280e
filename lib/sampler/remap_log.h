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

struct remaps;

struct remaps *remaps_new(void);
void remaps_free(struct remaps *r);

/* Notes a mapping; other events are none of its business. 0 or -ENOMEM. */
int remaps_note(struct remaps *r, const struct sideband_event *e);
/* Has anything that the sample names been mapped over after sample->time, up to last? What its stack below the current
 * segment names is not at hand: then any mapping counts. */
bool remaps_concern(const struct remaps *r, const struct pcce_sample *sample, uint64_t last);
/* Forgets what is older. */
void remaps_forget(struct remaps *r, uint64_t before);

#endif
