/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs the interactive view: the layout of the screen, and the actions of keys.
 *
 *   line 0        the recording, as the printed report begins
 *   line 1        the tabs, and the selection
 *   line 2        headings (columns.c)
 *   3 ...         the view: callers or callees (tree.c), functions, source (source.c)
 *   last line     the current row in full, or a message, or a prompt
 *
 * model.c holds the data. Each change of the selection or the detail builds the data again. Then
 * the view finds the current row again by its path of names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <curses.h>
#include "format/format_list.h"
#include "view/view.h"
#include "view/draw.h"
#include "view/assembly.h"
#include "view/source_page.h"
#include "view/pages.h"
#include "view/screen.h"
#include "view/time_page.h"

/* ---- changing what is shown -------------------------------------------------------- */

static void free_trees(struct view *v)
{
	view_tree_free(&v->trees[CALLERS]);
	view_tree_free(&v->trees[CALLEES]);
}

static int begin_trees(struct view *v)
{
	int r = view_tree_begin(&v->trees[CALLERS], &v->m.callers, NULL, v->m.least);

	return r ? r
		 : view_tree_begin(&v->trees[CALLEES], &v->m.callees.tree, &v->m.callees,
				   v->m.least);
}

#define PATH_MAX_FRAMES 4096

/* Goes to the frame at the end of a path of names, as far as the path exists. */
static int follow_path(struct view *v, const uint32_t *path, size_t n)
{
	uint32_t node = 0;

	while (n--) {
		uint32_t child = v->m.callers.nodes[node].child;

		while (child && v->m.callers.nodes[child].key->name != path[n])
			child = v->m.callers.nodes[child].next;
		if (!child)
			break;
		node = child;
	}
	return node ? view_tree_reveal(&v->trees[CALLERS], node) : 0;
}

/* Builds all data again after a change of the model. */
static int update_view(struct view *v)
{
	uint32_t *path = malloc(PATH_MAX_FRAMES * sizeof(*path)),
		 node = view_tree_current(&v->trees[CALLERS]);
	size_t n = 0;
	int r = path ? 0 : -ENOMEM;

	for (; path && node && n < PATH_MAX_FRAMES; node = v->m.callers.nodes[node].parent)
		path[n++] = v->m.callers.nodes[node].key->name;
	free_trees(v);
	if (!r)
		r = view_model_update(&v->m);
	if (!r)
		r = begin_trees(v);
	/* A path that was too long has no beginning. */
	if (!r && n < PATH_MAX_FRAMES)
		r = follow_path(v, path, n);
	free(path);
	return r;
}

/* Moves what is shown out of the model, which can then build it again. */
static void take_shown(struct view *v, struct view_tree old[2], struct cct *callers,
		       struct bottom_up *callees)
{
	memcpy(old, v->trees, sizeof(v->trees));
	memset(v->trees, 0, sizeof(v->trees));
	*callers = v->m.callers;
	*callees = v->m.callees;
	v->m.callers = (struct cct){0};
	v->m.callees = (struct bottom_up){0};
	old[CALLERS].tree = callers;
	old[CALLEES].tree = &callees->tree;
	callees->from = callers;
}

/* The current function stays the current one, unless it is the first. */
static void follow_function(struct view *v, const struct flat_profile_row *row)
{
	for (size_t i = 0; i < v->m.functions.n && v->functions.at; i++) {
		size_t offset = v->functions.at - v->functions.top;

		if (v->m.functions.rows[i].name != row->name ||
		    v->m.functions.rows[i].module != row->module)
			continue;
		v->functions.top = i > offset ? i - offset : 0;
		v->functions.at = i;
		return;
	}
}

/* Builds all data again after a turn of a live profile. All rows stay as the user left them. */
static int renew_view(struct view *v)
{
	struct flat_profile_row row = {.name = UINT32_MAX};
	struct view_tree old[2];
	struct bottom_up callees;
	struct cct callers;
	int r;

	if (v->functions.at < v->m.functions.n)
		row = v->m.functions.rows[v->functions.at];
	take_shown(v, old, &callers, &callees);
	r = view_model_renew(&v->m);
	if (!r)
		r = begin_trees(v);
	/* At first, there was nothing that the user could have opened or closed. */
	if (!r && callers.n > 1) {
		r = view_tree_follow(&v->trees[CALLERS], &old[CALLERS]);
		r = r ? r : view_tree_follow(&v->trees[CALLEES], &old[CALLEES]);
		follow_function(v, &row);
	}
	view_tree_free(&old[CALLERS]);
	view_tree_free(&old[CALLEES]);
	bottom_up_free(&callees);
	cct_free(&callers);
	return r;
}

