// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Names the context of the calling thread: pcce_context_id() of pcce.h. include/pcce/dictionary.h
 * says what the name is a hash of.
 *
 * The plugin takes the call for that of a leaf. So ext names it, and nothing was pushed.
 *
 * Price. The entries of the current segment are hashed each time, at most 16. A complete segment
 * does not change as long as its generation is in use, so the hash of everything below the current
 * segment is kept in a cache, under the generation that the segment's base names. The cache is
 * common to all threads, without a lock: an element that is torn does not fit its check word.
 *
 * Segments in the area are read only if the cache does not know them. A signal handler that runs
 * deeper than ever before replaces the area, so signals wait meanwhile. They need not if the
 * program may not map memory: then no area is replaced.
 */
#include <signal.h>
#include "base/confined.h"
#include "contexts/words.h"
#include "contexts/dictionary.h"
#include "internal.h"
#include "base/local_libc.h"
#include "stack/segments_below.h"
#include "base/syscall.h"

#define CACHE_SIZE 1024 /* a power of two */

/* The list of a segment's elements and all below it. */
struct list {
	struct pcce_name name;	 /* without the newest calls */
	struct pcce_entry calls; /* site 0: none */
};

struct chain {
	uint64_t page, generation;
	struct list list;
	uint64_t check;
};

static struct chain cache[CACHE_SIZE];

static uint64_t check_of(const struct chain *c)
{
	const struct list *l = &c->list;

	return pcce_name_mix(c->page ^ pcce_name_rotate(c->generation, 20)) ^
	       pcce_name_mix(l->name.a + pcce_name_rotate(l->name.b, 32) +
			     pcce_name_rotate(l->calls.id, 12) +
			     pcce_name_rotate(l->calls.site, 44)) ^
	       l->name.b;
}

static struct chain *cache_place(uint64_t generation)
{
	return &cache[(generation ^ (uint64_t)(uintptr_t)&pcce_page >> 6) & (CACHE_SIZE - 1)];
}

/* What the cache has under a thread. Names that are not listed are kept apart, since the dictionary
 * lacks the lines of their segments. */
static uint64_t cache_owner(const struct namer *n)
{
	return (uint64_t)(uintptr_t)&pcce_page | n->unlisted;
}

static bool cache_get(const struct namer *n, uint64_t generation, struct list *l)
{
	struct chain c = *(const volatile struct chain *)cache_place(generation);

	if (c.page != cache_owner(n) || c.generation != generation || c.check != check_of(&c))
		return false;
	*l = c.list;
	return true;
}

static void cache_put(const struct namer *n, uint64_t generation, const struct list *l)
{
	struct chain c = {cache_owner(n), generation, *l, 0};

	c.check = check_of(&c);
	*(volatile struct chain *)cache_place(generation) = c;
}

static const struct pcce_name seed = PCCE_NAME_SEED;

static bool names_equal(struct pcce_name a, struct pcce_name b)
{
	return a.a == b.a && a.b == b.b;
}

static bool is_seed(struct pcce_name h)
{
	return names_equal(h, seed);
}

/* The list of which only is known that it exists. */
static struct pcce_name only_gap(void)
{
	return pcce_name_step(seed, 0, 0, PCCE_ELEMENT_GAP);
}

static struct dictionary_line line_on(const struct list *below, const struct pcce_entry *entries,
				      unsigned int n_entries)
{
	bool gap = names_equal(below->name, only_gap());

	return (struct dictionary_line){
		.has_parent = !gap && !is_seed(below->name),
		.gap = gap,
		.parent = below->name,
		.list = {below->calls, entries, n_entries},
	};
}

/* Adds an entry, as context_element_of(). */
__attribute__((noinline)) static struct pcce_name
entry_step(struct namer *n, struct pcce_name h, const struct pcce_entry *e, unsigned int left)
{
	struct context_element x = context_element_of(n, e, left);

	return element_step(h, &x);
}

