/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Computes sets of contexts (include/pcce/context_set.h) from an expression and encoding tables.
 *
 * The ranges of a function follow from its in-edges: an in-edge of value v holds the ids of the
 * caller, + v. Where the caller has few ranges, they are copied, with the function's own frame in
 * front, and equal neighbours are joined. Otherwise the range leads to the caller. So most
 * functions, which have no part of the expression above them, have one range.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/decode.h>
#include "api/context.h"
#include "api/set_glue.h"
#include "api/set_modules.h"
#include "base/array.h"

#define FLAT_MAX 16 /* ranges of a function whose callers' ranges are copied */

struct set_builder {
	const struct expression *e;
	struct set_modules *modules;
	struct pcce_set_func *funcs;
	bool *flat; /* of each function: its ranges lead to no caller, and are few */
	struct pcce_set_range *ranges;
	size_t n_ranges, ranges_capacity;
};

/* ---- ranges ---------------------------------------------------------------------- */

static uint32_t root_of(const struct set_module *m, uint32_t func)
{
	return m->special[func] ? m->first_func + func + 1 : 0;
}

/* From func to the call that reached it, which called `callee`. */
static uint64_t step_to_call(const struct set_builder *b, const struct set_module *m, uint32_t func,
			     uint32_t callee)
{
	uint64_t frame = expression_frame(b->e, m->parts[func]), tails;

	if (m->table.funcs[func].flags & PCCE_FUNC_TYPE)
		return PCCE_SET_IDENTITY; /* contexts omit it */
	if (callee == PCCE_NONE || callee == func)
		return frame;
	tails = set_tail_step(b->e, m, callee, func);
	return tails ? pcce_set_product(frame, tails) : PCCE_SET_UNKNOWN;
}

static int add_range(struct set_builder *b, struct pcce_set_func *f, struct pcce_set_range range)
{
	struct pcce_set_range *last = f->n ? &b->ranges[b->n_ranges - 1] : NULL;

	if (last && last->end == range.start && last->step == range.step &&
	    last->root == range.root && last->caller == PCCE_SET_NONE &&
	    range.caller == PCCE_SET_NONE) {
		last->end = range.end;
		return 0;
	}
	if (b->n_ranges >= PCCE_SET_NONE ||
	    array_grow_from(&b->ranges, b->n_ranges, &b->ranges_capacity, 1024, sizeof(*b->ranges)))
		return -ENOMEM;
	b->ranges[b->n_ranges++] = range;
	f->n++;
	return 0;
}

/* The ranges of the caller, as ranges of the function that it calls with this value. */
static int copy_ranges(struct set_builder *b, struct pcce_set_func *f,
		       const struct pcce_set_range *edge)
{
	struct pcce_set_func caller = b->funcs[edge->caller];
	int r = 0;

	for (uint32_t i = 0; i < caller.n && !r; i++) {
		struct pcce_set_range range = b->ranges[caller.first + i];

		range.start += edge->start;
		range.end += edge->start;
		range.step = pcce_set_product(edge->step, range.step);
		r = add_range(b, f, range);
	}
	return r;
}

static struct pcce_set_range range_of_edge(const struct set_builder *b, const struct set_module *m,
					   uint32_t func, const struct pcce_table_edge *e)
{
	const struct pcce_table_site *s;

	if (e->site == PCCE_NONE)
		return (struct pcce_set_range){
			.start = e->value,
			.end = e->value + 1,
			.step = step_to_call(b, m, func, e->tail),
			.caller = PCCE_SET_NONE,
			.root = root_of(m, e->tail),
		};
	s = &m->table.sites[e->site];
	return (struct pcce_set_range){
		.start = e->value,
		.end = e->value + m->table.funcs[s->func].num_cc,
		.step = step_to_call(b, m, func, s->callee),
		.caller = m->first_func + s->func,
	};
}

