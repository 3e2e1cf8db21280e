/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds the frames of a context to the tree, from the outermost inwards. One decoded frame can
 * become several nodes: the function, and the functions that were inlined at the place of the next
 * call. A "link" is a frame together with the place that calls it. A hash table finds links. Each
 * link has the keys of its nodes, so names are looked up only once for each link. There are as many
 * links as the program has calls.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash_table.h"
#include "api/frame_names.h"
#include "tree/builder.h"

/* Compared as bytes: no padding. */
struct link {
	uint64_t
		outer_vaddr; /* link-time address of the call in the next outer frame; 0: unknown */
	uint64_t vaddr;	     /* where this frame calls on, or its instruction; 0: unknown */
	uint32_t outer_module;
	uint32_t kind, module, func, site;
	uint32_t repeat, span_nodes;
	uint32_t extra; /* frame_names_extra() */
	uint32_t flags; /* of the keys */
	uint32_t whole; /* without the functions that are inlined at vaddr */
};

/* Keys of the nodes of a link: keys[first .. first + n), outermost first. */
struct link_keys {
	uint32_t first, n;
};

HASH_TABLE_TYPE(link_table, uint32_t);

struct tree_builder {
	struct cct *tree;
	struct symbol_table *names;
	uint32_t kernel; /* number of the kernel's module; UINT32_MAX: none */
	bool inlining, no_kernel;
	struct link *links;
	struct link_keys *of_link;
	size_t n_links;
	struct link_table by_content; /* links, index + 1 */
	const struct cct_key **keys;
	size_t n_keys;
};

