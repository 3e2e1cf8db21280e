/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Runs the source page of the interactive view: handles its keys, and follows calls from caller to
 * callee. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <curses.h>
#include "base/text.h"
#include "format/format.h"
#include "view/draw.h"
#include "view/source_page.h"
#include "view/row_page.h"
#include "view/screen.h"
#include "view/source.h"

static void draw_source(struct view *v, struct view_source *s, bool context)
{
	const struct symbol_table *names = v->m.profile->names;
	int width = screen_width(), y = screen_height() - 1;
	char text[5000], buffer[4096], place[64];

	erase();
	view_draw_head(v);
	snprintf(text, sizeof(text), "   line  %s, %s",
		 text_clean(symbol_table_shown(names, s->name), buffer, sizeof(buffer)),
		 context ? "in this context" : "in all contexts");
	view_columns_head(SOURCE, VIEW_HEADINGS, text);
	view_source_draw(s, &v->share, VIEW_BODY, view_body_height());
	snprintf(place, sizeof(place), "  %zu/%zu  ? help", s->list.at + 1, s->n);
	screen_put(y, width - (int)strlen(place), width, LOOK_DIM, place);
	if (*v->message)
		snprintf(text, sizeof(text), "%s", v->message);
	else if (*s->why.text)
		snprintf(text, sizeof(text), "%s", text_clean(s->why.text, buffer, sizeof(buffer)));
	else
		snprintf(text, sizeof(text), "%s",
			 text_clean(symbol_table_string(names, s->file), buffer, sizeof(buffer)));
	screen_put(y, 0, width - (int)strlen(place),
		   *v->message || *s->why.text ? LOOK_BOLD : LOOK_PLAIN, text);
}

static int load_view_source(struct view *v, struct view_source *s, bool context, uint32_t node,
			    uint32_t module, uint32_t name)
{
	const struct source_file_dirs *dirs = &v->m.options->source;
	struct error why;
	int r;

	if (context)
		r = view_source_context(s, v->m.profile, &v->m.callers, v->m.leaf_node, node, dirs,
					&why);
	else
		r = view_source_function(s, v->m.profile, module, name, dirs, &why);
	if (r == -ENOENT)
		view_say(v, "%s", why.text);
	return r;
}

static void go_to_hottest_line(void *rows, bool next)
{
	view_source_hottest(rows, next);
}

static bool search_lines(void *rows, const struct view_share *s, bool backward)
{
	return view_source_search(rows, s, backward);
}

/* Handles a key on the source page; true: leave the page. *node: changes if another context is to
 * be shown. */
static bool source_key(struct view *v, struct view_source *s, int key, bool *context,
		       uint32_t *node)
{
	const struct row_page page = {&s->list, s, go_to_hottest_line, search_lines};

	*v->message = 0;
	switch (key) {
	case 'a':
		*context = !*context && *node;
		return false;
	case '\r':
	case '\n':
	case KEY_ENTER:
	case KEY_RIGHT:
		if (*context && s->list.at < s->n && s->lines[s->list.at].callee)
			*node = s->lines[s->list.at].callee;
		else
			view_say(v, *context ? "No call is known on this line"
					     : "To follow calls, press a: one context");
		return false;
	default:
		return row_page_key(v, &page, key);
	}
}

/* Shows source code until the user leaves it. Leaving a followed call returns to its caller. */
int view_show_source(struct view *v)
{
	uint32_t module, name = view_current_name(v, &module), start, node;
	bool context = v->tab == CALLERS, over = false;
	struct view_source s;
	int r;

	if (name == UINT32_MAX)
		return 0;
	start = node = v->tab == CALLERS ? view_tree_current(&v->trees[CALLERS]) : 0;
	r = load_view_source(v, &s, context, node, module, name);
	if (r)
		return r == -ENOENT ? 0 : r;
	while (!over && !r) {
		bool was = context;
		uint32_t at = node;

		draw_source(v, &s, context);
		over = source_key(v, &s, screen_key(), &context, &node);
		if (over && node != start) {
			over = false;
			context = true;
			node = v->m.callers.nodes[node].parent;
		}
		if (was != context || at != node) {
			struct view_source other;
			const struct cct_key *key = v->m.callers.nodes[node].key;

			r = load_view_source(v, &other, context, node, node ? key->module : module,
					     node ? key->name : name);
			if (!r) {
				view_source_free(&s);
				s = other;
			} else if (r == -ENOENT) {
				node = at;
				context = was;
				r = 0;
			}
		}
	}
	view_source_free(&s);
	return r;
}