static int take_turn(struct view *v)
{
	const struct view_live *live = v->m.options->live;
	int r = v->paused ? 0 : live->turn(live->ctx);

	return r || v->paused ? r : renew_view(v);
}

/* Lets the user choose an item; *at is n if the user cancels. */
static int choose_item(const struct view_choice *c, size_t n, const char *title, const char *note,
		       size_t *at)
{
	struct view_item *items = malloc((n + 1) * sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		items[i] = (struct view_item){c[i].text, c[i].origin};
	*at = view_choose(title, note, items, n);
	free(items);
	return 0;
}

static int choose_thread(struct view *v)
{
	size_t n, at;
	struct view_choice *c = view_model_threads(&v->m, &n);
	bool origins = false;
	int r;

	if (!c)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		origins |= c[i].origin != NULL;
	r = choose_item(c, n, "   samples  select threads", origins ? "created by" : NULL, &at);
	if (!r && at < n) {
		v->m.has_thread = c[at].has_thread;
		v->m.has_comm = c[at].has_comm;
		v->m.comm = c[at].comm;
		memcpy(v->m.thread, c[at].thread, sizeof(v->m.thread));
		r = update_view(v);
	}
	view_choices_free(c, n);
	return r;
}

static int choose_event(struct view *v)
{
	size_t n, at;
	struct view_choice *c = view_model_events(&v->m, &n);
	int r = 0;

	if (!c)
		return -ENOMEM;
	if (n <= 1) {
		view_say(v, "The recording has only one event");
	} else {
		r = choose_item(c, n, "   samples  select an event", NULL, &at);
		if (!r && at < n) {
			v->m.has_event = c[at].has_event;
			v->m.event = c[at].event;
			r = update_view(v);
		}
	}
	view_choices_free(c, n);
	return r;
}

/* Lets the user select a time span, of the samples of the whole time. */
static int choose_time(struct view *v)
{
	struct view_span now = v->m.span;
	bool changed;
	int r = 0;

	if (v->m.options->live || v->m.profile->last <= v->m.profile->first) {
		view_say(v, "These samples have no times to select");
		return 0;
	}
	v->m.span = (struct view_span){0};
	if (now.to > 0)
		r = update_view(v);
	v->m.span = now;
	r = r ? r : view_choose_time(v, &changed);
	return r || (!changed && !(now.to > 0)) ? r : update_view(v);
}

static int ask_focus(struct view *v, char **which, const char *prompt)
{
	char text[256];
	struct error why;
	int r;

	snprintf(text, sizeof(text), "%s", *which ? *which : "");
	if (!screen_ask(prompt, text, sizeof(text)))
		return 0;
	r = view_model_focus(&v->m, which, text, &why);
	if (r == -EINVAL) {
		view_say(v, "%s: %s", text, why.text);
		return 0;
	}
	return r ? r : update_view(v);
}

static int zoom_to_function(struct view *v)
{
	uint32_t module, name = view_current_name(v, &module);
	int r;

	if (name == UINT32_MAX || !*symbol_table_string(v->m.profile->names, name))
		return 0;
	r = view_model_zoom(&v->m, symbol_table_string(v->m.profile->names, name));
	if (r)
		return r;
	/* The callers of the function are gone, so show its callees. */
	if (v->tab == FUNCTIONS)
		v->tab = CALLERS;
	return update_view(v);
}

static void show_names(struct view *v, bool full)
{
	v->m.full_names = full;
	symbol_table_show_full(v->m.profile->names, full);
}

static int change_order(struct view *v)
{
	static const struct {
		const char *name;
		struct cct_sort_order order;
	} orders[] = {
		{"default: trees by total, functions by self", {{0}, 0}},
		{"total", {{CCT_SORT_TOTAL}, 1}},
		{"self", {{CCT_SORT_SELF}, 1}},
		{"name", {{CCT_SORT_NAME}, 1}},
	};
	size_t now = 0, n = sizeof(orders) / sizeof(orders[0]);

	for (size_t i = 1; i < n && v->m.order.n; i++)
		if (v->m.order.keys[0] == orders[i].order.keys[0])
			now = i;
	now = (now + 1) % n;
	v->m.order = orders[now].order;
	view_say(v, "Sort order: %s", orders[now].name);
	return update_view(v);
}

/* ---- searching ------------------------------------------------------------------------ */

static bool search_functions(struct view *v, bool backward)
{
	size_t n = v->m.functions.n;

	for (size_t i = 1; i <= n; i++) {
		size_t at = (v->functions.at + (backward ? n - i : i)) % n;

		if (view_share_found(&v->share, v->m.functions.rows[at].name)) {
			view_list_go(&v->functions, at);
			return true;
		}
	}
	return false;
}

static int search_view(struct view *v, bool backward)
{
	bool found;
	int r = 0;

	if (!v->share.searching) {
		if (!*v->message)
			view_say(v, "No search pattern; enter one with /");
		return 0;
	}
	if (v->tab == FUNCTIONS)
		found = search_functions(v, backward);
	else
		r = view_tree_search(&v->trees[v->tab], &v->share, backward, &found);
	if (!r && !found)
		view_say(v, "Not found: %s", v->search);
	return r;
}

static int ask_search(struct view *v)
{
	char text[sizeof(v->search)];

	*text = 0;
	if (!screen_ask("/", text, sizeof(text)))
		return 0;
	/* An empty pattern repeats the last search. */
	if (*text)
		memcpy(v->search, text, sizeof(text));
	view_set_search(v, v->search);
	return search_view(v, false);
}

/* ---- other pages ----------------------------------------------------------------------- */

static int show_stats(struct view *v)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	fprintf(f, "recording: %s\nevent: %s\ncommand: %s\nsampler: %s\n", v->m.options->input,
		v->m.profile->event, v->m.profile->command, v->m.profile->sampler);
	format_stats(v->m.profile, f);
	fclose(f);
	view_read("Statistics of the selected samples", text);
	free(text);
	return 0;
}

