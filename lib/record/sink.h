/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Takes what a sampler delivers (sampler/sampler.h). */
#ifndef PCCE_RECORD_SINK_H
#define PCCE_RECORD_SINK_H

#include "record/recorder.h"

struct sampler_sink record_sink(struct recorder *r);

/* Writes a loss. 0, or the writer's error. */
int record_lost(void *recorder, uint64_t time, uint32_t reason, uint64_t count);

#endif
