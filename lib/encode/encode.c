/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Encodes the image of one module, in this order: read the records, build the call graph, number
 * it, patch the slots, write the table, name it in the module's note, add its section, and check
 * the result.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "encode/gates.h"
#include "elf/add_section.h"
#include "elf/encoding_note.h"
#include "encode/encode.h"
#include "encode/exports.h"
#include "encode/unpatch.h"
#include "encode/patch.h"
#include "encode/patch_pointer.h"
#include "elf/encoding_table.h"
#include "encode/table_write.h"

struct state {
	struct elf_module module;
	struct site_records records;
	struct elf_relocs links;
	struct callgraph graph;
	struct numbering numbering;
	struct patch_page page;
	struct pcce_table_site *sites;
	uint8_t *patched;
	uint8_t *undone; /* the image without its former encoding, if it is encoded again */
};

static int read_existing_table(const struct elf_module *m, struct encode_output *out, bool *found,
			       struct error *why)
{
	const struct elf_section *s = elf_module_section(m, PCCE_TABLE_SECTION, NULL);
	const uint8_t *data;
	struct error reason = {0};
	struct encoding_table t;
	int err;

	*found = s != NULL;
	if (!s)
		return 0;
	data = elf_module_contents(m, s);
	if (!data)
		return error_set(
			why, -EINVAL,
			"is cut off: its encoding table lies beyond its end; link it again");
	out->table = malloc(s->size + 1);
	if (!out->table)
		return error_memory(why);
	memcpy(out->table, data, s->size);
	out->table_size = s->size;
	err = encoding_table_open(out->table, s->size, &t, &reason);
	if (err)
		return error_set(why, err, "has an encoding table that %s; link the file again",
				 reason.text);
	encoding_table_close(&t);
	return 0;
}

/* Has the module code beside that of the runtime? Without a symbol table it may have some. */
static bool has_own_functions(const struct state *s)
{
	const struct elf_section *symbols = elf_module_section(&s->module, ".symtab", NULL);
	const uint8_t *data = symbols ? elf_module_contents(&s->module, symbols) : NULL;
	const struct pcce_helper_entries *runtime = &s->records.entries;

	for (uint64_t i = 0; data && i < symbols->size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym sym;

		memcpy(&sym, data + i * sizeof(sym), sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF &&
		    sym.st_size &&
		    (sym.st_value < runtime->text || sym.st_value >= runtime->text_end))
			return true;
	}
	return !data;
}

static int check_completeness(const struct state *s, struct error *why)
{
	if (!s->records.has_entries)
		return error_set(why, -EINVAL,
				 "is instrumented, but was linked without the pcce runtime; add "
				 "`pcce-config --ldflags` to the link");
	if (!s->records.n_blocks)
		return error_set(why, -EINVAL,
				 "has the pcce runtime, but no site records; compile it with "
				 "`pcce-config --cflags`, give these flags to a link with -flto "
				 "too, and do not use --gc-sections with gold");
	return 0;
}

static enum pcce_site_kind choose_site_kind(const struct state *s,
					    const struct callgraph_site *site)
{
	if (site->target == CALLGRAPH_NONE)
		return PCCE_KIND_RESTORE;
	if (site->flags & PCCE_SITE_TAIL)
		return PCCE_KIND_TAIL;
	if (site->ext)
		return PCCE_KIND_EXT;
	switch (s->numbering.kind[site->edge]) {
	case NUMBERED_PUSH:
		return PCCE_KIND_PUSH;
	default:
		return s->numbering.value[site->edge] ? PCCE_KIND_ADD : PCCE_KIND_NONE;
	}
}

/* Does the function always have the id 0? That must be sure, or a wrong id would seem right. */
static bool has_id_zero(const struct state *s, uint32_t func)
{
	const struct callgraph_func *f = &s->graph.funcs[func];

	return s->numbering.num_cc[func] == 1 && f->sets_id && !f->fixed_entry && !f->stray &&
	       !(f->block_flags & PCCE_BLOCK_LEAF);
}

