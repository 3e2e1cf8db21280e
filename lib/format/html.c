/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prepares a profile for the HTML page that html/page.c writes: a tree merged by lines, and the
 * samples of each thread in the order of time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "html/histogram.h"
#include "format/summary_json.h"
#include "format/format.h"
#include "format/html_sources.h"
#include "html/page.h"

/* A page with more is slow in browsers. */
#define MAX_NODES 1000000
#define MAX_SAMPLES 1000000
#define EVENT_NAME 256

struct parts {
	struct cct tree;
	uint32_t *map; /* node of the profile's tree -> node of `tree` */
	uint32_t *entries;
	uint8_t *calls;
	struct html_event *events; /* that are shown */
	size_t n_events;	   /* at least 1 */
	char (*event_names)[EVENT_NAME];
	uint32_t *event_of; /* event of the profile -> index into events */
	uint64_t *self;	    /* by node, then by event */
	struct html_thread *threads;
	size_t n_threads;
	struct html_sample *samples;
	size_t n_samples;
	struct html_sources sources;
	uint64_t depths[HISTOGRAM_BUCKETS], stacks[HISTOGRAM_BUCKETS];
	uint64_t thinned;
};

/* ---- how calls are encoded ------------------------------------------------------- */

static enum html_call html_call_of(const struct profile *p, const struct cct_node *n)
{
	static const enum html_call calls[] = {
		[PCCE_KIND_NONE] = HTML_CALL_NONE, [PCCE_KIND_ADD] = HTML_CALL_ADD,
		[PCCE_KIND_EXT] = HTML_CALL_EXT,   [PCCE_KIND_PUSH] = HTML_CALL_PUSH,
		[PCCE_KIND_TAIL] = HTML_CALL_TAIL,
	};
	uint32_t module = p->tree.nodes[n->parent].key->module, site;
	const struct encoding_table *t =
		module == UINT32_MAX ? NULL : symbol_table_table(p->names, module);

	if (!t || !n->key->call)
		return HTML_CALL_UNKNOWN;
	site = encoding_table_site_around(t, n->key->call);
	if (site == PCCE_NONE || t->sites[site].kind >= sizeof(calls) / sizeof(calls[0]))
		return HTML_CALL_UNKNOWN;
	return calls[t->sites[site].kind];
}

/* ---- events ---------------------------------------------------------------------- */

static int list_shown_events(const struct profile *p, struct parts *parts)
{
	parts->events = calloc(p->n_events + 1, sizeof(*parts->events));
	parts->event_names = calloc(p->n_events + 1, sizeof(*parts->event_names));
	parts->event_of = calloc(p->n_events + 1, sizeof(*parts->event_of));
	if (!parts->events || !parts->event_names || !parts->event_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_events; i++) {
		char *name = parts->event_names[parts->n_events];
		struct format_unit unit;

		if (!profile_event_facts(p, i).shown)
			continue;
		profile_event(p, i, name, EVENT_NAME);
		unit = format_event_unit(p, i, name);
		parts->event_of[i] = parts->n_events;
		parts->events[parts->n_events++] = (struct html_event){
			.name = name, .bytes = unit.bytes, .scale = unit.clock ? unit.scale : 0};
	}
	if (!parts->n_events)
		parts->n_events = 1;
	parts->self = calloc(parts->tree.n * parts->n_events, sizeof(*parts->self));
	return parts->self ? 0 : -ENOMEM;
}

/* Gives the tree the weights of the first event, if there are several. 0 or -ENOMEM. */
static int weigh_by_first_event(const struct profile *p, struct parts *parts)
{
	for (size_t i = 0; parts->n_events > 1 && i < parts->tree.n; i++)
		parts->tree.nodes[i].self = parts->self[i * parts->n_events];
	return cct_finish(&parts->tree, p->names);
}

/* ---- samples by thread ----------------------------------------------------------- */

