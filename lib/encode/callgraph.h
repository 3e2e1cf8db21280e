/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the call graph of a linked module: its instrumented functions, and the callee of each
 * site.
 */
#ifndef PCCE_ENCODE_CALLGRAPH_H
#define PCCE_ENCODE_CALLGRAPH_H

#include "encode/call_counts.h"
#include "elf/relocs.h"
#include "numbering/numbering.h"
#include "elf/site_records.h"

/* A gate: gates.h. slot 0: no call is led through it. */
struct callgraph_gate {
	uint64_t slot, stub; /* the GOT slot; the stub of the linkage table, or 0 */
	uint64_t own;	     /* what the slot holds if the function is not replaced */
};

struct callgraph_func {
	uint64_t addr;
	const char *name;
	uint32_t block_flags; /* PCCE_BLOCK_* of the hot part */
	bool root;	      /* can be entered by other ways than the sites of this module */
	/*
	 * has an entry slot that some site cannot be led past, so all callers count as callers from
	 * outside
	 */
	bool fixed_entry;
	/* called by code that is no site, such as inline assembly, which saves no id */
	bool stray;
	bool has_sites;
	bool sets_id;	      /* sets the id when it is entered; encode.c decides that */
	bool sets_base;	      /* and the base of hybrid encoding */
	uint32_t entry;	      /* the entry slot, from addr */
	uint32_t entry_len;   /* 0: none */
	uint64_t entry_count; /* as in struct pcce_site_block */
	uint32_t type;	      /* the same */
	uint32_t code;	      /* of its type, in its entry slot; 0: none (callgraph_types.c) */
	struct callgraph_gate gate;
};

struct callgraph_part {
	uint64_t addr;
	uint32_t length;
	uint32_t func;
};

enum callgraph_target {
	CALLGRAPH_INSIDE, /* callee is an instrumented function of this module */
	/* any other callee that the instruction names; callee_name if it is imported */
	CALLGRAPH_OUTSIDE,
	CALLGRAPH_UNKNOWN, /* through a pointer */
	CALLGRAPH_NONE,	   /* no call: PCCE_SITE_RESTORE */
	/* callee is a type: its index behind those of the functions. A guard (callgraph_types.c) */
	CALLGRAPH_TYPE,
	CALLGRAPH_MEMBER /* no code: func is a type, and callee a function of the type */
};

/* How a site calls an imported symbol that the module itself defines. */
struct callgraph_link {
	uint64_t slot, stub; /* the GOT slot; the stub through which the site gets there, or 0 */
	uint64_t own;	     /* the module's own function; 0: it defines none */
	uint64_t field;	     /* address of the four bytes to change; 0: an unsuitable form */
	bool ifunc;	     /* the module's resolver chooses the function */
};

struct callgraph_site {
	uint64_t before, after; /* as in the record, but addresses */
	uint8_t before_len, after_len;
	uint16_t flags; /* PCCE_SITE_* */
	uint32_t freq, line, copy, type;
	uint32_t func;
	uint32_t part; /* copies are of one part */
	enum callgraph_target target;
	uint32_t callee;	 /* CALLGRAPH_INSIDE, TYPE, MEMBER */
	uint32_t code, code_at;	 /* CALLGRAPH_TYPE: of the type; its place from a member's start */
	const char *callee_name; /* CALLGRAPH_OUTSIDE: imported symbol, or NULL */
	bool ext;		 /* calls an ext callee */
	uint32_t edge;		 /* its site in the numbering's graph; NUMBERING_NO_CALLEE: none */
	/* a push that must clear the id, since the callee does not set it; encode.c decides that */
	bool clears;
	bool id_is_zero; /* the caller has one context, so its id is 0; encode.c decides that */
	/* With hybrid encoding: adds to an id that is not 0; puts the stack offset for the base
	 * (PCCE_SITE_IF_EXPLICIT, PCCE_SITE_OFFSET). fill.c decides that. */
	bool if_explicit, offset;
	/*
	 * start of the restore site where its exceptions land; of a restore site: start of the one
	 * that leads here; 0: not known
	 */
	uint64_t landing;
	uint64_t distance; /* address of the four bytes that lead to callee; 0: none do */
	/*
	 * 1 + the index of this site's guard, and of the site that a guard belongs to; 0: none. A
	 * guard is the direct call, in the before-slot of a call through a pointer, of the function
	 * that a recording has there most often, or of a type. A tail call names the call that is
	 * made if its guard fails, and that call names the guard, a direct tail call. Guards, such
	 * calls and members of types are the last sites.
	 */
	uint32_t guard, guarded;
	struct callgraph_link link;
	bool gated; /* callee is a gate, through which the site is led; callee_name remains */
};

