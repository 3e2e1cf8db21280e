/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the model of the interactive view. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "format/format_list.h"
#include "view/model.h"

/* ---- the selection ------------------------------------------------------------------- */

/* Compiles a regular expression. It ignores case if it has no capital letter. */
static int compile_pattern(regex_t *to, const char *text, struct error *why)
{
	bool capitals = false;
	int r;

	for (const char *c = text; *c; c++)
		capitals |= *c >= 'A' && *c <= 'Z';
	r = regcomp(to, text, REG_EXTENDED | REG_NOSUB | (capitals ? 0 : REG_ICASE));
	if (!r)
		return 0;
	regerror(r, to, why->text, sizeof(why->text));
	return r == REG_ESPACE ? -ENOMEM : -EINVAL;
}

int view_model_focus(struct view_model *m, char **which, const char *text, struct error *why)
{
	regex_t test;
	char *copy;
	int r;

	(void)m;
	if (*text) {
		r = compile_pattern(&test, text, why);
		if (r)
			return r;
		regfree(&test);
	}
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*which);
	*which = copy;
	return 0;
}

int view_model_zoom(struct view_model *m, const char *function)
{
	if (!function) {
		if (m->n_zooms)
			free(m->zooms[--m->n_zooms]);
		return 0;
	}
	if (array_grow(&m->zooms, m->n_zooms, sizeof(*m->zooms)))
		return -ENOMEM;
	m->zooms[m->n_zooms] = strdup(function);
	return m->zooms[m->n_zooms] ? (m->n_zooms++, 0) : -ENOMEM;
}

/* Selects the samples that match the user's choices and the command line. The temporary objects
 * live only during this call. */
static int select_now(struct view_model *m)
{
	const struct selection *base = m->options->select;
	struct selection s = m->now;
	char event[16], *event_word = event;
	char *comm = (char *)(uintptr_t)symbol_table_string(m->profile->names, m->comm);
	struct error why;
	regex_t focus, ignore;
	struct select_range *spans = NULL;
	bool has_focus = m->focus && *m->focus, has_ignore = m->ignore && *m->ignore;
	int r = 0;

	snprintf(event, sizeof(event), "%u", m->event);
	if (m->has_thread) {
		s.commands = (struct select_words){0};
		s.pids = (struct select_numbers){&m->thread[0], 1};
		s.tids = (struct select_numbers){&m->thread[1], 1};
	}
	if (m->has_comm)
		s.comms = (struct select_words){&comm, 1};
	if (m->has_event)
		s.events = (struct select_words){&event_word, 1};
	if (m->span.to > 0) {
		r = select_ranges_within(&m->options->select->times, m->span.from, m->span.to,
					 m->profile->first, m->profile->last, &s.times);
		if (r)
			return r;
		spans = s.times.list;
	}
	if (m->n_zooms) {
		s.under = (struct select_words){&m->zooms[m->n_zooms - 1], 1};
		s.exact = true;
	}
	s.focus = m->focus ? (struct select_patterns){0} : base->focus;
	s.ignore = m->ignore ? (struct select_patterns){0} : base->ignore;
	if (has_focus) {
		r = compile_pattern(&focus, m->focus, &why);
		s.focus = (struct select_patterns){&focus, 1};
	}
	if (!r && has_ignore) {
		r = compile_pattern(&ignore, m->ignore, &why);
		s.ignore = (struct select_patterns){&ignore, 1};
		if (r && has_focus)
			regfree(&focus);
	}
	if (r) {
		free(spans);
		return r;
	}
	r = profile_select(m->profile, &s);
	free(spans);
	if (has_focus)
		regfree(&focus);
	if (has_ignore)
		regfree(&ignore);
	return r;
}

/* ---- trees and lists ----------------------------------------------------------------- */

static int merge_callers(struct view_model *m)
{
	const struct profile *p = m->profile;
	uint32_t *map = NULL;
	int r = cct_merge_map(&p->tree, CCT_MERGE_LINES, &m->callers, &map);

	for (size_t i = 0; i < p->n_leaves && !r; i++)
		m->leaf_node[i] =
			p->leaves[i].node == UINT32_MAX ? UINT32_MAX : map[p->leaves[i].node];
	free(map);
	if (!r)
		r = cct_finish(&m->callers, p->names);
	return r ? r : cct_sort(&m->callers, p->names, &m->order);
}

