/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes a sample and hashes its frames. A small cache of states saves most of the decoding. It is
 * indexed by hash, and a new state replaces the one at its place, so its size is fixed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "base/sorted.h"
#include "filter/context_keys.h"
#include "stream/kernel_stacks.h"
#include "filter/sample_state.h"
#include "symbols/kallsyms.h"
#include "symbols/symbolize.h"

#define CACHED (1u << 15) /* states */

/* If there are more complete segments, only the newest NEAR are decoded. */
#define MANY_SEGMENTS 64
#define NEAR 4

struct functions { /* of a module */
	bool tried;
	uint64_t identity; /* names the module: equal in all recordings of one build */
	struct symbolize_range *ranges;
	size_t n;
};

struct cached {
	uint64_t state[2], key[2]; /* state[1] 0: a free place */
};

struct context_keys {
	const struct record_modules *modules;
	struct functions **of; /* by module */
	size_t n_modules;
	uint64_t *kernel; /* starts of its functions */
	size_t n_kernel;
	bool kernel_tried;
	struct cached *cache;
	struct decode_context context;
	struct stack_store_flat flat;
	uint64_t *words; /* what is hashed */
	size_t n_words, capacity;
};

struct context_keys *context_keys_new(const struct record_modules *m)
{
	struct context_keys *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->modules = m;
	k->cache = calloc(CACHED, sizeof(*k->cache));
	if (k->cache)
		return k;
	free(k);
	return NULL;
}

void context_keys_free(struct context_keys *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->n_modules; i++) {
		free(k->of[i]->ranges);
		free(k->of[i]);
	}
	free(k->of);
	free(k->kernel);
	free(k->cache);
	decode_context_free(&k->context);
	free(k->flat.entries);
	free(k->words);
	free(k);
}

/* ---- functions ------------------------------------------------------------------- */

static uint64_t identify_module(const struct record_module *m)
{
	if (m->build_id_size)
		return XXH3_64bits(m->build_id, m->build_id_size);
	return XXH3_64bits(m->path, strlen(m->path));
}

/* Returns NULL if there is no memory. */
static struct functions *functions_of(struct context_keys *k, uint32_t module)
{
	const struct record_module *m;
	struct functions *f;

	while (k->n_modules <= module) {
		f = calloc(1, sizeof(*f));
		if (!f || array_grow(&k->of, k->n_modules, sizeof(struct functions *))) {
			free(f);
			return NULL;
		}
		k->of[k->n_modules++] = f;
	}
	f = k->of[module];
	m = record_modules_get(k->modules, module);
	if (f->tried)
		return f;
	f->tried = true;
	f->identity = identify_module(m);
	/* Without a list, each instruction is a function. */
	if (m->fd >= 0 && m->elf &&
	    symbolize_list(m->fd, m->build_id, m->build_id_size, &f->ranges, &f->n, NULL))
		f->n = 0;
	return f;
}

/* Returns the start of the function at an address, or the address itself. */
static uint64_t function_start(const struct functions *f, uint64_t vaddr)
{
	size_t n = SORTED_COUNT(i, f->n, f->ranges[i].start <= vaddr);

	return n && vaddr < f->ranges[n - 1].end ? f->ranges[n - 1].start : vaddr;
}

/* Returns 1 if the kernel's function is not known. */
static uint64_t kernel_start(struct context_keys *k, uint64_t kip)
{
	size_t n;

	if (!k->kernel_tried && kallsyms_list(&k->kernel, &k->n_kernel))
		k->n_kernel = 0;
	k->kernel_tried = true;
	n = SORTED_COUNT(i, k->n_kernel, k->kernel[i] <= kip);
	return n ? k->kernel[n - 1] : 1;
}

/* ---- hashing --------------------------------------------------------------------- */

static int hash_word(struct context_keys *k, uint64_t word)
{
	if (array_grow_from(&k->words, k->n_words, &k->capacity, 256, sizeof(*k->words)))
		return -ENOMEM;
	k->words[k->n_words++] = word;
	return 0;
}

/* Hashes frame i of the context. A call is known by its site. Other frames are known by an address:
 * the innermost one and uninstrumented code only by the function there. */
