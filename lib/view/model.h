/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the interactive view shows: the selection as the user has changed it, and the
 * trees and lists that follow from it.
 */
#ifndef PCCE_VIEW_MODEL_H
#define PCCE_VIEW_MODEL_H

#include "tree/bottom_up.h"
#include "tree/flat_profile.h"
#include "profile/profile.h"
#include "view/view.h"
#include "base/error.h"

struct view_model {
	struct profile *profile;
	const struct view_options *options;
	struct selection now;	  /* borrows what the user has not changed from the options */
	uint64_t *stream_samples; /* of each stream, before any filter that the user chose here */
	struct cct callers;	  /* merged for reading */
	uint32_t *leaf_node;	  /* the node in callers of each of the profile's leaves */
	struct bottom_up callees;
	struct flat_profile functions;
	struct cct_sort_order order;
	uint64_t least; /* lighter branches are hidden at first */

	/* What the user has chosen. */
	uint32_t thread[2]; /* pid, tid */
	uint32_t comm;	    /* name of threads; the two together: one thread under one name */
	bool has_thread, has_comm, has_event;
	uint32_t event;
	char *focus, *ignore; /* regular expressions; NULL: as the options say */
	char **zooms;	      /* functions, innermost last */
	size_t n_zooms;
	bool absolute; /* percentages of all samples of the recording */
};

/* Both: 0 or -ENOMEM. */
int view_model_begin(struct view_model *m, struct profile *p, const struct view_options *o);
/* After something was changed. */
int view_model_update(struct view_model *m);
void view_model_free(struct view_model *m);

/* The user's regular expression for what is shown, or not shown: "" is none. -EINVAL with a
 * sentence in why. */
int view_model_focus(struct view_model *m, char **which, const char *text, struct error *why);
/* Only what is under a function; NULL takes the last one back. 0 or -ENOMEM. */
int view_model_zoom(struct view_model *m, const char *function);

/* 100 percent. */
uint64_t view_model_all(const struct view_model *m);
/* "thread: worker (101) · under: parse", what the user and the options have selected. */
void view_model_describe(const struct view_model *m, char *buffer, size_t size);

/* What can be chosen: threads and names, or events. Texts are malloc'ed; NULL: no memory. */
struct view_choice {
	char *text;
	char *origin; /* of a thread: what created it; NULL: nothing did */
	bool has_thread, has_comm, has_event;
	uint32_t thread[2], comm, event;
	uint64_t samples;
};
struct view_choice *view_model_threads(const struct view_model *m, size_t *n);
struct view_choice *view_model_events(const struct view_model *m, size_t *n);
void view_choices_free(struct view_choice *c, size_t n);

#endif