/* Adds calls to a name. Usually they are the program's. */
static inline struct pcce_name calls_step(struct namer *n, struct pcce_name h, struct pcce_entry e)
{
	uint64_t address = e.site & PCCE_SITE_MASK;

	if (is_in_module(&main_module, address))
		return pcce_name_step(h, e.id, (address - main_module.bias) ^ main_module.name.a,
				      e.site >> PCCE_SITE_BITS);
	return entry_step(n, h, &e, 1);
}

/* The name of the whole list. */
static inline struct pcce_name list_name(struct namer *n, struct list l)
{
	return l.calls.site ? calls_step(n, l.name, l.calls) : l.name;
}

static struct list hash_entries(struct namer *n, struct list l, const struct pcce_entry *entries,
				unsigned int count)
{
	struct element_list rest = {l.calls, entries, count};
	struct pcce_entry done;
	enum taken taken;

	while ((taken = entry_take(&rest, &done)) != TAKEN_NOTHING) {
		if (taken == TAKEN_CALLS)
			l.name = calls_step(n, l.name, done);
		else if (rest.entries[-1].site >> PCCE_SITE_BITS == PCCE_COUNT_ORIGIN2)
			l.name = seed;
		else
			l.name = entry_step(n, l.name, rest.entries - 1, rest.n + 1);
	}
	l.calls = rest.calls;
	return l;
}

/* Writes nothing if the segment completes no element. */
static void add_segment_line(struct namer *n, const struct list *below,
			     const struct pcce_entry *entries, struct pcce_name name)
{
	struct dictionary_line line = line_on(below, entries, PCCE_SEGMENT_ENTRIES);

	line.what = 's';
	line.name = name;
	if (!names_equal(name, below->name) && !n->unlisted && !dictionary_knows(name))
		dictionary_add(n, &line);
}

/* Finds the lowest segment that must be hashed, as its distance below the current one, and the list
 * of what is below it. */
static uint32_t find_hashed(const struct namer *n, const struct segments_below *s, struct list *l)
{
	uint64_t generation = s->generation;
	uint32_t k;

	*l = (struct list){.name = seed};
	for (k = 0; k < s->n; k++) {
		const struct pcce_entry *base = segment_known(s, k, generation);

		if (!base) {
			l->name = only_gap();
			break;
		}
		if (base[PCCE_SEGMENT_ENTRIES].site >> PCCE_SITE_BITS == PCCE_COUNT_ORIGIN2 ||
		    cache_get(n, generation, l))
			break;
		generation = base->id;
	}
	return k;
}

__attribute__((noinline, cold)) static void
hash_segments(struct namer *n, const struct segments_below *s, struct list *l)
{
	uint32_t k = find_hashed(n, s, l);

	/* The newest segment has the origin of a thread: nothing below it counts. */
	if (!k && s->generation && is_seed(l->name))
		cache_put(n, s->generation, l);
	while (k--) {
		const struct pcce_entry *base = segment_at(s, k);
		uint64_t generation = k ? segment_at(s, k - 1)->id : s->generation;
		struct list below = *l;

		*l = hash_entries(n, below, base + 1, PCCE_SEGMENT_ENTRIES);
		add_segment_line(n, &below, base + 1, l->name);
		cache_put(n, generation, l);
	}
}