static int add_ranges(struct set_builder *b, const struct set_module *m, uint32_t func, bool flat)
{
	const struct pcce_table_func *tf = &m->table.funcs[func];
	struct pcce_set_func *f = &b->funcs[m->first_func + func];
	int r = 0;

	f->first = (uint32_t)b->n_ranges;
	f->n = 0;
	if (tf->flags & PCCE_FUNC_ROOT && encoding_table_in_edge(&m->table, func, 0) == PCCE_NONE)
		r = add_range(b, f,
			      (struct pcce_set_range){
				      .start = 0,
				      .end = 1,
				      .step = expression_frame(b->e, m->parts[func]),
				      .caller = PCCE_SET_NONE,
				      .root = root_of(m, func),
			      });
	for (uint32_t i = 0; i < tf->n_edges && !r; i++) {
		struct pcce_set_range range =
			range_of_edge(b, m, func, &m->table.edges[tf->first_edge + i]);

		if (flat && range.step && range.caller != PCCE_SET_NONE && b->flat[range.caller])
			r = copy_ranges(b, f, &range);
		else
			r = add_range(b, f, range);
	}
	return r;
}

static int build_func(struct set_builder *b, const struct set_module *m, uint32_t func)
{
	struct pcce_set_func *f = &b->funcs[m->first_func + func];
	int r = add_ranges(b, m, func, true);

	if (!r && f->n > FLAT_MAX) {
		b->n_ranges = f->first;
		r = add_ranges(b, m, func, false);
	}
	b->flat[m->first_func + func] = f->n <= FLAT_MAX;
	for (uint32_t i = 0; i < f->n && !r; i++)
		b->flat[m->first_func + func] &= b->ranges[f->first + i].caller == PCCE_SET_NONE &&
						 b->ranges[f->first + i].step;
	return r;
}

/* Callers come first. The call graph of the edges has no cycle. */
static int build_funcs(struct set_builder *b, const struct set_module *m)
{
	uint64_t n = m->table.head->funcs.count;
	uint32_t *stack = calloc(n + 1, sizeof(*stack)), *next = calloc(n + 1, sizeof(*next));
	bool *done = calloc(n + 1, sizeof(*done));
	int r = stack && next && done ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !r; i++) {
		size_t depth = 0;

		if (!done[i])
			stack[depth++] = i;
		while (depth && !r) {
			uint32_t func = stack[depth - 1], site;
			const struct pcce_table_func *tf = &m->table.funcs[func];

			if (next[func] == tf->n_edges) {
				done[func] = true;
				depth--;
				r = build_func(b, m, func);
				continue;
			}
			site = m->table.edges[tf->first_edge + next[func]++].site;
			if (site != PCCE_NONE && !done[m->table.sites[site].func] && depth < n)
				stack[depth++] = m->table.sites[site].func;
		}
	}
	free(stack);
	free(next);
	free(done);
	return r;
}

/* ---- places ---------------------------------------------------------------------- */

struct set_places {
	struct pcce_set_place *all;
	size_t n;
	struct pcce_set_module *modules;
};

static bool is_place(const struct pcce_table_site *s)
{
	return s->key &&
	       (s->kind == PCCE_KIND_PUSH || (s->kind == PCCE_KIND_EXT && s->callee == PCCE_NONE));
}

static int add_set_places(struct set_places *p, const struct set_module *m,
			  struct pcce_set_module *to, const struct set_glue *glue)
{
	uint64_t n_sites = m->table.head->sites.count;
	struct pcce_set_place *all;
	uint32_t n = 2;

	while (n < 2 * n_sites && n < 1u << 30)
		n *= 2;
	all = reallocarray(p->all, p->n + n, sizeof(*all));
	if (!all || n < n_sites || p->n + n >= PCCE_SET_NONE) {
		p->all = all ? all : p->all;
		return -ENOMEM;
	}
	p->all = all;
	all += p->n;
	memset(all, 0, n * sizeof(*all));
	*to = (struct pcce_set_module){
		.name_a = m->name.a,
		.name_b = m->name.b,
		.first_place = (uint32_t)p->n,
		.n_places = n,
		.program = m->table.head->flags & PCCE_TABLE_EXEC,
	};
	p->n += n;
	for (uint64_t i = 0; i < n_sites; i++) {
		const struct pcce_table_site *s = &m->table.sites[i];
		uint32_t slot = pcce_set_slot(s->key, n);

		if (!is_place(s))
			continue;
		while (all[slot].key)
			slot = (slot + 1) & (n - 1);
		all[slot] = (struct pcce_set_place){.key = s->key,
						    .func = m->first_func + s->func,
						    .callee = set_glue_callee(glue, m, s)};
	}
	return 0;
}

