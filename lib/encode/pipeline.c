// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Encodes one module, step by step: read what the linker made, build the call graph, add guards and
 * types, number the graph, settle what the numbers leave open, patch the slots, write the table.
 *
 * Most steps add, drop or change call sites, so their order matters. For example, types take the
 * calls that have no guard, and samples are given to the edges of both. So each step names the
 * facts that it needs and the one that it gives. pipeline_run() refuses an order in which a fact
 * is missing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "elf/add_section.h"
#include "elf/encoding_note.h"
#include "encode/exports.h"
#include "encode/fill.h"
#include "encode/gates.h"
#include "encode/patch_pointer.h"
#include "encode/pipeline.h"
#include "encode/table_write.h"

static int read_page(struct pipeline *p, struct error *why)
{
	int err = patch_page_read(p->module, &p->records->entries, &p->page, why);

	p->page.hidden = !err && p->page.executable && exports_hidden(p->module);
	if (!err && p->is_hybrid && !p->page.executable)
		err = error_set(
			why, -EINVAL,
			"is a shared library, and hybrid encoding is for executables; leave "
			"out --hybrid");
	return err;
}

static int read_relocs(struct pipeline *p, struct error *why)
{
	return elf_relocs_read(p->module, &p->relocs, why);
}

static int list_functions(struct pipeline *p, struct error *why)
{
	return callgraph_add_functions(&p->graph, p->records, p->fixed_entries, why);
}

static int name_functions(struct pipeline *p, struct error *why)
{
	return callgraph_name_functions(&p->graph, p->module) ? error_memory(why) : 0;
}

static int add_sites(struct pipeline *p, struct error *why)
{
	return callgraph_add_sites(&p->graph, p->module, p->records, &p->relocs, why);
}

static int find_gates_of_sites(struct pipeline *p, struct error *why)
{
	return gates_find(&p->graph, p->module, why);
}

static int mark_roots(struct pipeline *p, struct error *why)
{
	return callgraph_find_roots(&p->graph, p->module, p->records, &p->relocs, why);
}

static int drop_parts(struct pipeline *p, struct error *why)
{
	(void)why;
	gates_drop_parts(&p->graph);
	return 0;
}

static int find_fixed_entries(struct pipeline *p, struct error *why)
{
	(void)why;
	callgraph_find_fixed_entries(&p->graph);
	return 0;
}

static int add_edges(struct pipeline *p, struct error *why)
{
	return callgraph_add_edges(&p->graph, p->ext_fits, &p->page, why);
}

static int add_nodes(struct pipeline *p, struct error *why)
{
	return callgraph_add_nodes(&p->graph, why);
}

static int add_guards(struct pipeline *p, struct error *why)
{
	return p->counts ? callgraph_add_guards(&p->graph, p->module, p->counts, why) : 0;
}

static int add_guards_of_tails(struct pipeline *p, struct error *why)
{
	const struct call_counts none = {0};

	if (p->is_hybrid)
		return 0;
	return callgraph_add_tail_guards(&p->graph, p->module, &p->relocs,
					 p->counts ? p->counts : &none, patch_tail_fits, why);
}

static int add_types_of_calls(struct pipeline *p, struct error *why)
{
	return p->page.executable && !p->is_hybrid
		       ? callgraph_add_types(&p->graph, p->module, patch_typed_fits, why)
		       : 0;
}

static int give_samples(struct pipeline *p, struct error *why)
{
	return p->counts ? callgraph_count(&p->graph, p->counts, why) : 0;
}

static int number_for_hybrid(struct pipeline *p, struct error *why)
{
	static const struct numbering_options options = {.limit = HYBRID_LIMIT};
	int err = hybrid_prepare(&p->hybrid, &p->graph, p->module, why);

	if (err)
		return err;
	if (numbering_compute(&p->graph.graph, &options, &p->numbering))
		return error_memory(why);
	return hybrid_decide(&p->hybrid, &p->graph, &p->numbering, why);
}

static int number_graph(struct pipeline *p, struct error *why)
{
	if (p->is_hybrid)
		return number_for_hybrid(p, why);
	int err = numbering_compute(&p->graph.graph, NULL, &p->numbering);

	if (!err && callgraph_remove_unused_types(&p->graph, &p->numbering)) {
		numbering_free(&p->numbering);
		err = numbering_compute(&p->graph.graph, NULL, &p->numbering);
	}
	return err ? error_memory(why) : 0;
}

static int leave_pushes(struct pipeline *p, struct error *why)
{
	(void)why;
	gates_leave_pushes(&p->graph, p->module, &p->numbering);
	return 0;
}

static int choose_types(struct pipeline *p, struct error *why)
{
	return callgraph_choose_types(&p->graph, &p->numbering, why);
}

static int give_up_tail_guards(struct pipeline *p, struct error *why)
{
	(void)why;
	callgraph_give_up_tail_guards(&p->graph, &p->numbering);
	return 0;
}

