/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Describes which part of a recording is shown, and in how much detail. All formats use the same
 * selection. It has three stages:
 *
 *   samples   by thread, process, event and time (select_sample)
 *   contexts  by functions in them (select_contexts); --under cuts off the frames above
 *   frames    what a frame represents, whether call sites are separate, and how recursion is shown;
 *             only the innermost ones (suffix_tree.h), only hot contexts (hot_tree.h)
 *
 * The last two stages make a new tree from the tree of all contexts (select_tree.h).
 */
#ifndef PCCE_TREE_SELECTION_H
#define PCCE_TREE_SELECTION_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum select_by { /* what one frame represents */
		 SELECT_BY_FUNCTION,
		 SELECT_BY_LINE, /* one line of a function; file and line are its own, not those of
				    its call */
		 SELECT_BY_FILE,
		 SELECT_BY_MODULE,
};

enum select_calls {			  /* equal callees of one caller are merged if ... */
		    SELECT_CALLS_ADDRESS, /* ... one instruction calls them; a format may merge more
					   */
		    SELECT_CALLS_LINE,	  /* ... one line calls them */
		    SELECT_CALLS_NONE,	  /* always */
};

enum select_recursion {
	SELECT_RECURSION_KEEP,
	SELECT_RECURSION_DIRECT, /* merge a function that calls itself into one frame */
	SELECT_RECURSION_ALL,	 /* also leave out the frames between two frames of one function */
};

/* A time: a percentage of the recording, or nanoseconds since its beginning. */
struct select_time {
	bool share;
	double value;
};

struct select_range {
	struct select_time from, to;
};

struct select_words { /* one of them must match */
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

struct select_label {	   /* KEY=VALUE, or KEY!=VALUE */
	char *key, *value; /* value: a shell pattern */
	bool differs;
};

struct select_labels { /* all of them must match */
	struct select_label *list;
	size_t n;
};

struct selection {
	struct select_words comms, events, commands; /* shell patterns: *, ?, [] */
	struct select_numbers pids, tids; /* a process is selected by pids or by commands */
	struct select_ranges times;
	struct select_labels labels;
	struct select_words
		under; /* functions: names with or without parameters, or with *, ?, [] */
	bool exact;    /* `under` has whole names, not patterns */
	struct select_patterns focus, ignore;
	enum select_by by;
	enum select_calls calls;
	enum select_recursion recursion;
	unsigned int suffix; /* innermost frames that are kept; 0: all */
	double hot;	     /* phi; 0: contexts need not be hot */
	bool hot_default;    /* a summary's own phi goes first */
	bool hot_by_total;   /* what a context calls counts, too */
};

void selection_free(struct selection *s);

/* Each function parses the text of an option and adds it. It returns 0, -ENOMEM, or -EINVAL with a
 * reason in why, as a fragment that begins with the text. Commas separate words and numbers. */
int select_add_words(struct select_words *to, const char *text, struct error *why);
int select_add_numbers(struct select_numbers *to, const char *text, struct error *why);
/* Numbers of processes, or names of their commands. */
int select_add_processes(struct selection *s, const char *text, struct error *why);
/* FROM,TO: each is a number of seconds, a number with a unit (ns, us, ms, s, m, h), a percentage or
 * empty. */
int select_add_range(struct select_ranges *to, const char *text, struct error *why);
int select_add_label(struct select_labels *to, const char *text, struct error *why);
int select_add_pattern(struct select_patterns *to, const char *text, struct error *why);

/* Whether the selection restricts samples, restricts contexts, or changes frames. */
bool selection_has_samples(const struct selection *s);
bool selection_has_contexts(const struct selection *s);
bool selection_has_frames(const struct selection *s);

bool select_word(const struct select_words *words,
		 const char *text); /* true if there are no words */
bool select_number(const struct select_numbers *numbers,
		   uint32_t n); /* true if there are no numbers */
/* value: that of the label in a sample; NULL: it has none. */
bool select_label_value(const struct select_label *label, const char *value);
bool select_process(const struct selection *s, uint32_t pid, const char *command);
bool select_pattern(const struct select_patterns *p,
		    const char *text); /* false if there are no patterns */
bool select_function(const struct selection *s, const char *name); /* whether --under has it */

/* Whether a time is in one of the ranges. first, last: of the recording, in nanoseconds. */
bool select_time(const struct select_ranges *ranges, uint64_t time, uint64_t first, uint64_t last);

/* Fills in the parts of ranges that are in a span (ns since the first sample, without its end), at
 * least one range. The caller frees the list. 0 or -ENOMEM. */
int select_ranges_within(const struct select_ranges *ranges, double from, double to, uint64_t first,
			 uint64_t last, struct select_ranges *parts);

#endif