/* ---- all together ---------------------------------------------------------------- */

static void *append(void *to, const void *from, size_t size)
{
	if (size)
		memcpy(to, from, size);
	return (char *)to + size;
}

static int write_set(const struct set_builder *b, const struct set_places *p,
		     const struct set_glue *glue, void **set, size_t *size)
{
	struct pcce_set head = {
		.magic = PCCE_SET_MAGIC,
		.persistent = expression_frame(b->e, 0),
		.last = b->e->n,
		.n_modules = (uint32_t)b->modules->n,
		.n_funcs = b->modules->n_funcs,
		.n_ranges = (uint32_t)b->n_ranges,
		.n_places = (uint32_t)p->n,
		.n_glue = (uint32_t)glue->n,
	};
	struct pcce_name h = PCCE_NAME_SEED;
	char *image, *at;

	head.size = sizeof(head) + (uint64_t)head.n_modules * sizeof(*p->modules) +
		    (uint64_t)head.n_funcs * sizeof(*b->funcs) +
		    (uint64_t)head.n_ranges * sizeof(*b->ranges) +
		    (uint64_t)head.n_places * sizeof(*p->all) +
		    (uint64_t)head.n_glue * sizeof(*glue->all);
	image = head.size <= PCCE_SET_SIZE_MAX ? malloc(head.size) : NULL;
	if (!image)
		return -ENOMEM;
	at = append(image + sizeof(head), p->modules, head.n_modules * sizeof(*p->modules));
	at = append(at, b->funcs, head.n_funcs * sizeof(*b->funcs));
	at = append(at, b->ranges, head.n_ranges * sizeof(*b->ranges));
	at = append(at, p->all, head.n_places * sizeof(*p->all));
	append(at, glue->all, head.n_glue * sizeof(*glue->all));
	for (size_t i = sizeof(head); i < head.size; i += 16) {
		uint64_t words[2];

		memcpy(words, image + i, sizeof(words));
		h = pcce_name_step(h, words[0], words[1], 0);
	}
	head.check_a = h.a;
	head.check_b = h.b;
	memcpy(image, &head, sizeof(head));
	*set = image;
	*size = head.size;
	return 0;
}

static int build_set(const struct expression *e, struct set_modules *modules, void **set,
		     size_t *size)
{
	struct set_builder b = {.e = e,
				.modules = modules,
				.funcs = calloc(modules->n_funcs + 1, sizeof(*b.funcs)),
				.flat = calloc(modules->n_funcs + 1, sizeof(*b.flat))};
	struct set_places p = {.modules = calloc(modules->n + 1, sizeof(*p.modules))};
	struct set_glue glue = {.n = 0};
	int r = b.funcs && b.flat && p.modules ? set_glue_make(&glue, e, modules) : -ENOMEM;

	for (size_t i = 0; i < modules->n && !r; i++) {
		r = build_funcs(&b, &modules->all[i]);
		if (!r)
			r = add_set_places(&p, &modules->all[i], &p.modules[i], &glue);
	}
	if (!r)
		r = write_set(&b, &p, &glue, set, size);
	set_glue_free(&glue);
	free(b.funcs);
	free(b.flat);
	free(b.ranges);
	free(p.modules);
	free(p.all);
	return r;
}

int pcce_decode_select(const char *expression, const char *const *files, size_t n_files, void **set,
		       size_t *size, struct pcce_decode_error *why)
{
	struct set_modules modules = {.n = 0};
	struct error reason = {0};
	struct expression e;
	int r = expression_parse(expression, &e, &reason);

	*set = NULL;
	*size = 0;
	if (!r)
		r = set_modules_read(&modules, &e, files, n_files, &reason);
	if (!r && build_set(&e, &modules, set, size))
		r = error_memory(&reason);
	set_modules_free(&modules);
	expression_free(&e);
	return r ? api_error(why, &reason, r) : 0;
}

void pcce_decode_select_free(void *set)
{
	free(set);
}
