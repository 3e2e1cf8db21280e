/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Compares two profiles in one tree with the counts of both. Contexts of one build are equal if
 * their calls are equal. Contexts of different builds are equal if the names of their functions
 * are, without the suffixes that GCC adds. The number of repetitions does not matter, unless
 * DIFF_BY_CONTEXTS asks for it.
 *
 * Counts are numbers of samples, because only their random variation is known. Absolute values are
 * these numbers, times the mean value of a sample.
 */
#ifndef PCCE_DIFF_DIFF_H
#define PCCE_DIFF_DIFF_H

#include "profile/profile.h"

enum diff_by {
	DIFF_BY_BUILD /* calls if the builds are equal, else names */,
	DIFF_BY_CONTEXTS /* the same, and numbers of repetitions if the builds are equal */,
	DIFF_BY_CALLS,
	DIFF_BY_NAMES
};

struct diff_counts {
	uint64_t self, total; /* samples */
};

struct diff {
	const struct profile *before, *now;
	struct symbol_table *names; /* the table of `now` */
	struct cct tree; /* the merged tree, finished; self and total are the samples of `now` */
	struct diff_counts *was; /* samples of `before` by node */
	bool by_names, by_repetitions;
	double value_was, value_is; /* of a sample: of time in ms, else of the event */
	const char *unit;	    /* "ms", or "" for other events */
	const char *what;	    /* what the values are: "time", "bytes" or "events" */
	char other[512];	    /* why the builds are different; "" if they are equal */
};

/* Returns 0 or -ENOMEM. The profiles must outlive the result. It adds strings to the symbol table
 * of `now`. */
int diff_new(const struct profile *before, const struct profile *now, enum diff_by by,
	     struct diff *d);
void diff_free(struct diff *d);

/* A change of a share, and its significance. */
struct diff_change {
	uint64_t was, is;	    /* samples */
	double share_was, share_is; /* percent of all samples */
	double change;		    /* percentage points */
	double low, high;	    /* 95% confidence interval of the change */
	double p;		    /* probability that chance alone causes a change as large */
	double q;		    /* false discovery rate, see diff_judge() */
};

/* Computes a change from samples (was, is) of all samples (of_was, of_is); q is 1. */
struct diff_change diff_change(uint64_t was, uint64_t of_was, uint64_t is, uint64_t of_is);
/* Computes a change of absolute values: of samples (was, is) that have these values each. The
 * shares are values, and so are the change and its interval. */
struct diff_change diff_absolute(uint64_t was, double value_was, uint64_t is, double value_is);
/* Sets q of each change to its false discovery rate (Benjamini and Hochberg): the part of all
 * changes with this q or a smaller one that is due to chance. 0 or -ENOMEM. */
int diff_judge(struct diff_change *changes, size_t n);

/* Changes of functions (total or self), or of contexts. */
enum diff_what { DIFF_TOTALS, DIFF_SELVES, DIFF_CONTEXTS };
struct diff_row {
	uint32_t name; /* string of the symbol table; 0 for DIFF_CONTEXTS */
	uint32_t node; /* for DIFF_CONTEXTS */
	struct diff_change share, absolute;
};
/* Returns rows with their q, largest change first: of the share, or of the absolute value. The
 * caller frees them. 0 or -ENOMEM. */
int diff_rows(const struct diff *d, enum diff_what what, bool absolute, struct diff_row **rows,
	      size_t *n);

/* ---- formats: 0 or -ENOMEM ---- */

struct diff_options {
	double max_q;	      /* changes with a larger q are left out */
	double min_percent;   /* smaller changes (percentage points) are left out */
	size_t max_rows;      /* rows of each table; 0: all */
	bool absolute;	      /* compare times or counts, not shares */
	const char *names[2]; /* names of the recordings */
};
int diff_text(const struct diff *d, const struct diff_options *o, FILE *out);
int diff_json(const struct diff *d, const struct diff_options *o, FILE *out);
int diff_folded(const struct diff *d, const struct diff_options *o, FILE *out);
int diff_html(const struct diff *d, const struct diff_options *o, FILE *out);
/* The profiles must have single samples. */
int diff_pprof(const struct diff *d, const struct diff_options *o, FILE *out);

#endif
