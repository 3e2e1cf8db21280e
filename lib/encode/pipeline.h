/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs the steps from a linked module to its encoded image. The table in pipeline.c has their
 * order. Each step changes the state below, and nothing else.
 */
#ifndef PCCE_ENCODE_PIPELINE_H
#define PCCE_ENCODE_PIPELINE_H

#include "encode/callgraph.h"
#include "encode/hybrid.h"
#include "encode/patch.h"

/* What is known of the module, each fact from the step on that gives it. */
enum pipeline_fact {
	PIPELINE_PAGE = 1u << 0,	  /* how its code reaches the thread page and the helpers */
	PIPELINE_RELOCS = 1u << 1,	  /* GOT slots, exports, addresses that are taken */
	PIPELINE_FUNCTIONS = 1u << 2,	  /* functions, and the parts of their code */
	PIPELINE_NAMES = 1u << 3,	  /* the functions' names in the linked file */
	PIPELINE_SITES = 1u << 4,	  /* sites, and where their instructions lead */
	PIPELINE_GATES = 1u << 5,	  /* sites that lead through gates, and the gates in use */
	PIPELINE_ROOTS = 1u << 6,	  /* functions that can be entered by other ways */
	PIPELINE_PARTS = 1u << 7,	  /* only parts of functions that are left */
	PIPELINE_FIXED_ENTRIES = 1u << 8, /* entry slots that a site cannot be led past */
	PIPELINE_EDGES = 1u << 9,	  /* ext sites; edges of the numbering's graph */
	PIPELINE_GRAPH = 1u << 10,	  /* the numbering's graph, without what follows */
	PIPELINE_GUARDS = 1u << 11,	  /* further sites: guards, by a recording */
	PIPELINE_TAIL_GUARDS = 1u << 12,  /* further sites: guards of tail calls */
	PIPELINE_TYPES = 1u << 13,	  /* further sites and nodes: types */
	PIPELINE_SAMPLES = 1u << 14,	  /* samples at each edge, by a recording */
	PIPELINE_NUMBERS = 1u << 15,	  /* kinds and values of edges */
	PIPELINE_CALLEES = 1u << 16,	  /* what the table says of callees: pushes pass gates */
	PIPELINE_TYPE_CODES = 1u << 17,	  /* codes of types in use */
	PIPELINE_TAILS_KEPT = 1u << 18,	  /* guards of tail calls that stay */
	PIPELINE_ALL_SITES = 1u << 19,	  /* the sites at their final indices */
	PIPELINE_SETTERS = 1u << 20,	  /* who sets the id at the start of a segment */
	PIPELINE_SLOTS = 1u << 21,	  /* the sites' slots in the copy of the image */
	PIPELINE_ENTRIES = 1u << 22,	  /* the entry slots there, and who is led past them */
	PIPELINE_GATE_CODE = 1u << 23,	  /* the gates there */
	PIPELINE_TABLE = 1u << 24,	  /* the encoding table */
	PIPELINE_EXPORTS = 1u << 25,	  /* the exported names in the copy, without our version */
	PIPELINE_NOTE = 1u << 26,	  /* the note there, with the table's name */
	PIPELINE_IMAGE = 1u << 27	  /* the copy with the table as a section */
};

struct pipeline {
	/* given */
	const struct elf_module *module;
	const struct site_records *records;
	const struct call_counts *counts; /* NULL: there is no recording */
	callgraph_ext_fits *ext_fits;	  /* of the page */
	bool is_hybrid;
	bool fixed_entries; /* no call may skip an entry slot */
	/* made */
	struct patch_page page;
	struct elf_relocs relocs;
	struct callgraph graph;
	struct numbering numbering;
	struct hybrid hybrid;
	struct pcce_table_site *sites; /* of the graph, by their indices */
	uint8_t *patched;	       /* a copy of the image */
	void *table;
	size_t table_size;
	uint8_t *image;
	size_t size;
};

/*
 * Runs the steps up to the one that gives the fact. The caller owns what was made, also after an
 * error. Returns 0, or -errno with a sentence fragment in why.
 */
int pipeline_run(struct pipeline *p, enum pipeline_fact until, struct error *why);
void pipeline_free(struct pipeline *p);

#endif
