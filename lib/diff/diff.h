/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two profiles in one tree: what was before, and what is now.  Contexts of one build are told apart
 * by their calls, those of different builds by the names of their functions, without what GCC adds
 * to these.  How often a repetition repeats does not matter.
 *
 * Counts are samples, since only of these it is known how far chance moves them.
 */
#ifndef PCCE_DIFF_DIFF_H
#define PCCE_DIFF_DIFF_H

#include "profile/profile.h"

enum diff_by {
	DIFF_BY_BUILD /* calls if both are of one build, else names */,
	DIFF_BY_CALLS,
	DIFF_BY_NAMES
};

struct diff_counts {
	uint64_t self, total; /* samples */
};

struct diff {
	const struct profile *before, *now;
	struct symbol_table *names; /* those of now */
	struct cct tree;	    /* of what is now: self, and total, are samples; finished */
	struct diff_counts *was;    /* by node */
	bool by_names;
	char other[512]; /* why the builds are not one; "" if they are */
};

/* 0 or -ENOMEM. The profiles must outlive it; strings are added to the names of now. */
int diff_new(const struct profile *before, const struct profile *now, enum diff_by by,
	     struct diff *d);
void diff_free(struct diff *d);

/* A change of a share, and how sure it is. */
struct diff_change {
	uint64_t was, is;	    /* samples */
	double share_was, share_is; /* of all, percent */
	double change;		    /* percentage points */
	double low, high;	    /* it lies between these with 95% confidence */
	double p;		    /* how often chance alone makes one as large */
	double q; /* of all that are as sure as this, so many are due to chance: see diff_judge() */
};

/* Of counts of all samples; q is 1. */
struct diff_change diff_change(uint64_t was, uint64_t of_was, uint64_t is, uint64_t of_is);
/* Sets q of each (Benjamini and Hochberg): the false discovery rate. 0 or -ENOMEM. */
int diff_judge(struct diff_change *changes, size_t n);

/* Changes of functions (with all they call, or themselves), or of contexts. */
enum diff_what { DIFF_TOTALS, DIFF_SELVES, DIFF_CONTEXTS };
struct diff_row {
	uint32_t name; /* string of the names; of DIFF_CONTEXTS: 0 */
	uint32_t node; /* of DIFF_CONTEXTS */
	struct diff_change change;
};
/* Judged, and sorted by how far they are from none. To be freed. 0 or -ENOMEM. */
int diff_rows(const struct diff *d, enum diff_what what, struct diff_row **rows, size_t *n);

/* ---- formats: 0 or -ENOMEM ---- */

struct diff_options {
	double max_q;	      /* changes that are less sure are left out */
	double min_percent;   /* and those that are smaller, in percentage points */
	size_t max_rows;      /* of each table; 0: any number */
	const char *names[2]; /* of the recordings */
};
int diff_text(const struct diff *d, const struct diff_options *o, FILE *out);
int diff_json(const struct diff *d, const struct diff_options *o, FILE *out);
int diff_folded(const struct diff *d, const struct diff_options *o, FILE *out);
int diff_html(const struct diff *d, const struct diff_options *o, FILE *out);
/* Of profiles with single samples. */
int diff_pprof(const struct diff *d, const struct diff_options *o, FILE *out);

#endif