struct callgraph {
	struct callgraph_func *funcs; /* ordered by address */
	uint32_t n_funcs;
	struct callgraph_part *parts; /* ordered by address, disjoint */
	uint32_t n_parts;
	struct callgraph_site *sites; /* ordered by address */
	uint32_t n_sites;
	uint32_t n_types; /* further nodes of the numbering's graph, behind the functions */
	/* The numbering's graph. Copies of one call are one site in it. */
	struct numbering_graph graph;
	uint8_t *graph_roots, *graph_can_enter, *graph_noted;
	uint64_t *graph_entry_count, *graph_samples;
	uint64_t *guard_samples; /* of guards, by their indices */
	struct numbering_site *graph_sites;
};

/*
 * The steps that build the graph and change it. pipeline.c has their order, and what each needs of
 * those before it. All strings point into the module's image.
 */

/* Adds functions and their parts (callgraph_build.c). fixed: no call may skip an entry slot. */
int callgraph_add_functions(struct callgraph *cg, const struct site_records *r, bool fixed,
			    struct error *why);
/* Renames functions that have another name in the linked file (callgraph_names.c). 0 or -ENOMEM. */
int callgraph_name_functions(struct callgraph *cg, const struct elf_module *m);
/* Adds sites, and finds their callees (callgraph_build.c). */
int callgraph_add_sites(struct callgraph *cg, const struct elf_module *m,
			const struct site_records *r, const struct elf_relocs *l,
			struct error *why);
/* Finds all functions that can be entered by other ways than sites (callgraph_roots.c). */
int callgraph_find_roots(struct callgraph *cg, const struct elf_module *m,
			 const struct site_records *r, const struct elf_relocs *l,
			 struct error *why);
void callgraph_find_fixed_entries(struct callgraph *cg);
/*
 * callgraph_add_edges() and callgraph_add_nodes() fill the numbering's graph. ext_fits: is the slot
 * large enough for ext?
 */
typedef bool callgraph_ext_fits(const struct callgraph_site *s, const void *ctx);
int callgraph_add_edges(struct callgraph *cg, callgraph_ext_fits *ext_fits, const void *ctx,
			struct error *why);
int callgraph_add_nodes(struct callgraph *cg, struct error *why);
/* Gives the numbering the number of samples at each site. */
int callgraph_count(struct callgraph *cg, const struct call_counts *counts, struct error *why);
/*
 * Adds guards for calls through pointers by a recording (callgraph_guards.c).
 * callgraph_drop_guards() removes those that got no value from the numbering.
 */
int callgraph_add_guards(struct callgraph *cg, const struct elf_module *m,
			 const struct call_counts *counts, struct error *why);
void callgraph_drop_guards(struct callgraph *cg, const struct numbering *n);
/*
 * Adds guards for tail calls through pointers (callgraph_tails.c), by a recording and by initial
 * values. counts: empty without a recording. fits: can the slots of the site hold a guard?
 * callgraph_give_up_tail_guards() removes those of functions that leave the graph all the same.
 */
typedef bool callgraph_tail_fits(const struct elf_module *m, const struct callgraph_site *s);
int callgraph_add_tail_guards(struct callgraph *cg, const struct elf_module *m,
			      const struct elf_relocs *l, const struct call_counts *counts,
			      callgraph_tail_fits *fits, struct error *why);
void callgraph_give_up_tail_guards(struct callgraph *cg, const struct numbering *n);
/*
 * Adds types for the other calls through pointers of an executable (callgraph_types.c).
 * callgraph_choose_types() gives codes to those that are used.
 */
#define CALLGRAPH_TYPE_CODES 180
/* Can the slots of the site hold the guard, if members have the code at code_at? */
typedef bool callgraph_typed_fits(const struct elf_module *m, const struct callgraph_site *s,
				  uint32_t code_at);
int callgraph_add_types(struct callgraph *cg, const struct elf_module *m,
			callgraph_typed_fits *fits, struct error *why);
/*
 * If no call has a value by its type, removes all types, since they change what is hot, and returns
 * true. The numbering is no longer right then.
 */
bool callgraph_remove_unused_types(struct callgraph *cg, const struct numbering *n);
int callgraph_choose_types(struct callgraph *cg, const struct numbering *n, struct error *why);
/* For what adds sites: makes room for more of them, each with an edge. Returns 0 or -1. */
int callgraph_make_room(struct callgraph *cg, size_t more);
void callgraph_add_edge(struct callgraph *cg, struct callgraph_site *s);
bool callgraph_calls_bare(const struct callgraph *cg, const struct callgraph_site *s);
void callgraph_free(struct callgraph *cg);

/* Index of the part that holds the address, or NUMBERING_NO_CALLEE. */
uint32_t callgraph_part_at(const struct callgraph *cg, uint64_t vaddr);
/*
 * The function that is entered at the address, which may be a few nops before its code; or
 * NUMBERING_NO_CALLEE.
 */
uint32_t callgraph_entered_at(const struct callgraph *cg, const struct elf_module *m,
			      uint64_t vaddr);

#endif
