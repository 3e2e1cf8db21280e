/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See classes.h. */
#include "record/classes.h"

void classes_end_epoch(const struct classes *c, uint32_t pid, uint32_t before)
{
	if (c->ops->forget_classes && live_spaces_epoch(c->spaces, pid) != before)
		c->ops->forget_classes(c->sampler, pid);
}

void classes_tell(const struct classes *c, const struct pcce_sample *s, bool kernel)
{
	uint32_t epoch = live_spaces_epoch(c->spaces, s->pid);
	const struct decode_space *as;
	uint64_t layout, class;

	if (!c->ops->has_class(c->sampler, s->pid, s->ip, epoch)) {
		as = live_spaces_at(c->spaces, s->pid, &layout);
		class = as ? context_keys_class(c->keys, as, s->ip) : 0;
		if (class)
			c->ops->set_class(c->sampler, s->pid, s->ip, class, epoch);
	}
	if (kernel && s->kip && !c->ops->has_class(c->sampler, 0, s->kip, 0))
		c->ops->set_class(c->sampler, 0, s->kip, context_keys_kernel_class(c->keys, s->kip),
				  0);
}
