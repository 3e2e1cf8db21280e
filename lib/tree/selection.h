/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What of a recording is shown, and in how much detail: one selection, applied in one
 * place, whatever the format.  It has three stages:
 *
 *   samples   of which threads, processes, events and times (select_sample)
 *   contexts  through which functions (select_contexts); --under cuts off what is above
 *   frames    what a frame stands for, whether callers are told apart by where they
 *             call, and what becomes of recursion
 *
 * The last two make a new tree from the tree of all contexts (select_tree.h).
 */
#ifndef PCCE_TREE_SELECTION_H
#define PCCE_TREE_SELECTION_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum select_by { /* what one frame stands for */
		 SELECT_BY_FUNCTION,
		 SELECT_BY_LINE, /* one line of a function: its file and line are its own, not those
				  * of the call of it
				  */
		 SELECT_BY_FILE,
		 SELECT_BY_MODULE,
};

enum select_calls {			  /* callees of one name under one caller are one, ... */
		    SELECT_CALLS_ADDRESS, /* ... if one instruction calls them; a format may merge
					     more */
		    SELECT_CALLS_LINE,	  /* ... if one line calls them */
		    SELECT_CALLS_NONE,	  /* ... wherever they are called */
};

enum select_recursion {
	SELECT_RECURSION_KEEP,
	SELECT_RECURSION_DIRECT, /* a function that calls itself is one frame */
	SELECT_RECURSION_ALL, /* what lies between two frames of one function is left out, with the
				 second */
};

/* A time: a share of the recording, or nanoseconds since its beginning. */
struct select_time {
	bool share;
	double value;
};

struct select_range {
	struct select_time from, to;
};

struct select_words { /* several: one is enough */
	char **list;
	size_t n;
};

struct select_numbers {
	uint32_t *list;
	size_t n;
};

struct select_patterns {
	regex_t *list;
	size_t n;
};

struct select_ranges {
	struct select_range *list;
	size_t n;
};

struct selection {
	struct select_words comms, events; /* as for the shell: *, ?, [] */
	struct select_numbers pids, tids;
	struct select_ranges times;
	struct select_words
		under; /* functions: names with or without parameters, or with *, ?, [] */
	bool exact;    /* names under it are whole names, and no patterns */
	struct select_patterns focus, ignore;
	enum select_by by;
	enum select_calls calls;
	enum select_recursion recursion;
};

void selection_free(struct selection *s);

/* Each takes the text of an option, and may be called again: 0, -EINVAL with a sentence fragment in
 * why that says what is wrong with the text, or -ENOMEM. Words and numbers: separated by commas. */
int select_add_words(struct select_words *to, const char *text, struct error *why);
int select_add_numbers(struct select_numbers *to, const char *text, struct error *why);
/* FROM,TO: each a number of seconds or with a unit (ns, us, ms, s, m, h), or a percentage, or
 * nothing */
int select_add_range(struct select_ranges *to, const char *text, struct error *why);
int select_add_pattern(struct select_patterns *to, const char *text, struct error *why);

/* Does it let all samples, or all contexts pass? Does it change frames? */
bool selection_has_samples(const struct selection *s);
bool selection_has_contexts(const struct selection *s);
bool selection_has_frames(const struct selection *s);

bool select_word(const struct select_words *words,
		 const char *text); /* true if there are no words */
bool select_number(const struct select_numbers *numbers,
		   uint32_t n); /* true if there are no numbers */
bool select_pattern(const struct select_patterns *p,
		    const char *text); /* false if there are no patterns */
bool select_function(const struct selection *s, const char *name); /* is it one of --under? */

/* Does a time pass? Of a recording from first to last, in nanoseconds. */
bool select_time(const struct select_ranges *ranges, uint64_t time, uint64_t first, uint64_t last);

#endif
