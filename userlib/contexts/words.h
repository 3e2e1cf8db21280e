/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Turns entries of the encoding stack into the elements of include/pcce/dictionary.h, whose words
 * do not depend on this process.
 */
#ifndef PCCE_USERLIB_CONTEXT_WORDS_H
#define PCCE_USERLIB_CONTEXT_WORDS_H

#include <pcce/abi.h>
#include "contexts/modules.h"

#pragma GCC visibility push(hidden)

#define NAMER_MODULES 4

/* Modules that one call has met, besides the executable. */
struct namer {
	struct named_module modules[NAMER_MODULES];
	unsigned int last, next;
	bool unlisted; /* the name gets no line in the dictionary */
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
	n->unlisted = false;
}

/* Finds a module that is not the executable. It lives until the call after the next one. */
const struct named_module *namer_find_other(struct namer *n, uint64_t address);

static inline const struct named_module *namer_find(struct namer *n, uint64_t address)
{
	return is_in_module(&main_module, address) ? &main_module : namer_find_other(n, address);
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
struct context_word address_word(struct namer *n, uint64_t word);
struct context_word ext_word(struct namer *n, uint64_t ext);
/* The first of `left` entries. What is below it is in memory, too. The two entries of a signal are
 * next to each other. Fill entries and origins are no elements. */
struct context_element context_element_of(struct namer *n, const struct pcce_entry *e,
					  unsigned int left);

/*
 * Adds an entry of calls to *calls, the newest calls of a list, which are one element as long as
 * they are equal. True: *done is an element of its own. Site 0: there are no calls.
 *
 * Whether the runtime counts a repetition in one entry depends on what the thread did before. In a
 * list all are counted, as far as a count reaches.
 */
static inline bool calls_add(struct pcce_entry *calls, const struct pcce_entry *e,
			     struct pcce_entry *done)
{
	uint64_t id = e->id < PCCE_ID_LOST_MIN ? e->id : PCCE_ID_LOST,
		 address = e->site & PCCE_SITE_MASK, count;

	*done = *calls;
	if (calls->id != id || (calls->site & PCCE_SITE_MASK) != address) {
		*calls = (struct pcce_entry){.id = id, .site = e->site};
		return done->site != 0;
	}
	count = (calls->site >> PCCE_SITE_BITS) + (e->site >> PCCE_SITE_BITS) + 1;
	done->site = address | PCCE_COUNT_MAX << PCCE_SITE_BITS;
	calls->site = address | count % (PCCE_COUNT_MAX + 1) << PCCE_SITE_BITS;
	return count > PCCE_COUNT_MAX;
}

/* Elements that are still in the form of entries. */
struct element_list {
	struct pcce_entry calls; /* below the entries */
	const struct pcce_entry *entries;
	unsigned int n;
};

enum taken { TAKEN_NOTHING, TAKEN_CALLS, TAKEN_ENTRY };

/* Takes the next element: *done has calls, or it is the entry before l->entries. Nothing: there is
 * none; the newest calls may be left. */
static inline enum taken entry_take(struct element_list *l, struct pcce_entry *done)
{
	while (l->n) {
		const struct pcce_entry *e = l->entries;
		uint64_t kind = e->site >> PCCE_SITE_BITS;
		bool calls = kind <= PCCE_COUNT_MAX;

		if (!calls && kind != PCCE_COUNT_FILL && l->calls.site) {
			*done = l->calls;
			l->calls.site = 0;
			return TAKEN_CALLS;
		}
		l->entries++;
		l->n--;
		if (calls && calls_add(&l->calls, e, done))
			return TAKEN_CALLS;
		if (!calls && kind != PCCE_COUNT_FILL)
			return TAKEN_ENTRY;
	}
	return TAKEN_NOTHING;
}

/* Takes the next element from the list, in the form of *x. Returns false if none is left. */
bool element_take(struct namer *n, struct element_list *l, struct context_element *x);

static inline uint64_t word_hash(const struct context_word *w)
{
	return w->value ^ (w->module ? w->module->name.a : w->unknown ? PCCE_NAME_UNKNOWN : 0);
}

static inline struct pcce_name element_step(struct pcce_name h, const struct context_element *x)
{
	return pcce_name_step(h, word_hash(&x->first), word_hash(&x->second), x->kind);
}

#pragma GCC visibility pop

#endif
