// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Answers pcce_stack_id() of pcce.h: the first half of the name that context_id.c computes.
 *
 * A name takes one step after the other for each entry. Keys are asked for more often, so they are
 * remembered. A *state* is what a name is made of: the entries of the current segment, the
 * generation of the segment below, which says what is below, id, ext and the place of the call. It
 * is hashed with multiplications that do not wait for each other, and a table has the keys of
 * states. Equal contexts can have several states (repetitions, for example). Each of them gets its
 * key from the name, which is the same.
 *
 * Not remembered are states with an address outside the executable, since another library can be
 * loaded there later, and those with special entries such as a signal's, whose name depends on more
 * than the state. Of the entries that say what created a thread, a name does not depend.
 *
 * The table is common to all threads, without a lock. The two words of an element are stored one
 * by one, and words that do not belong together do not fit the state.
 */
#include "base/local_libc.h"
#include "contexts/modules.h"
#include "internal.h"
#include "stack/segments_below.h"

#define KEYS 2048 /* a power of two */

static struct remembered {
	uint64_t mixed; /* the hash of the state ^ key */
	uint64_t key;
} table[KEYS];

struct state {
	const struct pcce_entry *entries; /* of the current segment, without an origin */
	uint64_t n;
	uint64_t generation; /* of the segment below */
	uint64_t id, ext, pc;
	bool has_segments;
};

static inline bool is_origin(const struct pcce_entry *e, uint64_t n)
{
	return n >= 2 && e[1].site >> PCCE_SITE_BITS == PCCE_COUNT_ORIGIN2;
}

static inline struct state read_state(uint64_t pc)
{
	uint32_t off = pcce_page.off, half = off & PCCE_OFF_HALF;
	struct state s = {
		.entries = (const struct pcce_entry *)((const char *)pcce_page.entry + half),
		.n = (off & PCCE_OFF_USED) / sizeof(struct pcce_entry),
		.id = pcce_page.id,
		.ext = page_ext(),
		.pc = pc,
		.has_segments = *(const volatile __u32 *)&pcce_page.place >> PCCE_PLACE_SHIFT,
	};

	if (s.has_segments) {
		s.generation = (&pcce_page.base)[half / sizeof(struct pcce_entry)].id;
	} else if (is_origin(s.entries, s.n)) {
		s.entries += 2;
		s.n -= 2;
	}
	return s;
}

static inline uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t state_hash(const struct state *s)
{
	uint64_t owner = (uint64_t)(uintptr_t)&pcce_page, place = 0x9e3779b97f4a7c15ULL;
	uint64_t sum = fold(s->id ^ 0x589965cc75374cc3ULL, s->ext ^ 0x1d8e4e27c47d124fULL) +
		       fold(s->pc ^ 0xe7037ed1a0b428dbULL, s->n + 0xeb44accab455d165ULL);

	/* Generations are those of one thread. */
	if (s->has_segments)
		sum += fold(s->generation ^ 0x3f84d5b5b5470917ULL, owner ^ 0x9216d5d98979fb1bULL);
	for (uint64_t i = 0; i < s->n; i++) {
		sum += fold(s->entries[i].id ^ place, s->entries[i].site + place);
		place += 0xa0761d6478bd642eULL;
	}
	return fold(sum, 0x9fb21c651e98df25ULL);
}

/* May the key of the state be remembered? */
static bool is_lasting(const struct state *s)
{
	if ((s->has_segments && !s->generation) || s->ext >> 32 ||
	    !is_in_module(&main_module, s->pc))
		return false;
	for (uint64_t i = 0; i < s->n; i++)
		if (s->entries[i].site >> PCCE_SITE_BITS > PCCE_COUNT_MAX ||
		    !is_in_module(&main_module, s->entries[i].site & PCCE_SITE_MASK))
			return false;
	return true;
}

static uint64_t key_of_name(uint64_t pc)
{
	struct pcce_id id;
	uint64_t key;

	state_name_unlisted(&id, pc);
	memcpy(&key, id.bytes, sizeof(key));
	return key;
}

__attribute__((noinline)) static uint64_t remember_key(const struct state *s, uint64_t hash,
						       volatile struct remembered *r)
{
	uint64_t key = key_of_name(s->pc);

	if (key && is_lasting(s)) {
		r->mixed = hash ^ key;
		r->key = key;
	}
	return key;
}

__attribute__((noinline)) __u64 pcce_state_key(void)
{
	struct state s = read_state((uint64_t)(uintptr_t)__builtin_return_address(0));
	volatile struct remembered *r;
	uint64_t hash, key;

	if (s.n > PCCE_SEGMENT_ENTRIES) /* the runtime is changing segments */
		return key_of_name(s.pc);
	hash = state_hash(&s);
	r = &table[hash & (KEYS - 1)];
	key = r->key;
	return key && (r->mixed ^ key) == hash ? key : remember_key(&s, hash, r);
}
