/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See hot_classes.h. */
#include "record/hot_classes.h"

static void end_epoch(const struct hot_classes *c, uint32_t pid, uint32_t before)
{
	if (c->ops->forget_classes && hot_recorder_epoch(c->hot, pid) != before)
		c->ops->forget_classes(c->sampler, pid);
}

int hot_classes_process(const struct hot_classes *c, const struct pcce_rec_process *p)
{
	uint32_t before = hot_recorder_epoch(c->hot, p->pid);
	int err = hot_recorder_process(c->hot, p);

	end_epoch(c, p->pid, before);
	return err;
}

int hot_classes_map(const struct hot_classes *c, const struct pcce_rec_map *map)
{
	uint32_t before = hot_recorder_epoch(c->hot, map->pid);
	int err = hot_recorder_map(c->hot, map);

	end_epoch(c, map->pid, before);
	return err;
}

int hot_classes_claim(const struct hot_classes *c, const struct pcce_sample *s,
		      const struct sampler_counting *counting)
{
	uint32_t epoch = hot_recorder_epoch(c->hot, s->pid);
	uint64_t class;

	if (!c->ops->has_class(c->sampler, s->pid, s->ip, epoch)) {
		class = hot_recorder_class(c->hot, s);
		if (class)
			c->ops->set_class(c->sampler, s->pid, s->ip, class, epoch);
	}
	if (s->kip && !c->ops->has_class(c->sampler, 0, s->kip, 0))
		c->ops->set_class(c->sampler, 0, s->kip, hot_recorder_kernel_class(c->hot, s->kip),
				  0);
	if (counting->place == SAMPLER_NO_PLACE)
		return hot_recorder_sample(c->hot, s);
	return hot_recorder_claim(c->hot, s, counting->place, counting->epoch);
}
