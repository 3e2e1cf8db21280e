/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Generates typed hash tables: open addressing with linear probing in an array of a power of two
 * slots. The array doubles when three quarters of it are in use; if slots have at most 8 bytes,
 * when half of it is. There is no allocation and no link per element, so a table of millions of
 * elements stays small, and a lookup of a slot is one cache miss. Large arrays are in huge pages.
 *
 *   HASH_TABLE_TYPE(NAME, SLOT);                      in a header or in a .c file
 *   HASH_TABLE_FUNCTIONS(NAME, SLOT, KEY, OWNER, IN_USE, HASH, MATCHES);      in a .c file
 *
 * define struct NAME, which is empty when it is all zeros, and static functions for it. A SLOT is
 * an element, or the index of an element in an array of the caller, plus 1. Free slots are all
 * zeros. KEY is what elements are found by. OWNER is what the functions below need to read an
 * element, mostly the structure that holds the array; void if they need nothing. Three expressions
 * use a slot `const SLOT *s`; the second and third one also use `const OWNER *o`:
 *
 *   IN_USE    false: the slot is free
 *   HASH      the hash of the key of a slot in use
 *   MATCHES   whether a slot in use has the key `const KEY *key`
 *
 * For example, in a table of indices:
 *
 *   HASH_TABLE_FUNCTIONS(name_table, uint32_t, char, struct names, *s,
 *			  hash_name(o->list[*s - 1]), !strcmp(o->list[*s - 1], key));
 *
 * The low bits of a hash choose the slot, so they must depend on the whole key. HASH is what the
 * caller passes as the hash of the same key; it is used only when the table grows.
 *
 * Generated functions:
 *
 *   int NAME_reserve(struct NAME *t, const OWNER *o, size_t n);
 *	Makes room for n elements altogether. 0, or -ENOMEM, which leaves the table as it was.
 *
 *   SLOT *NAME_slot(struct NAME *t, const OWNER *o, uint64_t hash, const KEY *key);
 *	Returns the slot of key: in use, or free if key is new. The table has room for it then.
 *	NULL: no memory; the table is as it was. To add the key, the caller passes the free slot
 *	to NAME_fill(); a caller that gives up leaves the slot as it is.
 *
 *   void NAME_fill(struct NAME *t, SLOT *s, SLOT value);
 *	Puts value into a free slot, which is in use then, and counts it. Between NAME_slot() and
 *	NAME_fill(), nothing else may be added to this table.
 *
 *   SLOT *NAME_find(const struct NAME *t, const OWNER *o, uint64_t hash, const KEY *key);
 *	Returns the slot of key, or NULL if the table does not have it. Never allocates.
 *
 *   void NAME_prefetch(const struct NAME *t, uint64_t hash);
 *	Loads the cache line that a lookup of this hash reads first.
 *
 *   void NAME_free(struct NAME *t);
 *	Frees the slots; the table is empty then.
 *
 * A slot's address is valid until the next call of NAME_slot() or NAME_reserve(). A lookup and an
 * addition take constant time on average. Elements cannot be removed. To visit all elements, walk
 * slots[0 .. n_slots) and leave out the free ones; a table of indices has the array instead. The
 * table owns its slots, and nothing that they refer to.
 *
 * Use uthash instead for elements that are removed, or allocated one by one because pointers to
 * them are kept.
 */
#ifndef PCCE_BASE_HASH_TABLE_H
#define PCCE_BASE_HASH_TABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "base/huge_alloc.h"

/* The smallest array has at most this number of bytes (or 64 slots). */
#define HASH_TABLE_LEAST 16384

/* The number of elements that an array of n_slots slots may have. */
#define HASH_TABLE_LIMIT(n_slots, SLOT) ((n_slots) / 4 * (sizeof(SLOT) > 8 ? 3 : 2))

#define HASH_TABLE_TYPE(NAME, SLOT)                                            \
	struct NAME {                                                          \
		SLOT *slots;                                                   \
		size_t n, n_slots; /* elements; slots: 0, or a power of two */ \
		size_t limit;	   /* elements that these slots may have */    \
	}

