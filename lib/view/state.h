/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the state of the interactive view: the model, the cursor, the search and the message. */
#ifndef PCCE_VIEW_STATE_H
#define PCCE_VIEW_STATE_H

#include "view/columns.h"
#include "view/list.h"
#include "view/model.h"
#include "view/share.h"
#include "view/tree.h"

#define VIEW_HEADINGS 2 /* their line */
#define VIEW_BODY 3	/* first line of the body */

struct view {
	struct view_model m;
	struct view_share share;
	enum view_tab tab;
	struct view_tree trees[2]; /* callers, callees */
	struct view_list functions;
	char search[256], message[512];
	bool over, paused;
};

/* Sets the message that the last line shows until the next key. */
void view_say(struct view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets the regular expression for searching; "": none. If it is invalid, the message says why. */
void view_set_search(struct view *v, const char *text);

#endif
