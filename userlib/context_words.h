/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Turns entries of the encoding stack into the elements of include/pcce/dictionary.h, whose words
 * do not depend on this process.
 */
#ifndef PCCE_USERLIB_CONTEXT_WORDS_H
#define PCCE_USERLIB_CONTEXT_WORDS_H

#include <pcce/abi.h>
#include "context_modules.h"

#define NAMER_MODULES 4

/* Modules that one call has met, besides the executable. */
struct namer {
	struct named_module modules[NAMER_MODULES];
	unsigned int last, next;
};

struct context_word {
	uint64_t value;
	const struct named_module *module; /* NULL: none */
	bool unknown;			   /* an address in no known module */
};

struct context_element {
	struct context_word first, second;
	uint64_t kind;
};

static inline void namer_begin(struct namer *n)
{
	for (unsigned int i = 0; i < NAMER_MODULES; i++)
		n->modules[i].size = 0;
	n->last = n->next = 0;
}

/* The module lives until the call after the next one. */
static inline const struct named_module *namer_find(struct namer *n, uint64_t address)
{
	unsigned int victim = n->next;

	if (is_in_module(&main_module, address))
		return &main_module;
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

static inline struct context_word number_word(uint64_t value)
{
	return (struct context_word){.value = value};
}

static inline struct context_word id_word(uint64_t id)
{
	return number_word(id >= PCCE_ID_LOST_MIN ? PCCE_ID_LOST : id);
}

/* The bits above an address stay. */
static inline struct context_word address_word(struct namer *n, uint64_t word)
{
	uint64_t address = word & PCCE_SITE_MASK, above = word & ~PCCE_SITE_MASK;
	const struct named_module *m = address ? namer_find(n, address) : NULL;

	if (!m)
		return (struct context_word){.value = word, .unknown = address != 0};
	return (struct context_word){.value = above | ((address - m->bias) & PCCE_SITE_MASK),
				     .module = m};
}

static inline struct context_word ext_word(struct namer *n, uint64_t ext)
{
	if (ext >> 32)
		return address_word(n, ext);
	if (ext <= PCCE_EXT_CHANGING || !main_module.size)
		return number_word(ext);
	return (struct context_word){.value = ext, .module = &main_module};
}

/* Does r11 belong to the state of code that was interrupted at ip? */
static inline bool is_runtime_code(struct namer *n, uint64_t ip)
{
	const struct named_module *m = namer_find(n, ip);

	return m && ip >= m->text && ip < m->text_end;
}

/* The entry below this one is in memory, too. An origin is not an element. */
static inline struct context_element context_element_of(struct namer *n, const struct pcce_entry *e)
{
	uint64_t kind = e->site >> PCCE_SITE_BITS, low = e->site & PCCE_SITE_MASK;
	struct context_element x = {.kind = kind};

	switch (kind) {
	case PCCE_COUNT_FILL:
		break;
	case PCCE_COUNT_SIGNAL2:
		x.first = ext_word(n, e->id);
		if (is_runtime_code(n, e[-1].site & PCCE_SITE_MASK))
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
	default: /* a call, or the first entry of a signal */
		x.first = id_word(e->id);
		x.second = address_word(n, low);
		break;
	}
	return x;
}

static inline uint64_t word_hash(const struct context_word *w)
{
	return w->value ^ (w->module ? w->module->name.a : w->unknown ? PCCE_NAME_UNKNOWN : 0);
}

static inline struct pcce_name element_step(struct pcce_name h, const struct context_element *x)
{
	return pcce_name_step(h, word_hash(&x->first), word_hash(&x->second), x->kind);
}

#endif