static uint64_t hash_link(const struct link *l)
{
	uint64_t h = 0, w;

	for (size_t i = 0; i < sizeof(*l) / 8; i++) {
		memcpy(&w, (const char *)l + i * 8, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 31;
	}
	return h;
}

HASH_TABLE_FUNCTIONS(link_table, uint32_t, struct link, struct tree_builder, *s,
		     hash_link(&o->links[*s - 1]), !memcmp(&o->links[*s - 1], key, sizeof(*key)));

struct tree_builder *tree_builder_new(struct cct *tree, struct symbol_table *names, bool inlining)
{
	struct tree_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->tree = tree;
	b->names = names;
	b->inlining = inlining;
	b->kernel = symbol_table_module(names, PCCE_MODULE_KERNEL);
	return b;
}

void tree_builder_leave_out_kernel(struct tree_builder *b)
{
	b->no_kernel = true;
}

void tree_builder_free(struct tree_builder *b)
{
	if (b) {
		free(b->links);
		link_table_free(&b->by_content);
		free(b->of_link);
		free(b->keys);
	}
	free(b);
}

/* ---- names and places ------------------------------------------------------------ */

static struct tree_place frame_place(const struct tree_builder *b, const struct decode_space *as,
				     const struct decode_frame *f)
{
	return (struct tree_place){.module = f->module,
				   .vaddr = frame_names_vaddr(b->names, as, f)};
}

static size_t inline_levels(const struct tree_builder *b, const struct decode_space *as,
			    const struct decode_frame *f)
{
	struct tree_place p = frame_place(b, as, f);
	const struct symbol_table_entry *chain;
	size_t n = b->inlining && f->kind == DECODE_FRAME_CALL && !f->whole
			   ? frame_names_chain(b->names, p.module, p.vaddr, &chain)
			   : 1;

	return n ? n : 1;
}

/* Sets the file and line of a call: those of the innermost inlined function at the call
 * instruction. */
static void set_call_place(const struct tree_builder *b, const struct link *l, struct cct_key *key)
{
	const struct symbol_table_entry *chain;
	size_t n = frame_names_chain(b->names, l->outer_module, l->outer_vaddr, &chain);

	key->call = l->outer_vaddr;
	if (n && !b->inlining)
		chain += n - 1; /* the line in the function itself */
	if (n && chain->line) {
		key->file = chain->file;
		key->line = chain->line;
	}
}

/* ---- nodes ----------------------------------------------------------------------- */

static int add_key(struct tree_builder *b, const struct cct_key *key)
{
	if (array_grow(&b->keys, b->n_keys, sizeof(const struct cct_key *)))
		return -ENOMEM;
	b->keys[b->n_keys] = cct_intern(b->tree, key);
	return b->keys[b->n_keys++] ? 0 : -ENOMEM;
}

static int make_keys(struct tree_builder *b, const struct link *l)
{
	struct cct_key key = {
		.kind = l->kind,
		.flags = l->flags,
		.module = l->module,
		.func = l->func,
		.repeat = l->repeat,
		.span = l->span_nodes,
	};
	const struct frame_names_key name = {
		.vaddr = l->vaddr,
		.kind = l->kind,
		.module = l->module,
		.func = l->func,
		.outer_module = l->outer_module,
		.extra = l->extra,
	};
	const struct symbol_table_entry *chain;
	size_t n = l->kind == DECODE_FRAME_CALL
			   ? frame_names_chain(b->names, l->module, l->vaddr, &chain)
			   : 0;
	int r;

	set_call_place(b, l, &key);
	key.name = frame_names_get(b->names, &name);
	if (key.name == UINT32_MAX)
		return -ENOMEM;
	r = add_key(b, &key);
	for (; n > 1 && b->inlining && !l->whole && !r; n--) {
		struct cct_key inlined = {
			.kind = DECODE_FRAME_CALL,
			.flags = CCT_INLINED,
			.module = l->module,
			.func = l->func,
			.name = chain[n - 2].function,
			.file = chain[n - 1].file,
			.line = chain[n - 1].line,
		};

		r = add_key(b, &inlined);
	}
	return r;
}

/* Not inlined, so that link_of() saves fewer registers. */
__attribute__((noinline)) static uint32_t add_link(struct tree_builder *b, const struct link *l,
						   uint32_t *slot)
{
	uint32_t first = b->n_keys;

	if (array_grow(&b->links, b->n_links, sizeof(*l)) ||
	    array_grow(&b->of_link, b->n_links, sizeof(*b->of_link)))
		return UINT32_MAX;
	if (make_keys(b, l))
		return UINT32_MAX;
	b->links[b->n_links] = *l;
	b->of_link[b->n_links] = (struct link_keys){first, b->n_keys - first};
	link_table_fill(&b->by_content, slot, ++b->n_links);
	return b->n_links - 1;
}

/* Returns the number of a link; UINT32_MAX: no memory. */
static uint32_t link_of(struct tree_builder *b, const struct link *l)
{
	uint32_t *slot = link_table_slot(&b->by_content, b, hash_link(l), l);

	if (!slot)
		return UINT32_MAX;
	return *slot ? *slot - 1 : add_link(b, l, slot);
}

uint32_t tree_builder_end(struct tree_builder *b, uint32_t parent, uint32_t link)
{
	struct link_keys k = b->of_link[link];
	uint32_t node = parent;

	for (uint32_t i = 0; i < k.n && node != UINT32_MAX; i++)
		node = cct_child_of(b->tree, node, b->keys[k.first + i]);
	return node;
}

/* Adds one frame below `parent` and returns its innermost node; UINT32_MAX: no memory. */
static uint32_t add_frame_nodes(struct tree_builder *b, uint32_t parent, const struct link *l)
{
	uint32_t link = link_of(b, l);

	return link == UINT32_MAX ? UINT32_MAX : tree_builder_end(b, parent, link);
}

/* Returns the number of nodes of a repeated group: its frames and the functions inlined in them. */
static uint32_t span_nodes(const struct tree_builder *b, const struct decode_space *as,
			   const struct decode_context *ctx, size_t i)
{
	size_t n = 0;

	for (size_t j = i + 1 - ctx->frames[i].span; j <= i; j++)
		n += inline_levels(b, as, &ctx->frames[j]);
	return n;
}

static uint32_t add_special_node(struct tree_builder *b, uint32_t parent,
				 enum decode_frame_kind kind, uint32_t flags, const char *name)
{
	struct cct_key key = {
		.kind = kind,
		.flags = flags,
		.module = UINT32_MAX,
		.func = PCCE_NONE,
		.name = symbol_table_intern(b->names, name),
	};

	return key.name == UINT32_MAX || parent == UINT32_MAX ? UINT32_MAX
							      : cct_child(b->tree, parent, &key);
}

uint32_t tree_builder_label(struct tree_builder *b, const char *key, const char *value)
{
	char name[512];

	if (value)
		snprintf(name, sizeof(name), "%s=%s", key, value);
	else
		snprintf(name, sizeof(name), "[no %s]", key);
	return add_special_node(b, 0, DECODE_FRAME_ORIGIN, 0, name);
}

void tree_builder_line(const struct tree_builder *b, struct tree_place p, struct tree_line *line)
{
	const struct symbol_table_entry *chain;
	size_t n = frame_names_chain(b->names, p.module, p.vaddr, &chain);

	*line = (struct tree_line){0};
	if (!n)
		return;
	if (!b->inlining)
		chain += n - 1;
	if (chain->line)
		*line = (struct tree_line){chain->file, chain->line};
}

/* line: where it is called; only user code has lines. */
static uint32_t add_kernel_name(struct tree_builder *b, uint32_t parent, uint32_t name,
				uint32_t module, const struct tree_line *line)
{
	struct cct_key key = {.kind = DECODE_FRAME_FOREIGN,
			      .flags = CCT_KERNEL,
			      .module = module,
			      .func = PCCE_NONE,
			      .name = name,
			      .file = line->file,
			      .line = line->line};

	return name == UINT32_MAX ? UINT32_MAX : cct_child(b->tree, parent, &key);
}

static uint32_t add_kernel_node(struct tree_builder *b, uint32_t parent, uint64_t address,
				const struct tree_line *line)
{
	bool known;
	uint32_t name = frame_names_kernel(b->names, b->kernel, address, &known);

	return add_kernel_name(b, parent, name, known ? b->kernel : UINT32_MAX, line);
}

uint32_t tree_builder_kernel(struct tree_builder *b, uint32_t parent, const uint64_t *frames,
			     size_t n, struct tree_place user)
{
	struct tree_line line;
	uint32_t node = parent;

	if (b->no_kernel)
		return parent;
	tree_builder_line(b, user, &line);
	if (!n)
		return add_kernel_node(b, parent, 0, &line);
	if (frames[n - 1] < PCCE_WAITS) {
		node = add_kernel_name(b, node, frame_names_wait(b->names, b->kernel, frames, n),
				       UINT32_MAX, &line);
		line = (struct tree_line){0};
		n--;
	}
	/* Outer frames may be missing. */
	if (n >= PCCE_KERNEL_FRAMES_MAX && node != UINT32_MAX) {
		node = add_kernel_node(b, node, 0, &line);
		line = (struct tree_line){0};
	}
	while (n && node != UINT32_MAX) {
		node = add_kernel_node(b, node, frames[--n], &line);
		line = (struct tree_line){0};
	}
	return node;
}

int tree_builder_add(struct tree_builder *b, const struct decode_space *as,
		     const struct decode_context *ctx, const struct tree_spot *below,
		     size_t without, struct tree_spot *spot)
{
	struct tree_place nowhere = {.module = UINT32_MAX}, outer = below ? below->call : nowhere,
			  innermost = below ? below->innermost : nowhere;
	uint32_t node = below ? below->node : 0;

	if (ctx->status == DECODE_OUTSIDE)
		node = add_special_node(b, node, DECODE_FRAME_GAP, 0, FRAME_NAMES_NO_PAGE);
	if (ctx->status == DECODE_UNKEPT)
		node = add_special_node(b, node, DECODE_FRAME_GAP, 0, FRAME_NAMES_UNKEPT);
	for (size_t i = ctx->n; i-- > without && node != UINT32_MAX;) {
		const struct decode_frame *f = &ctx->frames[i];
		struct tree_place p = frame_place(b, as, f);
		struct link l = {
			.outer_vaddr = outer.vaddr,
			.outer_module = outer.module,
			.vaddr = p.vaddr,
			.kind = f->kind,
			.module = f->module,
			.func = f->func,
			.site = f->site,
			.repeat = f->repeat,
			.extra = frame_names_extra(ctx, i),
			.flags = f->restored ? CCT_RESTORED : 0,
			.whole = f->whole,
		};

		if (f->repeat)
			l.span_nodes = span_nodes(b, as, ctx, i);
		node = add_frame_nodes(b, node, &l);
		innermost = p;
		/* The place of a tail call's jump is unknown. */
		outer = p;
		if (!f->restored && (f->kind != DECODE_FRAME_CALL || f->site == PCCE_NONE))
			outer = nowhere;
	}
	*spot = (struct tree_spot){node, outer, innermost};
	return node == UINT32_MAX ? -ENOMEM : 0;
}

int tree_builder_begin(struct tree_builder *b, const struct tree_spot *spot,
		       enum decode_frame_kind kind, uint32_t func, struct tree_place p,
		       uint32_t *link)
{
	struct link l = {
		.outer_vaddr = spot->call.vaddr,
		.outer_module = spot->call.module,
		.vaddr = p.vaddr,
		.kind = kind,
		.module = p.module,
		.func = func,
		.site = PCCE_NONE,
	};

	*link = link_of(b, &l);
	if (*link == UINT32_MAX)
		return -ENOMEM;
	cct_expect(b->tree, spot->node, b->keys[b->of_link[*link].first]);
	return 0;
}