/*
 * Decides who sets the id at the start of a segment. A function that can be entered from outside
 * sets it itself, since the id has no meaning there. For all others the push site clears it.
 */
static void find_setters(struct state *s)
{
	for (uint32_t f = 0; f < s->graph.n_funcs; f++) {
		struct callgraph_func *func = &s->graph.funcs[f];

		func->sets_id = func->entry_len && (func->root || s->numbering.entered[f]);
	}
	for (uint32_t i = 0; i < s->graph.n_sites; i++) {
		struct callgraph_site *site = &s->graph.sites[i];

		if (site->target == CALLGRAPH_MEMBER)
			continue;
		site->id_is_zero = has_id_zero(s, site->func);
		site->clears =
			site->target == CALLGRAPH_INSIDE && !site->id_is_zero &&
			(site->flags & PCCE_SITE_INDIRECT || !s->graph.funcs[site->callee].sets_id);
	}
}

/*
 * Does the site lead past the callee's entry slot? An ext site does, since it keeps the id, and so
 * does any site if the slot stays empty. A tail call out of a function that only pushes lead to
 * goes through the entry slot, as a push does.
 */
static bool leads_behind_entry(const struct state *s, const struct callgraph_site *site)
{
	const struct callgraph_func *callee;

	if (site->target != CALLGRAPH_INSIDE)
		return false;
	callee = &s->graph.funcs[site->callee];
	if (site->ext || !callee->sets_id)
		return callee->entry_len && !callee->fixed_entry;
	switch (s->numbering.kind[site->edge]) {
	case NUMBERED_VALUE:
		return true;
	case NUMBERED_TAIL:
		return !s->numbering.tail_out[site->func];
	default:
		return false;
	}
}

/* Makes the slot of a tail call that has a call beside it. */
static int make_tail_slot(const struct state *s, const struct callgraph_site *site,
			  struct patch_slots *patch, struct pcce_table_site *out, struct error *why)
{
	const struct callgraph_site *call = &s->graph.sites[site->guard - 1], *guard;
	const struct callgraph_func *callee;
	struct patch_tail tail = {.call = &s->sites[site->guard - 1]};

	if (call->guard) {
		guard = &s->graph.sites[call->guard - 1];
		callee = &s->graph.funcs[guard->callee];
		tail.pointer = callee->addr;
		tail.target =
			leads_behind_entry(s, guard) ? patch_behind_entry(callee) : callee->addr;
		tail.guard = &s->sites[call->guard - 1];
	}
	return patch_make_tail(&s->page, &s->module, site, s->graph.funcs[site->func].name, &tail,
			       patch, out, why);
}

/* Makes the slots of a site with a guard. */
static int make_guarded(const struct state *s, const struct callgraph_site *site,
			struct patch_slots *patch, struct pcce_table_site *out, struct error *why)
{
	const struct callgraph_site *guard = &s->graph.sites[site->guard - 1];
	const struct callgraph_func *callee;
	enum pcce_site_kind kind = choose_site_kind(s, guard);
	uint64_t value = kind == PCCE_KIND_ADD ? s->numbering.value[guard->edge] : 0, target;

	if (site->flags & PCCE_SITE_TAIL)
		return make_tail_slot(s, site, patch, out, why);
	if (guard->target == CALLGRAPH_TYPE)
		return patch_make_typed(&s->page, &s->module, site, guard,
					s->graph.funcs[site->func].name, value, patch, out,
					&s->sites[site->guard - 1], why);
	callee = &s->graph.funcs[guard->callee];
	target = leads_behind_entry(s, guard) ? patch_behind_entry(callee) : callee->addr;

	return patch_make_guarded(&s->page, &s->module, site, s->graph.funcs[site->func].name,
				  callee->addr, target, kind, value, patch, out,
				  &s->sites[site->guard - 1], why);
}

