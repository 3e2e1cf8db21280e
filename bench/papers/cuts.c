/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cuts NAME PROGRAM TREE SOURCE...
 *
 * Counts how many calls of one counted run are pushes because ids have no room.
 *
 * PROGRAM has empty slots.  TREE is the calling context tree that count.c wrote.  A SOURCE says
 * which edges are cold:
 *
 *   WORD              the compiler's estimates, or those of a profile that the compiler used
 *   WORD=RECORDING    a recording of PROGRAM, encoded, with samples or with counts
 *   WORD=tree:TREE    the counts of a counted run
 *
 * Prints a line of comma-separated values for each source and each limit of ids; without arguments,
 * prints the names of the columns.  The graph and its numbering are those of pcce-encode, with
 * guards.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/abi.h>
#include "base/array.h"
#include "bench/papers/program.h"
#include "bench/papers/tree.h"
#include "encode/gates.h"
#include "profile/call_counts_read.h"

static const char columns[] =
	"program,source,limit,calls,pushes,cut,cut_guards,added,beyond_31_bits,"
	"edges,cut_edges,guards,largest_id";

/* The names and the values of numbering_options.limit; 0 is pcce-encode's own choice. */
static const struct limit {
	const char *name;
	uint64_t limit;
} limits[] = {{"own", 0}, {"62", PCCE_ID_LIMIT}, {"32", 1ull << 32}};

struct sums {
	uint64_t calls, pushes, cut, cut_guards, added, beyond;
};

/* The index of the site at a run-time address of the tree, among those that are no guards. */
static uint32_t site_at(const struct program *p, const struct count_file *tree, uint64_t address)
{
	const struct callgraph_site *s = program_site(p, address - tree->base + p->module.base);

	return s ? (uint32_t)(s - p->graph.sites) : NUMBERING_NO_CALLEE;
}

/* The site of a node: that of a call, or of the call that led to an entry. Returns 1; 0: there is
 * none, or -EINVAL. */
static int site_of_node(const struct program *p, const struct count_file *tree,
			const struct count_node *node, uint32_t *site, struct error *why)
{
	const struct count_node *parent = &tree->nodes[node->parent];
	bool entry = node->way == COUNT_ENTRY;

	if (entry && (!node->parent || parent->way != COUNT_CALL))
		return 0;
	*site = site_at(p, tree, entry ? parent->address : node->address);
	return *site == NUMBERING_NO_CALLEE
		       ? error_set(why, -EINVAL, "does not belong to this program")
		       : 1;
}

/* ---- counts of a tree ------------------------------------------------------------ */

