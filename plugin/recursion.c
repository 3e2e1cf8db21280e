/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which direct calls close a cycle of the unit's call graph.
 *
 * pcce-encode breaks every cycle by a push, and a push in its slot costs less than a third of one
 * by helper.  Which call it will be is not known before all units are linked; but where the whole
 * cycle lies within this unit, these calls are enough to break it, so there is room for a push at
 * them, and pcce-encode prefers them.
 *
 * They are the back edges of a depth-first search from where the unit is entered: those that lead
 * to a function which is left no earlier than the caller.  The graph is that after all decisions on
 * inlining, when the first function is about to be compiled; with -flto too, where that is another
 * process than the one that has decided.
 */
#include "internal.h"

static int *
	left_at; /* for each function, by its number in the symbol table: when the search left it */
static int n_known;

static int vertex_of(cgraph_node *node)
{
	return (node->inlined_to ? node->inlined_to : node)->get_uid();
}

/* Where the unit is entered first, then all others. */
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

/* -1: it calls nothing, or is none that the search has seen. */
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