static int patch_sites(struct state *s, struct error *why)
{
	s->patched = malloc(s->module.size + 1);
	s->sites = calloc((size_t)s->graph.n_sites + 1, sizeof(*s->sites));
	if (!s->patched || !s->sites)
		return error_memory(why);
	memcpy(s->patched, s->module.image, s->module.size);
	for (uint32_t i = 0; i < s->graph.n_sites; i++) {
		const struct callgraph_site *site = &s->graph.sites[i];
		struct pcce_table_site *out = &s->sites[i];
		const char *name;
		struct patch_slots patch = {.n_jump = 0};
		int err;

		out->kind = choose_site_kind(s, site);
		out->value = out->kind == PCCE_KIND_ADD ? s->numbering.value[site->edge] : 0;
		if (site->target == CALLGRAPH_MEMBER)
			out->key = site->before;
		if (site->guarded || site->target == CALLGRAPH_MEMBER)
			continue;
		name = s->graph.funcs[site->func].name;
		if (site->guard)
			err = make_guarded(s, site, &patch, out, why);
		else
			err = patch_make(&s->page, site, name, out->kind, out->value, &patch, out,
					 why);
		if (!err)
			err = patch_apply(&s->module, site, name, &patch, s->patched, why);
		if (err)
			return err;
	}
	return 0;
}

static int patch_entries(struct state *s, struct error *why)
{
	int err = 0;

	for (uint32_t f = 0; !err && f < s->graph.n_funcs; f++)
		if (s->graph.funcs[f].sets_id)
			err = patch_entry(&s->page, &s->module, &s->graph.funcs[f],
					  s->numbering.start[f], s->patched, why);
	for (uint32_t i = 0; !err && i < s->graph.n_sites; i++) {
		const struct callgraph_site *site = &s->graph.sites[i];

		if (!site->guarded && leads_behind_entry(s, site))
			err = patch_distance(&s->module, site, &s->graph.funcs[site->callee],
					     s->patched, why);
	}
	return err;
}

static int number_graph(struct state *s)
{
	int err = numbering_compute(&s->graph.graph, NULL, &s->numbering);

	if (err || !callgraph_remove_unused_types(&s->graph, &s->numbering))
		return err;
	numbering_free(&s->numbering);
	return numbering_compute(&s->graph.graph, NULL, &s->numbering);
}

static int run_encode_steps(struct state *s, const struct call_counts *counts,
			    struct encode_output *out, struct error *why)
{
	const struct call_counts none = {0};
	int err;

	err = patch_page_read(&s->module, &s->records.entries, &s->page, why);
	if (!err)
		err = elf_relocs_read(&s->module, &s->links, why);
	if (!err)
		err = callgraph_build(&s->module, &s->records, &s->links, patch_ext_fits, &s->page,
				      &s->graph, why);
	if (!err && counts)
		err = callgraph_add_guards(&s->graph, &s->module, counts, why);
	if (!err)
		err = callgraph_add_tail_guards(&s->graph, &s->module, &s->links,
						counts ? counts : &none, patch_tail_fits, why);
	if (!err && s->page.executable)
		err = callgraph_add_types(&s->graph, &s->module, patch_typed_fits, why);
	if (!err && counts)
		err = callgraph_count(&s->graph, counts, why);
	if (err)
		return err;
	s->page.hidden = s->page.executable && exports_hidden(&s->module);
	if (number_graph(s))
		return error_memory(why);
	gates_leave_pushes(&s->graph, &s->module, &s->numbering);
	if (callgraph_choose_types(&s->graph, &s->numbering, why))
		return -ENOMEM;
	callgraph_give_up_tail_guards(&s->graph, &s->numbering);
	callgraph_drop_guards(&s->graph, &s->numbering);
	find_setters(s);
	err = patch_sites(s, why);
	if (!err)
		err = patch_entries(s, why);
	if (!err)
		err = gates_patch(&s->graph, &s->module, s->patched, why);
	if (!err)
		err = table_write(&s->module, &s->graph, &s->numbering, &s->records, &s->page,
				  s->sites, &out->table, &out->table_size, why);
	if (err)
		return err;
	exports_drop_version(&s->module, s->patched);
	encoding_note_write(&s->module, out->table, out->table_size, s->patched);
	return elf_add_section(s->patched, s->module.size, PCCE_TABLE_SECTION, out->table,
			       out->table_size, &out->image, &out->size, why);
}