static int compare_targets(const void *pa, const void *pb)
{
	const struct call_target *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

static int add_target(struct call_counts *c, const struct program *p,
		      const struct callgraph_site *s, uint64_t entered, uint64_t count)
{
	uint32_t part = callgraph_part_at(&p->graph, entered - 1);

	if (part == NUMBERING_NO_CALLEE)
		return 0;
	if (array_grow(&c->targets, c->n_targets, sizeof(*c->targets)))
		return -ENOMEM;
	c->targets[c->n_targets++] = (struct call_target){
		s->before, p->graph.funcs[p->graph.parts[part].func].addr, count, count};
	return 0;
}

static int counts_of_tree(const struct program *p, const char *path, struct call_counts *out,
			  struct error *why)
{
	const struct count_file *tree;
	int err = count_file_open(path, &tree, why);

	if (err)
		return err;
	out->all = calloc((size_t)p->graph.n_sites + 1, sizeof(*out->all));
	if (!out->all)
		return error_memory(why);
	out->n = p->graph.n_sites;
	for (uint32_t i = 0; i < p->graph.n_sites; i++)
		out->all[i].key = p->graph.sites[i].before;
	for (uint64_t i = 1; i < tree->n_nodes; i++) {
		const struct count_node *node = &tree->nodes[i];
		uint32_t site;

		err = site_of_node(p, tree, node, &site, why);
		if (err < 0)
			return err;
		if (!err)
			continue;
		if (node->way != COUNT_ENTRY) {
			out->all[site].samples += node->count;
			out->samples += node->count;
		} else if (add_target(out, p, &p->graph.sites[site],
				      node->address - tree->base + p->module.base, node->count)) {
			return error_memory(why);
		}
	}
	if (out->n_targets)
		qsort(out->targets, out->n_targets, sizeof(*out->targets), compare_targets);
	return 0;
}

static int read_counts(const char *source, const char *program, struct call_counts *out,
		       struct error *why)
{
	struct program p; /* its addresses are those of the numbered one */
	int err;

	memset(out, 0, sizeof(*out));
	if (strncmp(source, "tree:", 5))
		return call_counts_read(source, program, out, why);
	err = program_open(program, &p, why);
	if (err)
		return err;
	err = counts_of_tree(&p, source + 5, out, why);
	program_close(&p);
	return err;
}

/* ---- pushes ---------------------------------------------------------------------- */

static void add_value(uint64_t value, uint64_t count, struct sums *out)
{
	out->added += value ? count : 0;
	out->beyond += value >> 31 ? count : 0;
}

/* Adds up what the calls of one node execute. */
static void add_node(const struct program *p, const struct numbering *n, uint32_t site,
		     uint64_t count, struct sums *out)
{
	const struct callgraph_site *s = &p->graph.sites[site];

	out->calls += count;
	if (s->ext || s->edge == NUMBERING_NO_CALLEE)
		return;
	if (n->kind[s->edge] == NUMBERED_PUSH) {
		out->pushes += count;
		if (n->cut[s->edge])
			out->cut += count;
	} else if (n->kind[s->edge] == NUMBERED_VALUE) {
		add_value(n->value[s->edge], count, out);
	}
}

/* A call through a pointer that led to the function that its guard calls: not a push, if the guard
 * has a value. */
static void add_guarded(const struct program *p, const struct numbering *n, uint32_t site,
			uint64_t entered, uint64_t count, struct sums *out)
{
	const struct callgraph_site *s = &p->graph.sites[site], *g;
	uint32_t part = callgraph_part_at(&p->graph, entered - 1);

	if (!s->guard || part == NUMBERING_NO_CALLEE)
		return;
	g = &p->graph.sites[s->guard - 1];
	if (p->graph.parts[part].func != g->callee)
		return;
	if (g->ext || n->kind[g->edge] == NUMBERED_VALUE) {
		out->pushes -= count;
		if (!g->ext)
			add_value(n->value[g->edge], count, out);
	} else if (n->cut[g->edge]) {
		out->cut_guards += count;
	}
}

static int sum_tree(struct program *p, uint32_t n_sites, const struct numbering *n,
		    const struct count_file *tree, struct sums *out, struct error *why)
{
	uint32_t all = p->graph.n_sites;
	int err = 0;

	memset(out, 0, sizeof(*out));
	p->graph.n_sites = n_sites; /* site_at() searches those in order */
	for (uint64_t i = 1; err >= 0 && i < tree->n_nodes; i++) {
		const struct count_node *node = &tree->nodes[i];
		uint32_t site;

		err = site_of_node(p, tree, node, &site, why);
		if (err <= 0)
			continue;
		if (node->way == COUNT_ENTRY)
			add_guarded(p, n, site, node->address - tree->base + p->module.base,
				    node->count, out);
		else
			add_node(p, n, site, node->count, out);
	}
	p->graph.n_sites = all;
	return err < 0 ? err : 0;
}

/* Builds the graph as pcce-encode does, and numbers it for all limits. */
static int print_source(const char *name, const char *program, const struct count_file *tree,
			const char *word, const struct call_counts *counts, struct error *why)
{
	struct program p;
	uint32_t n_sites;
	int err = program_open(program, &p, why);

	if (err)
		return err;
	err = program_as_encoded(&p, why);
	n_sites = p.graph.n_sites;
	if (!err && counts)
		err = callgraph_add_guards(&p.graph, &p.module, counts, why);
	if (!err && counts)
		err = callgraph_count(&p.graph, counts, why);
	for (size_t k = 0; !err && k < sizeof(limits) / sizeof(limits[0]); k++) {
		const struct numbering_options options = {.limit = limits[k].limit};
		struct numbering n;
		struct sums s;

		if (numbering_compute(&p.graph.graph, &options, &n)) {
			err = error_memory(why);
			break;
		}
		err = sum_tree(&p, n_sites, &n, tree, &s, why);
		if (!err)
			printf("%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			       ",%" PRIu64 ",%u,%u,%u,%" PRIu64 "\n",
			       name, word, limits[k].name, s.calls, s.pushes, s.cut, s.cut_guards,
			       s.added, s.beyond, p.graph.graph.n_sites, n.n_cut,
			       p.graph.n_sites - n_sites, n.largest_id);
		numbering_free(&n);
	}
	program_close(&p);
	return err;
}

int main(int argc, char **argv)
{
	const struct count_file *tree;
	struct error why;

	if (argc == 1) {
		puts(columns);
		return EXIT_SUCCESS;
	}
	if (argc < 5) {
		fprintf(stderr, "usage: cuts NAME PROGRAM TREE SOURCE...\n");
		return 2;
	}
	if (count_file_open(argv[3], &tree, &why)) {
		fprintf(stderr, "cuts: '%s' %s\n", argv[3], why.text);
		return EXIT_FAILURE;
	}
	for (int i = 4; i < argc; i++) {
		char *word = argv[i], *file = strchr(word, '=');
		struct call_counts counts = {};

		if (file)
			*file++ = 0;
		if (file && read_counts(file, argv[2], &counts, &why)) {
			fprintf(stderr, "cuts: '%s': %s\n", file, why.text);
			return EXIT_FAILURE;
		}
		if (print_source(argv[1], argv[2], tree, word, file ? &counts : NULL, &why)) {
			fprintf(stderr, "cuts: '%s' and '%s': %s\n", argv[2], argv[3], why.text);
			return EXIT_FAILURE;
		}
		call_counts_free(&counts);
	}
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