/* Writes the current view to a text file, as pcce-report prints it. */
static void write_view(struct view *v)
{
	static const char *const names[] = {"tree", "callees", "flat"};
	struct format_options o = v->m.options->print;
	const struct format *format = format_find(names[v->tab]);
	char file[256] = "pcce-report.txt";
	FILE *out;
	int r;

	if (!screen_ask("Write to file: ", file, sizeof(file)) || !*file)
		return;
	out = fopen(file, "wx");
	if (!out) {
		view_say(v, "Cannot write %s: %s", file, strerror(errno));
		return;
	}
	if (o.min_percent < 0)
		o.min_percent = format->min_percent;
	o.sort = v->m.order;
	r = format->print(v->m.profile, &o, out);
	r |= ferror(out);
	r |= fclose(out);
	if (r)
		view_say(v, "Cannot write %s", file);
	else
		view_say(v, "Written to %s", file);
}

/* Goes from a function in the list to its most expensive node among the callers. */
static int go_to_function(struct view *v)
{
	uint32_t module, name = view_current_name(v, &module), best = 0;
	const struct cct *t = &v->m.callers;

	for (uint32_t i = 1; i < t->n && name != UINT32_MAX; i++)
		if (t->nodes[i].key->name == name && t->nodes[i].key->module == module &&
		    (!best || t->nodes[i].total > t->nodes[best].total))
			best = i;
	if (!best)
		return 0;
	v->tab = CALLERS;
	return view_tree_reveal(&v->trees[CALLERS], best);
}

/* ---- keys -------------------------------------------------------------------------------- */

/* Handles keys of trees. */
static int handle_tree_key(struct view *v, int key)
{
	struct view_tree *t = &v->trees[v->tab];

	switch (key) {
	case '\r':
	case '\n':
	case KEY_ENTER:
	case '+':
		return view_tree_toggle(t);
	case KEY_RIGHT:
		return view_tree_open(t);
	case '-':
	case KEY_LEFT:
		return view_tree_close(t);
	case 'e':
		return view_tree_open_below(t);
	case 'E':
		return view_tree_open_all(t);
	case 'C':
		return view_tree_close_all(t);
	default:
		return 0;
	}
}

