/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the HTML page that shows a calling context tree, for pcce-report --format=html and
 * pcce-diff. page.c describes the data in the page.
 */
#ifndef PCCE_HTML_PAGE_H
#define PCCE_HTML_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "tree/cct.h"
#include "symbols/source_file.h"
#include "symbols/symbol_table.h"

/* How the call that leads to a node is encoded. */
enum html_call {
	HTML_CALL_UNKNOWN, /* also for inlined frames */
	HTML_CALL_NONE,
	HTML_CALL_ADD,
	HTML_CALL_EXT,
	HTML_CALL_PUSH,
	HTML_CALL_TAIL,
};

/* One of several events, which do not add up. */
struct html_event {
	const char *name;
	bool bytes;	/* weights are bytes */
	uint64_t scale; /* ns of one unit of weight; 0: it is not time */
	uint64_t samples, weight;
};

struct html_thread {
	uint32_t pid, tid;
	const char *name;     /* NULL: unknown */
	char *origin;	      /* its creation context; NULL or "": unknown */
	uint64_t first, last; /* its samples in html_page.samples: first <= i < last */
};

struct html_sample {
	uint64_t time; /* ns, on any clock */
	uint32_t node;
	uint32_t weight;
	uint32_t event; /* index into html_page.events, if there are any */
	uint32_t place; /* index into html_page.places, if there are any */
};

struct html_place { /* 0: unknown */
	uint32_t file, line;
};

struct html_source {
	uint32_t file; /* a string of the names, as in places and in the keys of the tree */
	struct source_file text;
};

struct html_page {
	const char *title;
	const struct symbol_table *names;
	const struct cct *tree; /* cct_finish() has run */
	json_t *facts;		/* an object, see page.c */

	/* The fields below may be NULL or 0. */

	/* By node: its self weight in the older recording of a comparison. Then the page shows
	 * differences. tree has the weights of the newer recording, and nodes with self 0 for
	 * contexts of the older one only. */
	const uint64_t *before;
	const uint32_t *entries; /* by node: most entries on the encoding stack in a sample of it */
	const uint8_t *calls;	 /* by node: enum html_call */
	/* If there are several events: the self weights, by node, then by event. The tree has those
	 * of the first one, by which it is sorted. */
	const struct html_event *events;
	size_t n_events;
	const uint64_t *self;
	const struct html_thread *threads;
	size_t n_threads;
	const struct html_sample *samples; /* by thread, then by event, then by time */
	size_t n_samples;
	const struct html_place *places; /* in which samples were taken */
	size_t n_places;
	const struct html_source *sources; /* files whose text is shown */
	size_t n_sources;

	/* Nodes with a smaller part of the weight of each event are left out and counted. */
	double least;
	unsigned int max_depth; /* so are nodes that are deeper; 0: none */
	size_t max_nodes; /* and the lightest nodes, so that at most this number remains; 0: none */
};

/* Returns 0 or -ENOMEM. ferror(out) tells of failed writes. */
int html_page_write(const struct html_page *page, FILE *out);

#endif
