/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Chooses the sampler that -b names, or the best that works, and says which one it is. The
 * whole system has only bpf. */
#ifndef PCCE_RECORD_CHOOSE_SAMPLER_H
#define PCCE_RECORD_CHOOSE_SAMPLER_H

#include "record/record.h"
#include "sampler/sampler.h"

/* Sets active->ops, and config->beside. 0, or -errno after a message. */
int choose_sampler(const struct record_options *o, struct sampler_config *config,
		   struct active_sampler *active);

#endif
