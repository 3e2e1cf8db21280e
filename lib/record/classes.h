/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tells a sampler that counts in the kernel which addresses have one class (context_keys.h). */
#ifndef PCCE_RECORD_CLASSES_H
#define PCCE_RECORD_CLASSES_H

#include "filter/context_keys.h"
#include "sampler/sampler.h"

struct classes {
	const struct sampler_ops *ops;
	struct sampler *sampler;
	struct address_spaces *spaces;
	struct context_keys *keys;
};

/* After a record that belongs to a process. before: its epoch before that. If that epoch has ended,
 * the sampler has to find out all classes of the process again. */
void classes_end_epoch(const struct classes *c, uint32_t pid, uint32_t before);

/* Tells the classes that samples like this one need. kernel: also that of kip. */
void classes_tell(const struct classes *c, const struct pcce_sample *s, bool kernel);

#endif
