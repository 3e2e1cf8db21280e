/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the direct calls that close a cycle of the unit's call graph, by a depth-first search.
 *
 * pcce-encode breaks every cycle by a push, and a push in its slot costs less than a third of one
 * by helper. It is not known before all units are linked which call this will be. But if the whole
 * cycle is within this unit, the calls that this search finds are enough to break it. So they get
 * room for a push, and pcce-encode prefers them.
 *
 * They are the back edges of a depth-first search from where the unit is entered: the calls of a
 * function that the search leaves no earlier than the caller. The graph is the one after all
 * decisions on inlining, when the first function is about to be compiled. This holds with -flto,
 * too, where another process made the decisions.
 */
#include "internal.h"

static int *
	/* For each function, by its number in the symbol table: when the search left it. */
	left_at;
static int n_known;

static int vertex_of(cgraph_node *node)
{
	return (node->inlined_to ? node->inlined_to : node)->get_uid();
}

/* First the functions where the unit is entered, then all others. */
static int search_order(const graph *g, int *order)
{
	int n = 0;

	for (int i = 0; i < g->n_vertices; i++)
		if (g->vertices[i].succ && !g->vertices[i].pred)
			order[n++] = i;
	for (int i = 0; i < g->n_vertices; i++)
		if (g->vertices[i].succ && g->vertices[i].pred)
			order[n++] = i;
	return n;
}

void recursion_find(void *, void *)
{
	cgraph_node *node;
	graph *g;
	int *order;

	if (n_known)
		return;
	g = new_graph(symtab->cgraph_max_uid);
	order = XNEWVEC(int, symtab->cgraph_max_uid);
	FOR_EACH_FUNCTION(node)
	for (cgraph_edge *e = node->callees; e; e = e->next_callee)
		if (e->inline_failed)
			add_edge(g, vertex_of(node), vertex_of(e->callee->ultimate_alias_target()));
	graphds_dfs(g, order, search_order(g, order), NULL, true, NULL);
	n_known = g->n_vertices;
	left_at = XNEWVEC(int, n_known);
	for (int i = 0; i < n_known; i++)
		left_at[i] = g->vertices[i].succ ? g->vertices[i].post : -1;
	free(order);
	free_graph(g);
}

/* -1: it calls nothing, or the search has not seen it. */
static int search_left_at(tree decl)
{
	cgraph_node *node = cgraph_node::get(decl);
	int vertex = node ? vertex_of(node->ultimate_alias_target()) : n_known;

	return vertex < n_known ? left_at[vertex] : -1;
}

bool recursion_closes_cycle(tree caller, tree callee)
{
	return search_left_at(caller) >= 0 && search_left_at(callee) >= search_left_at(caller);
}
