/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Draws the main screen of the interactive view. view.c describes the layout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <curses.h>
#include "base/text.h"
#include "format/format.h"
#include "format/frame_text.h"
#include "view/draw.h"
#include "view/screen.h"

int view_body_height(void)
{
	return screen_height() > VIEW_BODY + 1 ? screen_height() - VIEW_BODY - 1 : 1;
}

/* Returns the first line, for the caller to free; NULL: no memory. */
static char *view_head(const struct view *v)
{
	char *text = NULL;
	size_t size;
	FILE *f;

	if (v->m.options->live)
		return strdup(v->m.options->live->head);
	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	frame_text_head(v->m.profile, f);
	fclose(f);
	text[strcspn(text, "\n")] = 0;
	return text;
}

void view_draw_head(const struct view *v)
{
	static const char *const tabs[] = {" 1 Callers ", " 2 Callees ", " 3 Functions "};
	char *text = view_head(v), selected[512];
	int width = screen_width(), x = 0;

	if (text)
		x = screen_put(0, 0, width, LOOK_BAR, text);
	free(text);
	screen_rest(0, x, LOOK_BAR);
	x = 0;
	for (int i = 0; i < TABS; i++)
		x = screen_put(1, x, width, i == (int)v->tab ? LOOK_BAR : LOOK_PLAIN, tabs[i]);
	view_model_describe(&v->m, selected, sizeof(selected));
	screen_put(1, x, width, LOOK_WARM, selected);
}

static void draw_function(const struct view *v, const struct flat_profile_row *row, int y)
{
	const struct symbol_table *names = v->m.profile->names;
	const char *base = symbol_table_base(names, row->module);
	int x = view_columns_put(&v->share, FUNCTIONS, y, row) + 2, skip = v->share.scroll;
	char buffer[4096], place[4200];

	x = view_share_text(
		y, x, view_share_found(&v->share, row->name) ? LOOK_FOUND : LOOK_PLAIN,
		text_clean(symbol_table_shown(names, row->name), buffer, sizeof(buffer)), &skip);
	if (row->file) {
		snprintf(place, sizeof(place), "  %s:%u",
			 text_clean(text_base(symbol_table_string(names, row->file)), buffer,
				    sizeof(buffer)),
			 row->line);
		x = view_share_text(y, x, LOOK_DIM, place, &skip);
	}
	if (*base) {
		snprintf(place, sizeof(place), "  (%s)", text_clean(base, buffer, sizeof(buffer)));
		view_share_text(y, x, LOOK_DIM, place, &skip);
	}
}

static void draw_functions(struct view *v)
{
	struct view_list *l = &v->functions;

	l->n = v->m.functions.n;
	l->height = view_body_height();
	view_list_fit(l);
	for (size_t i = 0; i < l->height && l->top + i < l->n; i++) {
		draw_function(v, &v->m.functions.rows[l->top + i], VIEW_BODY + (int)i);
		if (l->top + i == l->at)
			screen_mark(VIEW_BODY + (int)i);
	}
}

static const struct view_list *current_list(const struct view *v)
{
	return v->tab == FUNCTIONS ? &v->functions : &v->trees[v->tab].list;
}

/* Returns the node under the cursor in a tree; NULL: none. */
static const struct cct_node *current_node(const struct view *v)
{
	uint32_t node = v->tab == FUNCTIONS ? 0 : view_tree_current(&v->trees[v->tab]);

	return node ? &v->trees[v->tab].tree->nodes[node] : NULL;
}

uint32_t view_current_name(const struct view *v, uint32_t *module)
{
	const struct cct_node *n = current_node(v);

	if (v->tab == FUNCTIONS && v->functions.at < v->m.functions.n) {
		*module = v->m.functions.rows[v->functions.at].module;
		return v->m.functions.rows[v->functions.at].name;
	}
	*module = n ? n->key->module : UINT32_MAX;
	return n ? n->key->name : UINT32_MAX;
}

/* Draws the last line: a message, or the whole name of the current row with its file. */
static void draw_foot(const struct view *v)
{
	const struct symbol_table *names = v->m.profile->names;
	const struct view_list *l = current_list(v);
	int y = screen_height() - 1, width = screen_width(), end;
	const struct cct_node *n = current_node(v);
	char place[64], buffer[4096], file[4200];
	uint32_t module, name = view_current_name(v, &module);
	int x;

	snprintf(place, sizeof(place), "  %zu/%zu  ? help", l->n ? l->at + 1 : 0, l->n);
	end = width - (int)strlen(place);
	screen_put(y, end > 0 ? end : 0, width, LOOK_DIM, place);
	if (*v->message) {
		screen_put(y, 0, end, LOOK_BOLD, v->message);
		return;
	}
	if (name == UINT32_MAX)
		return;
	x = screen_put(y, 0, end, LOOK_PLAIN,
		       text_clean(symbol_table_string(names, name), buffer, sizeof(buffer)));
	if (n && n->key->file) {
		snprintf(file, sizeof(file), "  %s:%u",
			 text_clean(symbol_table_string(names, n->key->file), buffer,
				    sizeof(buffer)),
			 n->key->line);
		x = screen_put(y, x, end, LOOK_DIM, file);
	}
	if (*symbol_table_path(names, module)) {
		snprintf(file, sizeof(file), "  %s",
			 text_clean(symbol_table_path(names, module), buffer, sizeof(buffer)));
		screen_put(y, x, end, LOOK_DIM, file);
	}
}

void view_draw(struct view *v)
{
	static const char *const headings[] = {
		"  function, with the line that calls it",
		"  function, then its callers with their lines",
		"  function",
	};

	erase();
	v->share.all = view_model_all(&v->m);
	v->share.plain = frame_text_plain(v->m.profile);
	v->share.bytes = format_unit(v->m.profile).bytes;
	v->share.upwards = v->tab == CALLEES;
	view_draw_head(v);
	view_columns_head(v->tab, VIEW_HEADINGS, headings[v->tab]);
	if (v->tab == FUNCTIONS)
		draw_functions(v);
	else
		view_tree_draw(&v->trees[v->tab], &v->share, VIEW_BODY, view_body_height());
	if (!v->m.profile->stats.samples)
		screen_put(VIEW_BODY, 2, screen_width(), LOOK_PLAIN,
			   v->m.options->live ? "No sample yet, or none is selected."
					      : "No sample is selected.");
	draw_foot(v);
}