/* Ends with a declaration, so that a semicolon can follow. */
#define HASH_TABLE_FUNCTIONS(NAME, SLOT, KEY, OWNER, IN_USE, HASH, MATCHES)                     \
	static inline bool NAME##_in_use(const SLOT *s)                                         \
	{                                                                                       \
		return IN_USE;                                                                  \
	}                                                                                       \
                                                                                                \
	static inline uint64_t NAME##_slot_hash(const OWNER *o, const SLOT *s)                  \
	{                                                                                       \
		(void)o;                                                                        \
		return HASH;                                                                    \
	}                                                                                       \
                                                                                                \
	static inline bool NAME##_matches(const OWNER *o, const SLOT *s, const KEY *key)        \
	{                                                                                       \
		(void)o;                                                                        \
		return MATCHES;                                                                 \
	}                                                                                       \
                                                                                                \
	__attribute__((noinline, unused)) static int NAME##_reserve(struct NAME *t,             \
								    const OWNER *o, size_t n)   \
	{                                                                                       \
		size_t want = t->n_slots ? t->n_slots : 64;                                     \
		SLOT *slots;                                                                    \
                                                                                                \
		while (want * sizeof(SLOT) * 2 <= HASH_TABLE_LEAST ||                           \
		       n > HASH_TABLE_LIMIT(want, SLOT))                                        \
			want *= 2;                                                              \
		if (want == t->n_slots)                                                         \
			return 0;                                                               \
		slots = huge_alloc(want, sizeof(*slots));                                       \
		if (!slots)                                                                     \
			return -ENOMEM;                                                         \
		for (size_t i = 0; i < t->n_slots; i++) {                                       \
			size_t at;                                                              \
                                                                                                \
			if (!NAME##_in_use(&t->slots[i]))                                       \
				continue;                                                       \
			at = NAME##_slot_hash(o, &t->slots[i]) & (want - 1);                    \
			while (NAME##_in_use(&slots[at]))                                       \
				at = (at + 1) & (want - 1);                                     \
			slots[at] = t->slots[i];                                                \
		}                                                                               \
		huge_free(t->slots, t->n_slots, sizeof(*t->slots));                             \
		t->slots = slots;                                                               \
		t->n_slots = want;                                                              \
		t->limit = HASH_TABLE_LIMIT(want, SLOT);                                        \
		return 0;                                                                       \
	}                                                                                       \
                                                                                                \
	__attribute__((unused)) static inline SLOT *NAME##_slot(struct NAME *t, const OWNER *o, \
								uint64_t hash, const KEY *key)  \
	{                                                                                       \
		size_t at;                                                                      \
                                                                                                \
		if (t->n >= t->limit && NAME##_reserve(t, o, t->n + 1))                         \
			return NULL;                                                            \
		for (at = hash & (t->n_slots - 1); NAME##_in_use(&t->slots[at]);                \
		     at = (at + 1) & (t->n_slots - 1))                                          \
			if (NAME##_matches(o, &t->slots[at], key))                              \
				break;                                                          \
		return &t->slots[at];                                                           \
	}                                                                                       \
                                                                                                \
	__attribute__((unused)) static inline SLOT *NAME##_find(                                \
		const struct NAME *t, const OWNER *o, uint64_t hash, const KEY *key)            \
	{                                                                                       \
		if (!t->n_slots)                                                                \
			return NULL;                                                            \
		for (size_t at = hash & (t->n_slots - 1); NAME##_in_use(&t->slots[at]);         \
		     at = (at + 1) & (t->n_slots - 1))                                          \
			if (NAME##_matches(o, &t->slots[at], key))                              \
				return &t->slots[at];                                           \
		return NULL;                                                                    \
	}                                                                                       \
                                                                                                \
	__attribute__((unused)) static inline void NAME##_fill(struct NAME *t, SLOT *s,         \
							       SLOT value)                      \
	{                                                                                       \
		*s = value;                                                                     \
		t->n++;                                                                         \
	}                                                                                       \
                                                                                                \
	__attribute__((unused)) static inline void NAME##_prefetch(const struct NAME *t,        \
								   uint64_t hash)               \
	{                                                                                       \
		if (t->n_slots)                                                                 \
			__builtin_prefetch(&t->slots[hash & (t->n_slots - 1)]);                 \
	}                                                                                       \
                                                                                                \
	__attribute__((unused)) static inline void NAME##_free(struct NAME *t)                  \
	{                                                                                       \
		huge_free(t->slots, t->n_slots, sizeof(*t->slots));                             \
		*t = (struct NAME){0};                                                          \
	}                                                                                       \
	struct NAME

#endif