int view_model_update(struct view_model *m)
{
	const struct profile *p = m->profile;
	int r = select_now(m);

	bottom_up_free(&m->callees);
	flat_profile_free(&m->functions);
	cct_free(&m->callers);
	if (!r)
		r = merge_callers(m);
	if (!r)
		r = bottom_up_begin(&m->callees, &m->callers, p->names, p->own_lines, &m->order);
	if (!r)
		r = flat_profile_build(&m->callers, p->own_lines, &m->functions);
	if (r)
		return r;
	flat_profile_sort(&m->functions, p->names, &m->order);
	m->least = (double)m->callers.nodes[0].total *
		   (m->options->print.min_percent < 0 ? formats[0].min_percent
						      : m->options->print.min_percent) /
		   100;
	return 0;
}

/* Makes room for the profile, and notes the samples of its streams. */
static int size_model(struct view_model *m)
{
	const struct profile *p = m->profile;
	size_t n = sample_streams_count(p->streams);

	free(m->stream_samples);
	free(m->leaf_node);
	m->stream_samples = malloc(n * sizeof(*m->stream_samples) + 1);
	m->leaf_node = malloc(p->n_leaves * sizeof(*m->leaf_node) + 1);
	if (!m->stream_samples || !m->leaf_node)
		return -ENOMEM;
	memcpy(m->stream_samples, p->stream_samples, n * sizeof(*m->stream_samples));
	return 0;
}

int view_model_renew(struct view_model *m)
{
	int r = size_model(m);

	return r ? r : view_model_update(m);
}

int view_model_begin(struct view_model *m, struct profile *p, const struct view_options *o)
{
	*m = (struct view_model){
		.profile = p, .options = o, .now = *o->select, .order = o->print.sort};
	return view_model_renew(m);
}

void view_model_free(struct view_model *m)
{
	while (m->n_zooms)
		free(m->zooms[--m->n_zooms]);
	free(m->zooms);
	free(m->focus);
	free(m->ignore);
	free(m->stream_samples);
	free(m->leaf_node);
	bottom_up_free(&m->callees);
	flat_profile_free(&m->functions);
	cct_free(&m->callers);
}

uint64_t view_model_all(const struct view_model *m)
{
	return m->absolute ? m->profile->all_weight : m->callers.nodes[0].total;
}

/* ---- description ----------------------------------------------------------------- */

void view_model_describe(const struct view_model *m, char *buffer, size_t size)
{
	static const char *const by[] = {"", "by line", "by file", "by module"};
	static const char *const recursion[] = {"", "direct recursion folded", "recursion folded"};
	const struct symbol_table *names = m->profile->names;
	char event[256];
	FILE *f = fmemopen(buffer, size, "w");

	*buffer = 0;
	if (!f)
		return;
	if (m->has_comm)
		fprintf(f, " · %s", symbol_table_string(names, m->comm));
	if (m->has_thread)
		fprintf(f, " · thread %u", m->thread[1]);
	if (m->has_event)
		fprintf(f, " · %s", profile_event(m->profile, m->event, event, sizeof(event)));
	if (m->span.to > 0)
		fprintf(f, " · %.9g to %.9g s", m->span.from / 1e9, m->span.to / 1e9);
	if (selection_has_samples(m->options->select))
		fprintf(f, " · selected samples");
	if (m->n_zooms)
		fprintf(f, " · under %s", m->zooms[m->n_zooms - 1]);
	else if (m->options->select->under.n)
		fprintf(f, " · under %s%s", m->options->select->under.list[0],
			m->options->select->under.n > 1 ? ", …" : "");
	if (m->focus ? *m->focus != 0 : m->options->select->focus.n != 0)
		fprintf(f, " · with %s", m->focus ? m->focus : "--focus");
	if (m->ignore ? *m->ignore != 0 : m->options->select->ignore.n != 0)
		fprintf(f, " · without %s", m->ignore ? m->ignore : "--ignore");
	if (m->now.by)
		fprintf(f, " · %s", by[m->now.by]);
	if (m->now.calls == SELECT_CALLS_NONE && m->now.by != SELECT_BY_LINE)
		fprintf(f, " · call sites merged");
	if (m->now.recursion)
		fprintf(f, " · %s", recursion[m->now.recursion]);
	if (m->absolute)
		fprintf(f, " · %% of recording");
	fclose(f);
	buffer[size - 1] = 0;
}

/* ---- choices --------------------------------------------------------------------- */

static int compare_choices(const void *a, const void *b)
{
	const struct view_choice *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return strcmp(x->text, y->text);
}

void view_choices_free(struct view_choice *c, size_t n)
{
	for (size_t i = 0; c && i < n; i++) {
		free(c[i].text);
		free(c[i].origin);
	}
	free(c);
}

