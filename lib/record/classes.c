/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See classes.h. */
#include "record/classes.h"
#include "sampler/places.h"

void classes_end_epoch(const struct classes *c, uint32_t pid, uint32_t before)
{
	struct places *places = c->ops->places ? c->ops->places(c->sampler) : NULL;

	if (places && address_spaces_epoch(c->spaces, pid) != before)
		places_forget_classes(places, pid);
}

void classes_tell(const struct classes *c, const struct pcce_sample *s, bool kernel)
{
	struct places *places = c->ops->places(c->sampler);
	uint32_t epoch = address_spaces_epoch(c->spaces, s->pid);
	const struct decode_space *as;
	uint64_t layout, class;

	if (!places_has_class(places, s->pid, s->ip, epoch)) {
		as = address_spaces_now(c->spaces, s->pid, &layout);
		class = as ? context_keys_class(c->keys, as, s->ip) : 0;
		if (class)
			places_set_class(places, s->pid, s->ip, class, epoch);
	}
	if (kernel && s->kip && !places_has_class(places, 0, s->kip, 0))
		places_set_class(places, 0, s->kip, context_keys_kernel_class(c->keys, s->kip), 0);
}