static int hash_frame(struct context_keys *k, const struct decode_space *as, size_t i)
{
	const struct decode_frame *f = &k->context.frames[i];
	const struct decode_module *m = f->address ? as->find(as, f->address) : NULL;
	struct functions *functions = NULL;
	uint64_t where = 0;
	int r = 0;

	if (f->module != UINT32_MAX || m) {
		functions = functions_of(k, m ? m->module : f->module);
		if (!functions)
			return -ENOMEM;
	}
	if (m && f->site == PCCE_NONE) {
		where = decode_link_time(m, f->address);
		if (!i || f->kind == DECODE_FRAME_FOREIGN)
			where = function_start(functions, where);
	}
	r |= hash_word(k, (uint64_t)f->kind << 32 | f->repeat);
	r |= hash_word(k, functions ? functions->identity : 0);
	r |= hash_word(k, (uint64_t)f->func << 32 | f->site);
	r |= hash_word(k, (uint64_t)f->span << 32);
	r |= hash_word(k, where);
	return r;
}

static int decode(struct context_keys *k, const struct decode_space *as,
		  const struct pcce_sample *s, const struct stack_node *below)
{
	const struct pcce_entry *entries;
	uint32_t n;
	int r = stack_store_flatten(below, s, &k->flat);

	if (r)
		return r;
	entries = k->flat.entries;
	n = k->flat.n;
	k->n_words = 0;
	if (s->n_below > MANY_SEGMENTS && n > s->n_entries + NEAR * PCCE_SEGMENT_ENTRIES) {
		entries += n - s->n_entries - NEAR * PCCE_SEGMENT_ENTRIES;
		n = s->n_entries + NEAR * PCCE_SEGMENT_ENTRIES;
		r |= hash_word(k, stack_store_hash(below));
		r |= hash_word(k, s->n_below);
		r |= hash_word(k, s->pid);
	}
	return r ? r : decode_sample(as, s, entries, n, false, true, &k->context);
}

static int hash_kernel(struct context_keys *k, const struct stream_event *e)
{
	const uint64_t *frames;
	size_t n = kernel_stacks_of(e, &frames);
	int r = n ? 0 : hash_word(k, 1);

	for (size_t i = 0; i < n && !r; i++)
		r = hash_word(k, frames[i] < PCCE_WAITS ? frames[i] : kernel_start(k, frames[i]));
	return r;
}

static int make_key(struct context_keys *k, const struct decode_space *as,
		    const struct stream_event *e, uint64_t key[2])
{
	const struct pcce_sample *s = e->sample;
	int r = decode(k, as, s, e->below);
	XXH128_hash_t h;

	for (size_t i = 0; i < k->context.n && !r; i++)
		r = hash_frame(k, as, i);
	if (!r && s->flags & PCCE_SAMPLE_KERNEL)
		r = hash_kernel(k, e);
	r = r ? r
	      : hash_word(k, (uint64_t)k->context.status << 32 | (uint64_t)k->context.reason << 16 |
				     s->event);
	if (r)
		return r;
	h = XXH3_128bits(k->words, k->n_words * sizeof(*k->words));
	key[0] = h.low64;
	key[1] = h.high64 + !h.high64; /* not both 0 */
	return 0;
}

int context_keys_find(struct context_keys *k, const struct decode_space *as, uint64_t layout,
		      const struct stream_event *e, uint64_t key[2])
{
	uint64_t state[2];
	struct cached *c;
	int r;

	sample_state(as, layout, e->sample, e->below, state);
	c = &k->cache[state[0] % CACHED];
	if (c->state[0] != state[0] || c->state[1] != state[1]) {
		r = make_key(k, as, e, c->key);
		c->state[0] = state[0];
		c->state[1] = r ? 0 : state[1];
		if (r)
			return r;
	}
	memcpy(key, c->key, sizeof(c->key));
	return 0;
}

void context_keys_add_thread(uint64_t key[2], const struct pcce_sample *s, uint64_t begin)
{
	const uint64_t words[] = {key[0], key[1], (uint64_t)s->pid << 32 | s->tid, begin};
	XXH128_hash_t h = XXH3_128bits(words, sizeof(words));

	key[0] = h.low64;
	key[1] = h.high64;
}