/* Hashes everything below the current segment. */
static void hash_below(struct namer *n, struct list *l)
{
	const uint64_t all = ~0ULL;
	struct segments_below s;
	uint64_t before;
	bool block = !is_confined(CONFINED_NO_MMAP);

	*l = (struct list){.name = seed};
	if (!segments_below_read(&s) || (s.generation && cache_get(n, s.generation, l)))
		return;
	if (block)
		raw_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
	segments_below_read(&s);
	hash_segments(n, &s, l);
	if (block)
		raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

/* The elements of the call: by ext, and of the uninstrumented code that asked, unless it is the
 * very call that ext names. */
__attribute__((noinline)) static unsigned int call_elements(struct namer *n, uint64_t pc,
							    struct context_element x[2])
{
	uint64_t ext = page_ext();
	unsigned int count = 0;

	if (ext)
		x[count++] = (struct context_element){.first = id_word(pcce_page.id),
						      .second = ext_word(n, ext),
						      .kind = PCCE_ELEMENT_CALL};
	else if (pcce_page.id >= PCCE_ID_LOST_MIN)
		x[count++] = (struct context_element){.first = number_word(PCCE_ID_LOST),
						      .kind = PCCE_ELEMENT_CALL};
	if (pc && !is_call_of_ext(ext, pc))
		x[count++] = (struct context_element){.second = address_word(n, pc),
						      .kind = PCCE_ELEMENT_CODE};
	return count;
}

/* Adds what call_elements() returns to a hash. Usually the program calls, and no element need be
 * made. */
static struct pcce_name hash_call(struct namer *n, struct pcce_name h, uint64_t pc)
{
	uint64_t ext = page_ext(), id = pcce_page.id;
	struct context_element x[2];
	unsigned int count;

	if (ext >> 32 == 0 && ext > PCCE_EXT_CHANGING && main_module.size &&
	    id < PCCE_ID_LOST_MIN && is_call_of_ext(ext, pc))
		return pcce_name_step(h, id, ext ^ main_module.name.a, PCCE_ELEMENT_CALL);
	count = call_elements(n, pc, x);
	for (unsigned int i = 0; i < count; i++)
		h = element_step(h, &x[i]);
	return h;
}

static void store_name(struct pcce_id *id, struct pcce_name name)
{
	memcpy(id->bytes, &name.a, 8);
	memcpy(id->bytes + 8, &name.b, 8);
}

/* Adds the context's line. */
__attribute__((noinline, cold)) static void add_context(struct namer *n, struct pcce_name name,
							const struct list *below,
							const struct pcce_entry *entries,
							unsigned int n_entries, uint64_t pc)
{
	struct context_element more[2];
	struct dictionary_line line = line_on(below, entries, n_entries);

	line.what = 'c';
	line.name = name;
	line.more = more;
	line.n_more = call_elements(n, pc, more);
	dictionary_add(n, &line);
}

/* pc: in the code that asks; 0: that code is not part of the context. unlisted: the dictionary
 * needs no line. */
__attribute__((noinline)) static void name_state(struct pcce_id *id, uint64_t pc, bool unlisted)
{
	uint32_t off = pcce_page.off;
	const struct pcce_entry *entries =
		(const struct pcce_entry *)((const char *)pcce_page.entry + (off & PCCE_OFF_HALF));
	unsigned int n_entries = (off & PCCE_OFF_USED) / sizeof(*entries);
	struct list below, all;
	struct pcce_name h;
	struct namer n;

	store_name(id, (struct pcce_name){0, 0});
	if ((!page_ext() && !page_has_entries()) || n_entries > PCCE_SEGMENT_ENTRIES ||
	    !modules_known)
		return;
	namer_begin(&n);
	n.unlisted = unlisted;
	hash_below(&n, &below);
	all = hash_entries(&n, below, entries, n_entries);
	h = list_name(&n, all);
	if (is_seed(h) && !page_ext())
		return;
	if (is_seed(h)) { /* an origin: the thread's own stack is empty */
		below = all;
		n_entries = 0;
	}
	h = pcce_name_end(hash_call(&n, h, pc));
	store_name(id, h);
	if (!unlisted && !dictionary_knows(h))
		add_context(&n, h, &below, entries, n_entries, pc);
}

__attribute__((noinline)) void pcce_state_id(struct pcce_id *id)
{
	name_state(id, (uint64_t)(uintptr_t)__builtin_return_address(0), false);
}

void state_name_unlisted(struct pcce_id *id, uint64_t pc)
{
	name_state(id, pc, true);
}

bool state_is_of_call(uint64_t pc)
{
	return is_call_of_ext(page_ext(), pc);
}

void state_name_in_handler(struct pcce_id *id)
{
	name_state(id, 0, false);
}
