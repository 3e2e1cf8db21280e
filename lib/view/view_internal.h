/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of the interactive view's screen share: view.c, draw.c, source_page.c. */
#ifndef PCCE_VIEW_VIEW_INTERNAL_H
#define PCCE_VIEW_VIEW_INTERNAL_H

#include "view/list.h"
#include "view/model.h"
#include "view/share.h"
#include "view/tree.h"

#define VIEW_BODY 3 /* its first line */

enum view_tab { CALLERS, CALLEES, FUNCTIONS, TABS };

struct view {
	struct view_model m;
	struct view_share share;
	enum view_tab tab;
	struct view_tree trees[2]; /* callers, callees */
	struct view_list functions;
	char search[256], message[512];
	bool over;
};

/* What the last line says until the next key. */
void view_say(struct view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The regular expression that is looked for from now on; "": none. Says what is wrong with it. */
void view_set_search(struct view *v, const char *text);

/* draw.c */
void view_draw(struct view *v);
void view_draw_head(const struct view *v);
int view_body_height(void);
/* The node under the cursor in a tree; NULL: none. */
const struct cct_node *view_current_node(const struct view *v);
/* The name under the cursor, UINT32_MAX: none. */
uint32_t view_current_name(const struct view *v, uint32_t *module);

/* source_page.c: the source of what is under the cursor, until the user leaves it. 0 or -ENOMEM. */
int view_show_source(struct view *v);

#endif
