/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The page of pcce-report --format=html, for anyone who has a calling context tree to
 * show.  page.c says how the data stand in the page.
 */
#ifndef PCCE_HTML_PAGE_H
#define PCCE_HTML_PAGE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include "tree/cct.h"
#include "symbols/symbol_table.h"

/* How the call that leads to a node is encoded. */
enum html_call {
	HTML_CALL_UNKNOWN, /* or inlined: there is no call */
	HTML_CALL_NONE,
	HTML_CALL_ADD,
	HTML_CALL_EXT,
	HTML_CALL_PUSH,
	HTML_CALL_TAIL,
};

struct html_thread {
	uint32_t pid, tid;
	const char *name;     /* NULL: unknown */
	char *origin;	      /* the chain of calls that created it; NULL or "": unknown */
	uint64_t first, last; /* its samples, in html_page.samples: first <= i < last */
};

struct html_sample {
	uint64_t time; /* ns, on whatever clock */
	uint32_t node;
	uint32_t weight;
};

struct html_page {
	const char *title;
	const struct symbol_table *names;
	const struct cct *tree; /* cct_finish() has run */
	json_t *facts;		/* an object, see page.c */

	/* What follows may be NULL or 0. */

	/* By node: its own weight (not its callees') in the recording that this one is compared
	 * with.  The page is then one of differences: tree holds what is now, and nodes with self 0
	 * for what was only before. */
	const uint64_t *before;
	const uint32_t *entries; /* by node: most entries on the encoding stack when a sample was
				    taken there */
	const uint8_t *calls;	 /* by node: enum html_call */
	const struct html_thread *threads;
	size_t n_threads;
	const struct html_sample
		*samples; /* those of one thread together, in the order of their times */
	size_t n_samples;

	uint64_t least;		/* nodes with a smaller total are left out, and counted as such */
	unsigned int max_depth; /* and those deeper than that; 0: none */
	size_t max_nodes;	/* and the lightest, so that no more remain; 0: any number */
};

/* 0 or -ENOMEM; ferror(out) tells of failed writes. */
int html_page_write(const struct html_page *page, FILE *out);

#endif