COMPARE_BY3(compare_html_samples, struct html_sample, event, time, node);

/* State of one event of one thread while samples are thinned. Of each group of `step` samples the
 * page gets one, with the weight of all. */
struct queue {
	uint64_t seen, weight;
	size_t next;
};

/* Adds the threads that have samples. queues: by thread, then by event. 0 or -ENOMEM. */
static int add_threads(const struct profile *p, struct parts *parts, struct queue *queues)
{
	for (size_t t = 0; t < threads_count(p->threads); t++) {
		const struct thread *thread = threads_get(p->threads, t);
		struct html_thread *to = &parts->threads[parts->n_threads];

		to->first = parts->n_samples;
		for (size_t e = 0; e < parts->n_events; e++) {
			struct queue *q = &queues[t * parts->n_events + e];

			q->next = parts->n_samples;
			parts->n_samples += (q->seen + parts->thinned - 1) / parts->thinned;
			q->seen = 0;
		}
		to->last = parts->n_samples;
		if (to->first == to->last)
			continue;
		to->pid = thread->pid;
		to->tid = thread->tid;
		to->name = thread->name ? symbol_table_string(p->names, thread->name) : NULL;
		to->origin = format_origin(p, thread);
		parts->n_threads++;
		if (!to->origin)
			return -ENOMEM;
	}
	return 0;
}

/* Adds a sample to the sums, and to the samples of the page if it is one of them. */
static void add_sample(struct parts *parts, const struct profile_sample *s, struct queue *q)
{
	uint32_t node = parts->map[s->node], event = parts->event_of[s->event];
	uint64_t step = parts->thinned;

	parts->depths[histogram_bucket_of(s->depth)] += s->samples;
	parts->stacks[histogram_bucket_of(s->entries)] += s->samples;
	parts->self[node * parts->n_events + event] += s->weight;
	parts->events[event].samples += s->samples;
	parts->events[event].weight += s->weight;
	if (s->entries > parts->entries[node])
		parts->entries[node] = s->entries;
	/* The position in the group varies. A constant one could correlate with a period of the
	 * program. */
	if (q->seen % step == 0)
		q->weight = 0;
	q->weight += s->weight;
	if (q->seen % step == (q->seen / step * 2654435761u >> 8) % step || q->seen % step == 0)
		parts->samples[q->next] = (struct html_sample){
			.time = s->time, .node = node, .event = event, .place = s->leaf};
	parts->samples[q->next].weight = q->weight < UINT32_MAX ? q->weight : UINT32_MAX;
	if (++q->seen % step == 0)
		q->next++;
}

static void sort_samples(struct html_sample *first, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (compare_html_samples(&first[i - 1], &first[i]) > 0) {
			qsort(first, n, sizeof(*first), compare_html_samples);
			return;
		}
	}
}

static int add_samples(const struct profile *p, struct parts *parts)
{
	size_t n = profile_samples(p), n_threads = threads_count(p->threads),
	       n_queues = n_threads * parts->n_events + 1;
	struct queue *queues = calloc(n_queues, sizeof(*queues));
	uint64_t step = n / MAX_SAMPLES + (n % MAX_SAMPLES != 0);
	int r;

	parts->thinned = step ? step : 1;
	parts->threads = calloc(n_threads + 1, sizeof(*parts->threads));
	/* Each queue can have an incomplete group at its end. */
	parts->samples = malloc((n / parts->thinned + n_queues) * sizeof(*parts->samples));
	if (!queues || !parts->threads || !parts->samples) {
		free(queues);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		struct profile_sample s = profile_sample(p, i);

		queues[s.thread * parts->n_events + parts->event_of[s.event]].seen++;
	}
	r = add_threads(p, parts, queues);
	for (size_t i = 0; i < n && !r; i++) {
		struct profile_sample s = profile_sample(p, i);

		add_sample(parts, &s,
			   &queues[s.thread * parts->n_events + parts->event_of[s.event]]);
	}
	free(queues);
	for (size_t t = 0; t < parts->n_threads && !r; t++)
		sort_samples(parts->samples + parts->threads[t].first,
			     parts->threads[t].last - parts->threads[t].first);
	return r;
}

