/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tells a sampler that counts in the kernel which addresses have one class (record/hot.h). All
 * functions return 0 or -errno. */
#ifndef PCCE_RECORD_HOT_CLASSES_H
#define PCCE_RECORD_HOT_CLASSES_H

#include "record/hot.h"
#include "sampler/sampler.h"

struct hot_classes {
	struct hot_recorder *hot;
	const struct sampler_ops *ops;
	struct sampler *sampler;
};

/* As the functions of record/hot.h. If an epoch ends, the sampler has to find out all classes of
 * that process again. */
int hot_classes_process(const struct hot_classes *c, const struct pcce_rec_process *p);
int hot_classes_map(const struct hot_classes *c, const struct pcce_rec_map *map);
/* Counts a sample, after telling the classes that it needs. */
int hot_classes_claim(const struct hot_classes *c, const struct pcce_sample *s,
		      const struct sampler_counting *counting);

#endif
