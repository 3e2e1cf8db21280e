/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The call graph of a linked module: its instrumented functions, and what each site calls. */
#ifndef PCCE_ENCODE_CALLGRAPH_H
#define PCCE_ENCODE_CALLGRAPH_H

#include "encode/call_counts.h"
#include "elf/relocs.h"
#include "encode/numbering.h"
#include "elf/site_records.h"

struct callgraph_func {
	uint64_t addr;
	const char *name;
	uint32_t block_flags; /* PCCE_BLOCK_* of the hot part */
	bool root;	      /* may be entered by ways that are not sites of this module */
	bool fixed_entry; /* of a function with an entry slot: something that leads here cannot be
			   * made to lead behind the entry slot: all come as if from outside */
	bool stray; /* called by what is no site, as some inline assembly, and so with an id that
		       was not saved */
	bool has_sites;
	bool sets_id;	      /* when it is entered; encode decides that */
	uint32_t entry;	      /* the entry slot, from addr */
	uint32_t entry_len;   /* 0: none */
	uint64_t entry_count; /* as in struct pcce_site_block */
};

struct callgraph_part {
	uint64_t addr;
	uint32_t length;
	uint32_t func;
};

enum callgraph_target {
	CALLGRAPH_INSIDE,  /* callee is an instrumented function of this module */
	CALLGRAPH_OUTSIDE, /* anything else that the instruction names; callee_name if it is
			      imported */
	CALLGRAPH_UNKNOWN, /* through a pointer */
	CALLGRAPH_NONE	   /* no call: PCCE_SITE_RESTORE */
};

struct callgraph_site {
	uint64_t before, after; /* as in the record, but addresses */
	uint8_t before_len, after_len;
	uint16_t flags; /* PCCE_SITE_* */
	uint32_t freq, line, copy;
	uint32_t func;
	uint32_t part; /* copies are of one part */
	enum callgraph_target target;
	uint32_t callee;	 /* CALLGRAPH_INSIDE */
	const char *callee_name; /* CALLGRAPH_OUTSIDE: imported symbol, or NULL */
	bool ext;	  /* calls a leaf outside, or a function of the module that calls nothing */
	uint32_t edge;	  /* its site in graph; NUMBERING_NO_CALLEE: it has none */
	bool clears;	  /* a push: nobody else sets the callee's id; encode decides that */
	uint64_t landing; /* begin of the CALLGRAPH_NONE where its exceptions land, or which leads
			     here; 0: not known */
	uint64_t distance; /* where the four bytes stand that lead to callee; 0: none do */
};

struct callgraph {
	struct callgraph_func *funcs; /* ordered by address */
	uint32_t n_funcs;
	struct callgraph_part *parts; /* ordered by address, disjoint */
	uint32_t n_parts;
	struct callgraph_site *sites; /* ordered by address */
	uint32_t n_sites;
	/* What numbering works on. Copies of one call are one site of it. */
	struct numbering_graph graph;
	uint8_t *graph_roots, *graph_can_enter, *graph_noted;
	uint64_t *graph_entry_count, *graph_samples;
	struct numbering_site *graph_sites;
};

/* ext_fits: is the slot large enough for ext? All strings point into the module's image. */
int callgraph_build(const struct elf_module *m, const struct site_records *r,
		    const struct elf_relocs *l,
		    bool (*ext_fits)(const struct callgraph_site *s, const void *ctx),
		    const void *ctx, struct callgraph *out, struct error *why);
/* Lets numbering know how many samples came through the sites. */
int callgraph_count(struct callgraph *cg, const struct call_counts *counts, struct error *why);
void callgraph_free(struct callgraph *cg);

/* Index of the part that holds the address, or NUMBERING_NO_CALLEE. */
uint32_t callgraph_part_at(const struct callgraph *cg, uint64_t vaddr);
/* The function that is entered at the address, which may stand a few nops before its code; or
 * NUMBERING_NO_CALLEE. */
uint32_t callgraph_entered_at(const struct callgraph *cg, const struct elf_module *m,
			      uint64_t vaddr);

/* callgraph_roots.c: finds all functions that may be entered by other ways than sites. */
int callgraph_find_roots(struct callgraph *cg, const struct elf_module *m,
			 const struct site_records *r, const struct elf_relocs *l,
			 struct error *why);

#endif