/* ---- facts ----------------------------------------------------------------------- */

static json_t *histogram(const uint64_t *counts)
{
	json_t *list = json_array();
	int r = 0;

	for (unsigned int b = 0; b < HISTOGRAM_BUCKETS; b++)
		if (counts[b])
			r |= json_array_append_new(
				list, json_pack("[III]", (json_int_t)histogram_bucket_least(b),
						(json_int_t)(histogram_bucket_least(b + 1) - 1),
						(json_int_t)counts[b]));
	if (r) {
		json_decref(list);
		return NULL;
	}
	return list;
}

static json_t *facts_object(const struct profile *p, const struct parts *parts)
{
	json_t *o = summary_of_recording(p);
	int r = 0;

	if (!o)
		return NULL;
	r |= json_object_set_new(o, "depths", histogram(parts->depths));
	r |= json_object_set_new(o, "entries", histogram(parts->stacks));
	if (parts->thinned > 1)
		r |= json_object_set_new(o, "thinned", json_integer(parts->thinned));
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* ---- the whole ------------------------------------------------------------------- */

static int fill_parts(const struct profile *p, struct parts *parts)
{
	int r = cct_merge_map(&p->tree, CCT_MERGE_LINES, &parts->tree, &parts->map);

	if (r)
		return r;
	parts->entries = calloc(parts->tree.n, sizeof(*parts->entries));
	parts->calls = calloc(parts->tree.n, sizeof(*parts->calls));
	if (!parts->entries || !parts->calls || list_shown_events(p, parts))
		return -ENOMEM;
	/* If one line has several calls, the page shows the most expensive kind. */
	for (size_t i = 1; i < p->tree.n; i++) {
		enum html_call call = html_call_of(p, &p->tree.nodes[i]);

		if (call > parts->calls[parts->map[i]])
			parts->calls[parts->map[i]] = call;
	}
	r = add_samples(p, parts);
	return r ? r : weigh_by_first_event(p, parts);
}

int format_html(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct parts *parts = calloc(1, sizeof(*parts));
	struct html_page page = {
		.title = p->command,
		.names = p->names,
		.least = o->min_percent / 100.0,
		.max_depth = o->max_depth,
		.max_nodes = MAX_NODES,
	};
	int r = parts ? fill_parts(p, parts) : -ENOMEM;

	if (!r && o->source)
		r = html_sources_read(p, o, &parts->sources);
	if (!r) {
		page.tree = &parts->tree;
		page.entries = parts->entries;
		page.calls = parts->calls;
		if (parts->n_events > 1) {
			page.events = parts->events;
			page.n_events = parts->n_events;
			page.self = parts->self;
		}
		page.threads = parts->threads;
		page.n_threads = parts->n_threads;
		page.samples = parts->samples;
		page.n_samples = parts->n_samples;
		page.places = parts->sources.places;
		page.n_places = parts->sources.n_places;
		page.sources = parts->sources.files;
		page.n_sources = parts->sources.n;
		page.facts = facts_object(p, parts);
		r = page.facts ? html_page_write(&page, out) : -ENOMEM;
		json_decref(page.facts);
	}
	if (parts) {
		cct_free(&parts->tree);
		free(parts->map);
		free(parts->entries);
		free(parts->calls);
		free(parts->events);
		free(parts->event_names);
		free(parts->event_of);
		free(parts->self);
		for (size_t i = 0; i < parts->n_threads; i++)
			free(parts->threads[i].origin);
		free(parts->threads);
		free(parts->samples);
		html_sources_free(&parts->sources);
	}
	free(parts);
	return r;
}