/* Checks the result as its readers will see it. */
static int check_result(const struct encode_output *e, struct error *why)
{
	const struct elf_section *s;
	const uint8_t *data;
	struct elf_module m;
	struct error reason = {0};
	struct encoding_table t;
	int err = elf_module_open(e->image, e->size, &m, why);

	if (err)
		return err;
	s = elf_module_section(&m, PCCE_TABLE_SECTION, NULL);
	data = s ? elf_module_contents(&m, s) : NULL;
	if (!data || s->size != e->table_size || memcmp(data, e->table, s->size))
		err = error_set(why, -EINVAL, "has damaged section headers");
	elf_module_close(&m);
	if (err)
		return err;
	err = encoding_table_open(e->table, e->table_size, &t, &reason);

	if (err)
		return error_set(why, err,
				 "would get an encoding table that %s; build the file again, and "
				 "report a defect if that does not help",
				 reason.text);
	encoding_table_close(&t);
	return 0;
}

static int encode_module(struct state *s, const struct call_counts *counts,
			 struct encode_output *out, struct error *why)
{
	int err = site_records_read(&s->module, &s->records, why);

	if (err)
		return err;
	if (!s->records.n_blocks && (!s->records.has_entries || !has_own_functions(s))) {
		out->result = ENCODE_NOT_FOR_US;
		return 0;
	}
	err = check_completeness(s, why);
	if (!err)
		err = run_encode_steps(s, counts, out, why);
	if (!err)
		err = check_result(out, why);
	out->result = ENCODE_DONE;
	return err;
}

/* Opens the module as it was before it was encoded. */
static int open_unpatched(struct state *s, const uint8_t *image, size_t size, struct error *why)
{
	int err;

	elf_module_close(&s->module);
	s->undone = malloc(size + 1);
	if (!s->undone)
		return error_memory(why);
	memcpy(s->undone, image, size);
	err = unpatch(s->undone, size, why);
	return err ? err : elf_module_open(s->undone, size, &s->module, why);
}

int encode_image(const uint8_t *image, size_t size, const struct call_counts *counts,
		 struct encode_output *out, struct error *why)
{
	struct state s = {};
	bool found = false;
	int err;

	memset(out, 0, sizeof(*out));
	err = elf_module_open(image, size, &s.module, why);
	if (!err)
		err = read_existing_table(&s.module, out, &found, why);
	if (!err && found && counts) {
		encode_output_free(out);
		found = false;
		err = open_unpatched(&s, image, size, why);
	}
	if (!err && found)
		out->result = ENCODE_ALREADY;
	else if (!err)
		err = encode_module(&s, counts, out, why);
	free(s.sites);
	free(s.patched);
	numbering_free(&s.numbering);
	callgraph_free(&s.graph);
	elf_relocs_free(&s.links);
	site_records_free(&s.records);
	elf_module_close(&s.module);
	free(s.undone);
	if (err)
		encode_output_free(out);
	if (err == -ENOMEM)
		error_set(why, err, "needs more memory than is available");
	return err;
}

bool encode_hides_runtime(const struct encode_output *e)
{
	const struct pcce_table *head = e->table;

	return head && head->flags & PCCE_TABLE_HIDDEN;
}

void encode_output_free(struct encode_output *e)
{
	free(e->image);
	free(e->table);
	memset(e, 0, sizeof(*e));
}