static int drop_guards(struct pipeline *p, struct error *why)
{
	(void)why;
	callgraph_drop_guards(&p->graph, &p->numbering);
	return 0;
}

static int patch_gates(struct pipeline *p, struct error *why)
{
	return gates_patch(&p->graph, p->module, p->patched, why);
}

static int write_encoding_table(struct pipeline *p, struct error *why)
{
	return table_write(p->module, &p->graph, &p->numbering, p->is_hybrid ? &p->hybrid : NULL,
			   p->records, &p->page, p->sites, &p->table, &p->table_size, why);
}

static int drop_export_version(struct pipeline *p, struct error *why)
{
	(void)why;
	exports_drop_version(p->module, p->patched);
	return 0;
}

static int write_encoding_note(struct pipeline *p, struct error *why)
{
	(void)why;
	encoding_note_write(p->module, p->table, p->table_size, p->patched);
	return 0;
}

static int add_table_section(struct pipeline *p, struct error *why)
{
	return elf_add_section(p->patched, p->module->size, PCCE_TABLE_SECTION, p->table,
			       p->table_size, &p->image, &p->size, why);
}

#define F(fact) PIPELINE_##fact

static const struct step {
	int (*run)(struct pipeline *p, struct error *why);
	uint32_t needs;
	enum pipeline_fact gives;
} steps[] = {
	/* What the linker made */
	{read_page, 0, F(PAGE)},
	{read_relocs, 0, F(RELOCS)},
	/* The call graph */
	{list_functions, 0, F(FUNCTIONS)},
	{name_functions, F(FUNCTIONS), F(NAMES)},
	{add_sites, F(RELOCS) | F(FUNCTIONS) | F(NAMES), F(SITES)},
	{find_gates_of_sites, F(SITES), F(GATES)},
	{mark_roots, F(RELOCS) | F(NAMES) | F(GATES), F(ROOTS)},
	{drop_parts, F(GATES) | F(ROOTS), F(PARTS)},
	{find_fixed_entries, F(GATES), F(FIXED_ENTRIES)},
	{add_edges, F(PAGE) | F(GATES) | F(FIXED_ENTRIES), F(EDGES)},
	{add_nodes, F(ROOTS) | F(FIXED_ENTRIES) | F(EDGES), F(GRAPH)},
	/* Further sites, in the order of the list of sites, then samples for all of them */
	{add_guards, F(PARTS) | F(GRAPH), F(GUARDS)},
	{add_guards_of_tails, F(RELOCS) | F(PARTS) | F(GUARDS), F(TAIL_GUARDS)},
	{add_types_of_calls, F(PAGE) | F(GUARDS) | F(TAIL_GUARDS), F(TYPES)},
	{give_samples, F(GUARDS) | F(TAIL_GUARDS) | F(TYPES), F(SAMPLES)},
	/* The numbering, and what it decides: indices of sites change in drop_guards() only */
	{number_graph, F(GRAPH) | F(TYPES) | F(SAMPLES), F(NUMBERS)},
	{leave_pushes, F(PARTS) | F(NUMBERS), F(CALLEES)},
	{choose_types, F(NUMBERS), F(TYPE_CODES)},
	{give_up_tail_guards, F(NUMBERS), F(TAILS_KEPT)},
	{drop_guards, F(TYPE_CODES) | F(TAILS_KEPT), F(ALL_SITES)},
	{fill_find_setters, F(CALLEES) | F(ALL_SITES), F(SETTERS)},
	/* The new image */
	{fill_sites, F(PAGE) | F(ALL_SITES) | F(SETTERS), F(SLOTS)},
	{fill_entries, F(SETTERS) | F(SLOTS), F(ENTRIES)},
	{patch_gates, F(CALLEES) | F(SLOTS), F(GATE_CODE)},
	{write_encoding_table, F(SLOTS), F(TABLE)},
	{drop_export_version, F(SLOTS), F(EXPORTS)},
	{write_encoding_note, F(SLOTS) | F(TABLE), F(NOTE)},
	{add_table_section, F(ENTRIES) | F(GATE_CODE) | F(EXPORTS) | F(NOTE), F(IMAGE)},
};

int pipeline_run(struct pipeline *p, enum pipeline_fact until, struct error *why)
{
	uint32_t known = 0;

	for (const struct step *s = steps; !(known & until); s++) {
		int err = s->needs & ~known
				  ? error_set(why, -EINVAL,
					      "reaches step %d of the encoding without facts %#x; "
					      "report this defect",
					      (int)(s - steps), (unsigned)(s->needs & ~known))
				  : s->run(p, why);

		if (err)
			return err;
		known |= s->gives;
	}
	return 0;
}

void pipeline_free(struct pipeline *p)
{
	free(p->image);
	free(p->table);
	free(p->patched);
	free(p->sites);
	numbering_free(&p->numbering);
	hybrid_free(&p->hybrid);
	callgraph_free(&p->graph);
	elf_relocs_free(&p->relocs);
	memset(p, 0, sizeof(*p));
}
