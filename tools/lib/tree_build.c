/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A context is added from its outermost frame inwards.  One decoded frame can be
 * several nodes: the function, and within it those that were inlined at the place
 * of the next call.  Names are looked up only when a frame comes for the first time
 * under its parent: a table of steps, (node, frame) -> node, remembers the outcome, so
 * that the common case costs one hash lookup a frame.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/tree_build.h"

/* Compared as bytes: no padding. */
struct step_key {
	uint32_t node; /* the next outer frame's innermost node */
	uint32_t outer_module;
	uint64_t outer_vaddr; /* where that frame calls this one, link-time; 0: unknown */
	uint64_t vaddr;	      /* where this one calls on, or ip; 0: unknown */
	uint32_t kind, module, func, site;
	uint32_t repeat, span_nodes;
	uint32_t name; /* of a frame without an address */
	uint32_t reserved;
};

struct step {
	struct step_key key;
	uint64_t node;
};

struct step_slot {
	uint32_t tag;  /* upper half of the hash */
	uint32_t step; /* index + 1; 0: free */
};

struct tree_builder {
	struct cct *tree;
	struct names *names;
	uint32_t kernel; /* its module; UINT32_MAX: none */
	bool inlining;
	struct step *steps;
	size_t n, capacity;
	struct step_slot *slots;
	size_t n_slots;
};

/* Where a frame stands in its module. */
struct place {
	uint32_t module;
	uint64_t vaddr;
};

struct tree_builder *tree_builder_new(struct cct *tree, struct names *names, bool inlining)
{
	struct tree_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->tree = tree;
	b->names = names;
	b->inlining = inlining;
	b->kernel = names_module(names, PCCE_MODULE_KERNEL);
	b->n_slots = 4096;
	b->slots = calloc(b->n_slots, sizeof(*b->slots));
	if (!b->slots) {
		free(b);
		return NULL;
	}
	return b;
}

void tree_builder_free(struct tree_builder *b)
{
	if (b) {
		free(b->steps);
		free(b->slots);
	}
	free(b);
}

