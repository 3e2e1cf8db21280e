/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Holds what the interactive view shows: the selection as the user changed it, and the trees and
 * lists of the selected samples.
 */
#ifndef PCCE_VIEW_MODEL_H
#define PCCE_VIEW_MODEL_H

#include "tree/bottom_up.h"
#include "tree/flat_profile.h"
#include "profile/profile.h"
#include "view/view.h"
#include "base/error.h"

struct view_span { /* ns since the first sample; to 0: the whole time */
	double from, to;
};

struct view_model {
	struct profile *profile;
	const struct view_options *options;
	struct selection now;	  /* borrows unchanged parts from the options */
	uint64_t *stream_samples; /* samples of each stream without the user's filters */
	struct cct callers;	  /* merged by lines */
	uint32_t *leaf_node;	  /* by leaf of the profile: its node in callers */
	struct bottom_up callees;
	struct flat_profile functions;
	struct cct_sort_order order;
	uint64_t least; /* lighter branches are hidden initially */

	/* The user's choices. */
	uint32_t thread[2]; /* pid, tid */
	uint32_t comm;	    /* name of threads; with `thread`: one thread under one name */
	bool has_thread, has_comm, has_event;
	uint32_t event;
	struct view_span span;
	char *focus, *ignore; /* regular expressions; NULL: those of the options */
	char **zooms;	      /* functions, the last one is active */
	size_t n_zooms;
	bool absolute;	 /* 100% is the whole recording */
	bool full_names; /* show names in full */
};

/* These return 0 or -ENOMEM. */
int view_model_begin(struct view_model *m, struct profile *p, const struct view_options *o);
/* Builds the trees and lists again after a change of the fields above. */
int view_model_update(struct view_model *m);
/* Does the same after a turn of a live profile. */
int view_model_renew(struct view_model *m);
void view_model_free(struct view_model *m);

/* Sets m->focus or m->ignore (which) to the regular expression text; "": no filter. -EINVAL with
 * the reason in why. */
int view_model_focus(struct view_model *m, char **which, const char *text, struct error *why);
/* Shows only contexts below a function; NULL: undo the last such call. 0 or -ENOMEM. */
int view_model_zoom(struct view_model *m, const char *function);

/* Returns the weight that is 100%. */
uint64_t view_model_all(const struct view_model *m);
/* Describes what the user and the options selected, like " · thread 101 · under parse". */
void view_model_describe(const struct view_model *m, char *buffer, size_t size);

/* Threads and names, or events, that the user can select. The caller frees them; NULL: no memory.
 */
struct view_choice {
	char *text;
	char *origin; /* creation context of a thread; NULL: none */
	bool has_thread, has_comm, has_event;
	uint32_t thread[2], comm, event;
	uint64_t samples;
};
struct view_choice *view_model_threads(const struct view_model *m, size_t *n);
struct view_choice *view_model_events(const struct view_model *m, size_t *n);
void view_choices_free(struct view_choice *c, size_t n);

#endif