__attribute__((format(printf, 2, 3))) static bool name_choice(struct view_choice *c,
							      const char *format, ...)
{
	va_list args;
	char *name;
	int n;

	va_start(args, format);
	n = vasprintf(&name, format, args);
	va_end(args);
	if (n < 0)
		return false;
	n = asprintf(&c->text, "%10llu  %s", (unsigned long long)c->samples, name);
	free(name);
	if (n < 0)
		c->text = NULL;
	return n >= 0;
}

/* Whether this is the first stream of its thread with its name. A thread has one stream for each
 * event. */
static bool is_first_event(const struct view_model *m, size_t stream)
{
	const struct sample_stream *s = sample_streams_get(m->profile->streams, stream);

	for (size_t i = 0; i < stream; i++) {
		const struct sample_stream *x = sample_streams_get(m->profile->streams, i);

		if (x->comm == s->comm && x->pid == s->pid && x->tid == s->tid &&
		    m->stream_samples[i])
			return false;
	}
	return true;
}

/* Finds the creation context of a choice's thread, as in pcce-report --format=threads. */
static bool find_origin(const struct profile *p, struct view_choice *c)
{
	for (size_t i = 0; i < threads_count(p->threads); i++) {
		const struct thread *t = threads_get(p->threads, i);

		if (t->pid != c->thread[0] || t->tid != c->thread[1])
			continue;
		if (!t->origin && t->tid == t->pid)
			return true;
		c->origin = t->origin ? format_origin(p, t) : strdup("[unknown]");
		return c->origin != NULL;
	}
	return true;
}

/* Lists one choice for all threads, one for each name that several threads have, and one for each
 * thread with each of its names. */
struct view_choice *view_model_threads(const struct view_model *m, size_t *n)
{
	const struct profile *p = m->profile;
	size_t streams = sample_streams_count(p->streams), names = 1, threads;
	struct view_choice *c = calloc(2 * streams + 1, sizeof(*c));
	bool good = c != NULL;

	if (!good)
		return NULL;
	for (size_t i = 0; i < streams; i++) {
		const struct sample_stream *s = sample_streams_get(p->streams, i);
		size_t k;

		c[0].samples += m->stream_samples[i];
		if (!m->stream_samples[i])
			continue;
		for (k = 1; k < names && c[k].comm != s->comm; k++)
			;
		if (k == names)
			c[names++] = (struct view_choice){.has_comm = true, .comm = s->comm};
		c[k].samples += m->stream_samples[i];
		c[k].thread[0] += is_first_event(m, i);
	}

	/* Leave out names that only one thread has. */
	for (size_t k = 1; k < names;) {
		if (c[k].thread[0] > 1)
			k++;
		else
			c[k] = c[--names];
	}
	threads = names;
	for (size_t i = 0; i < streams; i++) {
		const struct sample_stream *s = sample_streams_get(p->streams, i);
		size_t k;

		if (!m->stream_samples[i])
			continue;
		/* A thread has one stream for each event. */
		for (k = names; k < threads; k++)
			if (c[k].comm == s->comm && c[k].thread[0] == s->pid &&
			    c[k].thread[1] == s->tid)
				break;
		if (k == threads)
			c[threads++] = (struct view_choice){
				.has_comm = true,
				.has_thread = true,
				.comm = s->comm,
				.thread = {s->pid, s->tid},
			};
		c[k].samples += m->stream_samples[i];
	}
	good = name_choice(&c[0], "all threads");
	for (size_t k = 1; k < threads && good; k++) {
		const char *comm = symbol_table_string(p->names, c[k].comm);

		if (k < names)
			good = name_choice(&c[k], "%s (%u threads)", comm, c[k].thread[0]);
		else
			good = name_choice(&c[k], "%s  thread %u of process %u", comm,
					   c[k].thread[1], c[k].thread[0]) &&
			       find_origin(p, &c[k]);
	}
	*n = threads;
	if (good) {
		qsort(c + 1, threads - 1, sizeof(*c), compare_choices);
		return c;
	}
	view_choices_free(c, threads);
	return NULL;
}

struct view_choice *view_model_events(const struct view_model *m, size_t *n)
{
	const struct profile *p = m->profile;
	struct view_choice *c = calloc(p->n_events, sizeof(*c));
	char event[256];
	bool good = c != NULL;

	for (uint32_t i = 0; i < p->n_events && good; i++) {
		c[i] = (struct view_choice){.has_event = true,
					    .event = i,
					    .samples = profile_event_facts(p, i).samples};
		good = name_choice(&c[i], "%s", profile_event(p, i, event, sizeof(event)));
	}
	*n = p->n_events;
	if (good)
		return c;
	if (c)
		view_choices_free(c, p->n_events);
	return NULL;
}
