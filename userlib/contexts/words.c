// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements words.h. */
#include <stddef.h>
#include "contexts/words.h"

const struct named_module *namer_find_other(struct namer *n, uint64_t address)
{
	unsigned int victim = n->next;

	for (unsigned int i = 0; i < NAMER_MODULES; i++)
		if (is_in_module(&n->modules[i], address)) {
			n->last = i;
			return &n->modules[i];
		}
	if (victim == n->last)
		victim = (victim + 1) % NAMER_MODULES;
	n->next = (victim + 1) % NAMER_MODULES;
	if (!context_module_at(address, &n->modules[victim]))
		return NULL;
	n->last = victim;
	return &n->modules[victim];
}

struct context_word address_word(struct namer *n, uint64_t word)
{
	uint64_t address = word & PCCE_SITE_MASK, above = word & ~PCCE_SITE_MASK;
	const struct named_module *m = address ? namer_find(n, address) : NULL;

	if (!m)
		return (struct context_word){.value = word, .unknown = address != 0};
	return (struct context_word){.value = above | ((address - m->bias) & PCCE_SITE_MASK),
				     .module = m};
}

struct context_word ext_word(struct namer *n, uint64_t ext)
{
	if (ext >> 32)
		return address_word(n, ext);
	if (ext <= PCCE_EXT_CHANGING || !main_module.size)
		return number_word(ext);
	return (struct context_word){.value = ext, .module = &main_module};
}

/* Does r11 belong to the state of code that was interrupted at ip? */
static bool is_in_helper(struct namer *n, uint64_t ip)
{
	const struct named_module *m = namer_find(n, ip);

	return m && ip >= m->helpers && ip < m->helpers_end;
}

/* Does the id? If not, it is what the caller of uninstrumented code or a callback has left. */
static bool has_id(struct namer *n, uint64_t ip, uint64_t ext)
{
	const struct named_module *m = ext ? NULL : namer_find(n, ip);

	return ext || (m && m->encoded);
}

struct context_element context_element_of(struct namer *n, const struct pcce_entry *e,
					  unsigned int left)
{
	uint64_t kind = e->site >> PCCE_SITE_BITS, low = e->site & PCCE_SITE_MASK;
	struct context_element x = {.kind = kind};

	switch (kind) {
	case PCCE_COUNT_SIGNAL:
		if (left < 2 || e->id >= PCCE_ID_LOST_MIN || has_id(n, low, e[1].id))
			x.first = id_word(e->id);
		x.second = address_word(n, low);
		break;
	case PCCE_COUNT_SIGNAL2:
		x.first = ext_word(n, e->id);
		if (is_in_helper(n, e[-1].site & PCCE_SITE_MASK))
			x.second = address_word(n, low);
		break;
	case PCCE_COUNT_JUMP:
		x.first = id_word(e->id);
		x.second = number_word(low);
		break;
	case PCCE_COUNT_JUMP2:
		x.first = address_word(n, e->id);
		x.second = ext_word(n, low);
		break;
	case PCCE_COUNT_LEAF:
		x.first = id_word(e->id);
		x.second = ext_word(n, low);
		break;
	case PCCE_COUNT_UNKNOWN:
	case PCCE_COUNT_SHARED:
		break;
	default: /* a call */
		x.first = id_word(e->id);
		x.second = address_word(n, low);
		break;
	}
	return x;
}

bool element_take(struct namer *n, struct element_list *l, struct context_element *x)
{
	struct pcce_entry done;
	enum taken taken = entry_take(l, &done);

	if (taken == TAKEN_CALLS)
		*x = context_element_of(n, &done, 1);
	else if (taken == TAKEN_ENTRY)
		*x = context_element_of(n, l->entries - 1, l->n + 1);
	return taken != TAKEN_NOTHING;
}