static int handle_detail_key(struct view *v, int key)
{
	static const char *const recursion[] = {"shown", "direct recursion folded",
						"all recursion folded"};
	struct selection *s = &v->m.now;

	switch (key) {
	case 'r':
		s->recursion = (s->recursion + 1) % 3;
		view_say(v, "Recursion: %s", recursion[s->recursion]);
		return update_view(v);
	case 'c':
		s->calls = s->calls == SELECT_CALLS_NONE ? SELECT_CALLS_LINE : SELECT_CALLS_NONE;
		view_say(v, "Call sites: %s",
			 s->calls == SELECT_CALLS_NONE ? "merged" : "separate");
		return update_view(v);
	case 'l':
		s->by = s->by == SELECT_BY_LINE ? SELECT_BY_FUNCTION : SELECT_BY_LINE;
		view_say(v, "One frame for each %s",
			 s->by == SELECT_BY_LINE ? "line of a function" : "function");
		return update_view(v);
	case 'm':
		show_names(v, !v->m.full_names);
		view_say(v, "Names: %s", v->m.full_names ? "in full" : "short");
		return 0;
	case 'p':
		v->share.counts = !v->share.counts;
		return 0;
	case '>':
		v->share.scroll += 8;
		return 0;
	case '<':
		v->share.scroll -= v->share.scroll >= 8 ? 8 : 0;
		return 0;
	case 'P':
		v->paused = !v->paused && v->m.options->live;
		view_say(v, v->paused ? "Paused; P continues" : "Continues");
		return 0;
	case 'F':
		v->m.absolute = !v->m.absolute;
		view_say(v, "100%% is %s", v->m.absolute ? "the whole recording" : "the selection");
		return 0;
	default:
		return v->tab == FUNCTIONS ? 0 : handle_tree_key(v, key);
	}
}

static int handle_page_key(struct view *v, int key)
{
	switch (key) {
	case 'a':
		return view_show_source(v);
	case 'A':
		return view_show_assembly(v);
	case 'i':
		return show_stats(v);
	case 'w':
		write_view(v);
		return 0;
	case '/':
		return ask_search(v);
	case 'n':
		return search_view(v, false);
	case 'N':
		return search_view(v, true);
	case '&':
		return ask_focus(v, &v->m.focus, "Only contexts with function: ");
	case 'x':
		return ask_focus(v, &v->m.ignore, "Only contexts without function: ");
	case 'z':
		return zoom_to_function(v);
	case 'Z':
		return view_model_zoom(&v->m, NULL), update_view(v);
	case 't':
		return choose_thread(v);
	case 'v':
		return choose_event(v);
	case 'T':
		return choose_time(v);
	case 's':
		return change_order(v);
	case '?':
	case 'h':
	case KEY_F(1):
		view_read("Keys", view_help);
		return 0;
	default:
		return handle_detail_key(v, key);
	}
}

static int handle_key(struct view *v, int key)
{
	struct view_list *list = v->tab == FUNCTIONS ? &v->functions : &v->trees[v->tab].list;

	*v->message = 0;
	switch (key) {
	case 'q':
	case 'Q':
	case SCREEN_ESCAPE:
	case ERR: /* the terminal is closed */
		v->over = true;
		return 0;
	case KEY_RESIZE:
	case SCREEN_CTRL('l'):
		clear();
		return 0;
	case '\t':
		v->tab = (v->tab + 1) % TABS;
		return 0;
	case KEY_BTAB:
		v->tab = (v->tab + TABS - 1) % TABS;
		return 0;
	case '1':
	case '2':
	case '3':
		v->tab = key - '1';
		return 0;
	}
	if (view_list_key(list, key))
		return 0;
	if (v->tab == FUNCTIONS && (key == '\r' || key == '\n' || key == KEY_ENTER || key == '+'))
		return go_to_function(v);
	return handle_page_key(v, key);
}

static void report_problems(struct view *v)
{
	const struct profile *p = v->m.profile;

	if (!p->complete)
		view_say(v, "The recording is incomplete: its end is missing");
	else if (p->stats.lost || p->stats.undecodable)
		view_say(v, "%llu samples lost, %llu contexts unknown; press i for details",
			 (unsigned long long)p->stats.lost,
			 (unsigned long long)p->stats.undecodable);
}

int view_run(struct profile *p, const struct view_options *o)
{
	struct view v = {.share.names = p->names,
			 .functions.height = 1,
			 .tab = o->live ? FUNCTIONS : CALLERS};
	int key, r = view_model_begin(&v.m, p, o);

	show_names(&v, o->full_names);
	if (!r)
		r = begin_trees(&v);
	if (!r)
		r = screen_open(o->colors);
	if (!r) {
		if (o->live)
			screen_set_idle(o->live->idle, o->live->ctx);
		else
			report_problems(&v);
		while (!r && !v.over) {
			view_draw(&v);
			key = screen_key_or_tick();
			r = key == SCREEN_TICK ? take_turn(&v) : handle_key(&v, key);
		}
		screen_close();
	}
	if (v.share.searching)
		regfree(&v.share.search);
	free_trees(&v);
	view_model_free(&v.m);
	return r;
}