static uint64_t hash_step(const struct step_key *key)
{
	uint64_t h = 0, w;

	for (size_t i = 0; i < sizeof(*key) / 8; i++) {
		memcpy(&w, (const char *)key + i * 8, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 31;
	}
	return h;
}

/* The slot of a step, or the free one where it belongs. */
static struct step_slot *find_step(struct tree_builder *b, const struct step_key *key, uint64_t hash)
{
	size_t at = hash & (b->n_slots - 1);
	struct step_slot *s;

	for (s = &b->slots[at]; s->step; s = &b->slots[at]) {
		if (s->tag == (uint32_t)(hash >> 32) && !memcmp(&b->steps[s->step - 1].key, key, sizeof(*key)))
			break;
		at = (at + 1) & (b->n_slots - 1);
	}
	return s;
}

static int add_step(struct tree_builder *b, struct step_slot *slot, const struct step_key *key, uint64_t hash,
		    uint32_t node)
{
	struct step_slot *slots;
	struct step *more;
	size_t want;

	if (b->n == b->capacity) {
		want = b->capacity ? b->capacity * 2 : 1024;
		more = reallocarray(b->steps, want, sizeof(*more));
		if (!more)
			return -ENOMEM;
		b->steps = more;
		b->capacity = want;
	}
	b->steps[b->n++] = (struct step){.key = *key, .node = node};
	*slot = (struct step_slot){hash >> 32, b->n};
	if (b->n * 2 <= b->n_slots)
		return 0;
	want = b->n_slots * 2;
	slots = calloc(want, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < b->n; i++) {
		size_t at;

		hash = hash_step(&b->steps[i].key);
		for (at = hash & (want - 1); slots[at].step; at = (at + 1) & (want - 1))
			;
		slots[at] = (struct step_slot){hash >> 32, i + 1};
	}
	free(b->slots);
	b->slots = slots;
	b->n_slots = want;
	return 0;
}

/* ---- names and places ------------------------------------------------------------ */

static struct place place_of(const struct tree_builder *b, const struct address_space *as, const struct frame *f)
{
	struct place p = {.module = f->module};
	const struct mapped_module *m;

	if (f->site != PCCE_NONE) {
		const struct pcce_table_site *s = &names_table(b->names, f->module)->sites[f->site];

		p.vaddr = s->key + s->restore_len;
	} else if (f->address) {
		m = as->find(as, f->address);
		if (m)
			p.vaddr = f->address - m->start + m->vaddr;
	}
	return p;
}

/* The inline chain at a place; without inlining, its innermost line alone counts. */
static size_t chain_at(const struct tree_builder *b, struct place p, const struct symbol **chain)
{
	*chain = NULL;
	return p.module == UINT32_MAX || !p.vaddr ? 0 : names_at(b->names, p.module, p.vaddr, chain);
}

static size_t levels_of(const struct tree_builder *b, const struct address_space *as, const struct frame *f)
{
	const struct symbol *chain;
	size_t n = b->inlining && f->kind == FRAME_CALL ? chain_at(b, place_of(b, as, f), &chain) : 1;

	return n ? n : 1;
}

static uint32_t bracketed(struct tree_builder *b, const char *text)
{
	char buffer[512];

	snprintf(buffer, sizeof(buffer), "[%s]", text);
	return names_intern(b->names, buffer);
}

/* The file and line of a call: the innermost inline level at the call instruction. */
static void set_call_place(const struct tree_builder *b, struct place outer, struct cct_key *key)
{
	const struct symbol *chain;
	size_t n = chain_at(b, outer, &chain);
	const struct table *t = names_table(b->names, outer.module);
	uint32_t site;

	key->call = outer.vaddr;
	if (n && !b->inlining)
		chain += n - 1; /* as seen from the function itself */
	if (n && chain->line) {
		key->file = chain->file;
		key->line = chain->line;
		return;
	}
	if (!t || !outer.vaddr)
		return;
	site = table_site_around(t, outer.vaddr);
	if (site != PCCE_NONE)
		key->line = t->sites[site].line;
}

static uint32_t foreign_name(struct tree_builder *b, struct place p, uint32_t between)
{
	const struct symbol *chain;
	size_t n = chain_at(b, p, &chain);
	const char *base = names_base(b->names, p.module);

	if (between)
		return between;
	if (n && chain[n - 1].function)
		return chain[n - 1].function;
	return bracketed(b, *base ? base : "unknown");
}

/* The nodes of one frame under `parent`, which was left at `outer`. */
static uint32_t add_frame(struct tree_builder *b, const struct step_key *s, struct place outer)
{
	struct place p = {.module = s->module, .vaddr = s->vaddr};
	struct cct_key key = {
		.kind = s->kind,
		.module = s->module,
		.func = s->func,
		.repeat = s->repeat,
		.span = s->span_nodes,
	};
	const struct symbol *chain;
	size_t n = 0;
	uint32_t node;

	set_call_place(b, outer, &key);
	switch (s->kind) {
	case FRAME_CALL:
		n = chain_at(b, p, &chain);
		key.name = n && chain[n - 1].function ? chain[n - 1].function
						      : names_function(b->names, s->module, s->func);
		break;
	case FRAME_TAIL:
		key.name = names_function(b->names, s->module, s->func);
		break;
	case FRAME_FOREIGN:
		key.name = foreign_name(b, p, s->name);
		break;
	default:
		key.name = s->name;
	}
	if (key.name == UINT32_MAX)
		return UINT32_MAX;
	node = cct_child(b->tree, s->node, &key);
	if (!b->inlining)
		return node;
	for (; n > 1 && node != UINT32_MAX; n--) {
		struct cct_key inlined = {
			.kind = FRAME_CALL,
			.flags = CCT_INLINED,
			.module = s->module,
			.func = s->func,
			.name = chain[n - 2].function,
			.file = chain[n - 1].file,
			.line = chain[n - 1].line,
		};

		node = cct_child(b->tree, node, &inlined);
	}
	return node;
}

/* A name for frames that have no address. */
static uint32_t name_of(struct tree_builder *b, const struct context *ctx, size_t i)
{
	const struct frame *f = &ctx->frames[i], *outer = i + 1 < ctx->n ? f + 1 : NULL;
	const struct table *t;
	char text[256];
	char *at;

	switch (f->kind) {
	case FRAME_GAP:
		if (ctx->status != DECODE_UNDECODABLE || outer)
			return names_intern(b->names, "[truncated]");
		snprintf(text, sizeof(text), "[undecodable: %s]", decode_reason_name(ctx->reason));
		return names_intern(b->names, text);
	case FRAME_SIGNAL:
		return names_intern(b->names, "[signal]");
	case FRAME_FOREIGN:
		if (f->address)
			return 0;
		t = outer && outer->site != PCCE_NONE ? names_table(b->names, outer->module) : NULL;
		if (!t || !t->sites[outer->site].callee_name)
			return names_intern(b->names, "[foreign]");
		snprintf(text, sizeof(text), "%s", table_string(t, t->sites[outer->site].callee_name));
		at = strchr(text, '@');
		if (at && at != text)
			*at = 0;
		return names_demangled(b->names, text);
	default:
		return 0;
	}
}

/* Nodes of a repeated group: its frames and what is inlined in them. */
static uint32_t span_nodes(const struct tree_builder *b, const struct address_space *as, const struct context *ctx,
			   size_t i)
{
	size_t n = 0;

	if (!ctx->frames[i].repeat)
		return 0;
	for (size_t j = i + 1 - ctx->frames[i].span; j <= i; j++)
		n += levels_of(b, as, &ctx->frames[j]);
	return n;
}

static uint32_t special(struct tree_builder *b, uint32_t parent, enum frame_kind kind, uint32_t flags, const char *name)
{
	struct cct_key key = {
		.kind = kind,
		.flags = flags,
		.module = UINT32_MAX,
		.func = PCCE_NONE,
		.name = names_intern(b->names, name),
	};

	return key.name == UINT32_MAX || parent == UINT32_MAX ? UINT32_MAX : cct_child(b->tree, parent, &key);
}

static void set_line(const struct tree_builder *b, struct place p, struct tree_line *line)
{
	const struct symbol *chain;
	size_t n = chain_at(b, p, &chain);

	*line = (struct tree_line){0};
	if (!n)
		return;
	if (!b->inlining)
		chain += n - 1;
	if (chain->line)
		*line = (struct tree_line){chain->file, chain->line};
}

/* The kernel below what called it, or faulted; user: where that is. */
static uint32_t add_kernel(struct tree_builder *b, uint32_t parent, uint64_t kip, struct place user)
{
	const struct symbol *chain;
	struct place p = {b->kernel, kip};
	struct tree_line line;
	struct cct_key key = {.kind = FRAME_FOREIGN, .flags = CCT_KERNEL, .module = UINT32_MAX, .func = PCCE_NONE};

	set_line(b, user, &line);
	key.file = line.file;
	key.line = line.line;
	if (chain_at(b, p, &chain)) {
		key.module = b->kernel;
		key.name = chain->function;
	} else {
		key.name = names_intern(b->names, PCCE_MODULE_KERNEL);
	}
	return key.name == UINT32_MAX ? UINT32_MAX : cct_child(b->tree, parent, &key);
}

uint32_t tree_builder_add(struct tree_builder *b, const struct address_space *as, const struct context *ctx,
			  bool in_kernel, uint64_t kip, struct tree_line *line)
{
	struct place outer = {.module = UINT32_MAX}, innermost = outer;
	uint32_t node = 0;

	if (ctx->status == DECODE_OUTSIDE)
		node = special(b, 0, FRAME_GAP, 0, "[no thread page]");
	for (size_t i = ctx->n; i-- > 0 && node != UINT32_MAX;) {
		const struct frame *f = &ctx->frames[i];
		struct place p = place_of(b, as, f);
		struct step_key key = {
			.node = node,
			.outer_module = outer.module,
			.outer_vaddr = outer.vaddr,
			.vaddr = p.vaddr,
			.kind = f->kind,
			.module = f->module,
			.func = f->func,
			.site = f->site,
			.repeat = f->repeat,
		};
		struct step_slot *s;
		uint64_t hash;

		if (f->kind != FRAME_CALL)
			key.name = name_of(b, ctx, i);
		if (f->repeat)
			key.span_nodes = span_nodes(b, as, ctx, i);
		hash = hash_step(&key);
		s = find_step(b, &key, hash);
		if (s->step) {
			node = b->steps[s->step - 1].node;
		} else {
			node = add_frame(b, &key, outer);
			if (node != UINT32_MAX && add_step(b, s, &key, hash, node))
				node = UINT32_MAX;
		}
		innermost = p;
		/* Where a tail call jumped from is not known. */
		outer = p;
		if (f->kind != FRAME_CALL || f->site == PCCE_NONE)
			outer = (struct place){.module = UINT32_MAX};
	}
	if (in_kernel)
		return node == UINT32_MAX ? node : add_kernel(b, node, kip, innermost);
	set_line(b, innermost, line);
	return node;
}
