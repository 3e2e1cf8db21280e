/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Selects samples, adds them up, and makes the tree of their contexts; again with each new
 * selection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profile/profile_internal.h"
#include "tree/suffix_tree.h"

/* Whether an event is the time off CPUs, and the first one the time on them, at the same rate. */
static bool completes_time(const struct profile *p, uint32_t event)
{
	const struct recording_rate *a = &p->in->rates[0],
				    *b = &p->in->rates[recording_account_of(event)];
	char on[256], off[256];

	profile_event(p, 0, on, sizeof(on));
	return !strcmp(profile_event(p, event, off, sizeof(off)), "off-cpu") &&
	       (!strcmp(on, "cpu-clock") || !strcmp(on, "task-clock")) &&
	       a->frequency == b->frequency && a->period == b->period;
}

static bool select_event(const struct profile *p, const struct selection *s, uint32_t event)
{
	char name[256], number[16];

	if (!s->events.n)
		return p->n_events <= 1 || (p->in->all_events && !p->calls) || !event ||
		       (p->in->all_time && completes_time(p, event));
	snprintf(number, sizeof(number), "%u", event);
	return select_word(&s->events, profile_event(p, event, name, sizeof(name))) ||
	       select_word(&s->events, number);
}

static bool has_selected_labels(const struct profile *p, const struct selection *s,
				const struct sample_stream *stream)
{
	const struct label_set *set = profile_labels(p, stream->labels);

	for (size_t i = 0; i < s->labels.n; i++)
		if (!select_label_value(&s->labels.list[i],
					label_set_value(set, s->labels.list[i].key)))
			return false;
	return true;
}

/* What a stream's samples are. */
enum stream_use { UNUSED, SHOWN, COST };

/* Returns, by stream, what its samples may be. NULL: no memory. */
static enum stream_use *select_streams(const struct profile *p, const struct selection *s)
{
	size_t n = sample_streams_count(p->streams);
	enum stream_use *use = calloc(n + 1, sizeof(*use));

	for (size_t i = 0; i < n && use; i++) {
		const struct sample_stream *t = sample_streams_get(p->streams, i);

		const struct thread *thread = threads_get(p->threads, p->in->thread_of[i]);

		if (!select_process(s, t->pid, symbol_table_string(p->names, thread->process)) ||
		    !select_number(&s->tids, t->tid) ||
		    !select_word(&s->comms, symbol_table_string(p->names, t->comm)) ||
		    !has_selected_labels(p, s, t))
			continue;
		use[i] = select_event(p, s, t->event) ? SHOWN : p->cost.event ? COST : UNUSED;
	}
	return use;
}

/* Writes the names of the selected events to p->in->event, with commas. Returns that, or the names
 * of all events if none is selected by name. */
static const char *name_events(const struct profile *p, const struct selection *s)
{
	char *list = p->in->event;
	size_t size = sizeof(p->in->event), used = 0, length;
	const char *name;

	if (!s->events.n)
		return p->events;
	*list = 0;
	for (uint32_t i = 0; i < p->n_events; i++) {
		name = datafile_event(p->events, i, &length);
		if (select_event(p, s, i) && used < size)
			used += (size_t)snprintf(list + used, size - used, "%s%.*s",
						 used ? "," : "", (int)length, name);
	}
	return *list ? list : p->events;
}

/* Adds up what the recording says of events: of those that are selected, or of all. */
static void add_events(struct profile *p, const struct selection *s, bool every)
{
	const struct profile_internals *in = p->in;
	struct recording_account all = {0};

	p->all_samples = p->all_weight = p->stats.sample_bytes = p->stats.lost = 0;
	for (uint32_t i = 0; i < RECORDING_ACCOUNTS; i++) {
		if (!every && !select_event(p, s, i))
			continue;
		recording_account_add(&all, &in->accounts[i]);
		p->all_samples += in->events[i].samples;
		p->all_weight += in->events[i].weight;
		p->stats.sample_bytes += in->events[i].bytes;
	}
	for (uint32_t i = 0; i <= PCCE_LOSS_MAX; i++)
		p->stats.lost += all.lost[i];
	memcpy(p->stats.lost_reasons, all.lost, sizeof(all.lost));
	p->stats.due = all.due;
}

void profile_show_events(struct profile *p, const struct selection *s)
{
	struct profile_internals *in = p->in;
	uint32_t shown = 0, event = 0;

	memset(in->shown, 0, sizeof(in->shown));
	for (uint32_t i = p->n_events; i-- > 0;) {
		if (!select_event(p, s, i))
			continue;
		in->shown[recording_account_of(i)] = true;
		event = i;
		shown++;
	}
	add_events(p, s, !shown);
	p->event = shown == 1 && p->n_events > 1
			   ? profile_event(p, event, in->event, sizeof(in->event))
			   : name_events(p, s);
	p->frequency = in->rates[recording_account_of(event)].frequency;
	p->period = in->rates[recording_account_of(event)].period;
	p->cost = (struct profile_cost){0};
	if (!p->calls || shown != 1 || event || !in->with_cost)
		return;
	p->cost = (struct profile_cost){
		.event = profile_event(p, 1, in->cost_event, sizeof(in->cost_event)),
		.frequency = in->rates[1].frequency,
		.period = in->rates[1].period,
	};
}

/* Resets all counts. 0 or -ENOMEM. */
static int begin_count(struct profile *p)
{
	struct profile_stats *s = &p->stats;
	uint64_t lost[PCCE_LOSS_MAX + 1];

	memcpy(lost, s->lost_reasons, sizeof(lost));
	*s = (struct profile_stats){.lost = s->lost,
				    .due = s->due,
				    .sample_bytes = s->sample_bytes,
				    .verify = s->verify};
	memcpy(s->lost_reasons, lost, sizeof(lost));
	for (size_t i = 0; i < p->n_leaves; i++)
		p->leaves[i].weight = p->leaves[i].samples = p->leaves[i].error =
			p->leaves[i].cost = 0;
	free(p->stream_samples);
	p->stream_samples =
		calloc(sample_streams_count(p->streams) + 1, sizeof(*p->stream_samples));
	return p->stream_samples ? 0 : -ENOMEM;
}

/* Adds the samples at one instruction to the statistics. contexts: which of them were counted. */
static void count_instruction(struct profile *p, const struct profile_instruction *at,
			      const struct profile_sum *sum, bool *contexts)
{
	struct profile_stats *s = &p->stats;

	p->leaves[at->leaf].weight += sum->weight;
	p->leaves[at->leaf].samples += sum->samples;
	p->leaves[at->leaf].error += sum->error;
	profile_count(s, at, sum->samples);
	if (at->status == DECODE_OUTSIDE || at->status == DECODE_UNKEPT)
		return;
	if (at->depth > s->max_depth)
		s->max_depth = at->depth;
	if (at->status != DECODE_UNDECODABLE && at->entries > s->max_encoding_stack)
		s->max_encoding_stack = at->entries;
	if (at->context && !contexts[at->context]) {
		contexts[at->context] = true;
		s->unique_contexts++;
	}
}

/* Marks instructions whose contexts are not selected with UINT64_MAX samples; keep: by node. */
static void begin_sums(const struct profile *p, const uint8_t *keep, struct profile_sum *sums)
{
	const struct profile_internals *in = p->in;

	for (size_t i = 0; i < in->n_instructions && keep; i++)
		if (!keep[p->leaves[in->instructions[i].leaf].base])
			sums[i].samples = UINT64_MAX;
}

static void add_cost(struct profile *p, const struct profile_instruction *at,
		     const struct profile_sum *sum)
{
	p->cost.samples += sum->samples;
	if (at->between)
		p->cost.between += sum->samples;
	else if (at->counting)
		p->cost.counting += sum->samples;
	else
		p->leaves[at->leaf].cost += sum->weight;
}

/* Adds up samples by instruction. some: not all are selected, so list those that are. */
static void sum_samples(struct profile *p, const struct selection *s, bool some,
			const enum stream_use *use, struct profile_sum *sums)
{
	struct profile_internals *in = p->in;

	for (size_t i = 0; i < in->n_samples; i++) {
		struct profile_sum sum = profile_sum(in, i), *to = &sums[in->instruction[i]];

		if (to->samples == UINT64_MAX || !use[in->stream[i]] ||
		    (s->times.n && !select_time(&s->times, in->time[i], p->first, p->last)))
			continue;
		if (use[in->stream[i]] == COST) {
			add_cost(p, &in->instructions[in->instruction[i]], &sum);
			continue;
		}
		if (some)
			in->selected[in->n_selected++] = i;
		p->stream_samples[in->stream[i]] += sum.samples;
		profile_weigh(&p->stats, sum.samples, sum.weight);
		to->samples += sum.samples;
		to->weight += sum.weight;
		to->error += sum.error;
	}
}

static int count_samples(struct profile *p, const struct selection *s, bool some,
			 const uint8_t *keep)
{
	struct profile_internals *in = p->in;
	bool *contexts = calloc((size_t)in->n_contexts + 1, 1);
	enum stream_use *use = select_streams(p, s);
	struct profile_sum *sums = calloc(in->n_instructions + 1, sizeof(*sums));
	int r = contexts && use && sums ? begin_count(p) : -ENOMEM;

	free(in->selected);
	in->selected = some ? malloc(in->n_samples * sizeof(*in->selected) + 1) : NULL;
	in->n_selected = 0;
	if (some && !in->selected)
		r = -ENOMEM;
	if (!r) {
		begin_sums(p, keep, sums);
		sum_samples(p, s, some, use, sums);
	}
	for (size_t i = 0; i < in->n_instructions && !r; i++)
		if (sums[i].samples && sums[i].samples != UINT64_MAX)
			count_instruction(p, &in->instructions[i], &sums[i], contexts);
	free(contexts);
	free(use);
	free(sums);
	return r;
}

/* Makes the tree of all contexts the profile's tree. */
static void take_all(struct profile *p)
{
	p->tree = p->in->all;
	p->in->all = (struct cct){0};
	for (size_t i = 0; i < p->n_leaves; i++) {
		p->tree.nodes[p->leaves[i].node].self += p->leaves[i].weight;
		p->tree.nodes[p->leaves[i].node].samples += p->leaves[i].samples;
		p->tree.nodes[p->leaves[i].node].error += p->leaves[i].error;
	}
}

/* Fills node_of. 0 or -ENOMEM. */
static int number_nodes_of_instructions(const struct profile *p)
{
	struct profile_internals *in = p->in;

	free(in->node_of);
	in->node_of = malloc(in->n_instructions * sizeof(*in->node_of) + 1);
	for (size_t i = 0; i < in->n_instructions && in->node_of; i++)
		in->node_of[i] = p->leaves[in->instructions[i].leaf].node;
	return in->node_of ? 0 : -ENOMEM;
}

int profile_finish_tree(struct profile *p)
{
	uint32_t *map;
	int r = cct_finish(&p->tree, p->names);

	r = r ? r : cct_preorder(&p->tree, &map);
	if (r)
		return r;
	for (size_t i = 0; i < p->n_leaves; i++)
		if (p->leaves[i].node != UINT32_MAX)
			p->leaves[i].node = map[p->leaves[i].node];
	free(map);
	if (number_nodes_of_instructions(p))
		return -ENOMEM;
	if (!p->in->again) {
		free(p->leaves);
		p->leaves = NULL;
		p->n_leaves = 0;
	}
	return 0;
}

/* Replaces the profile's tree, and frees the map. */
static void replace_tree(struct profile *p, const struct cct *by, uint32_t *map)
{
	for (size_t i = 0; i < p->n_leaves; i++)
		if (tree_leaf_is_selected(&p->leaves[i]))
			p->leaves[i].node = map[p->leaves[i].node];
	free(map);
	cct_free(&p->tree);
	p->tree = *by;
}

/* Shortens contexts, and removes cold ones. 0 or -ENOMEM. */
static int prune_tree(struct profile *p, const struct selection *s)
{
	struct cct to;
	uint32_t *map;
	int r = 0;

	p->hot = (struct hot_tree_summary){
		.phi = s->hot > 0 && s->hot_default && p->summary.phi > 0 ? p->summary.phi : s->hot,
		.by_total = s->hot_by_total,
		.epsilon = p->summary.epsilon,
		.unkept = p->summary.unkept,
		.cold_name = p->hot.cold_name,
	};
	if (s->suffix) {
		r = suffix_tree_new(&p->tree, s->suffix, &to, &map);
		if (!r)
			replace_tree(p, &to, map);
	}
	if (!r && s->hot > 0) {
		r = hot_tree_new(&p->tree, p->names, &to, &map, &p->hot);
		if (!r)
			replace_tree(p, &to, map);
	}
	return r;
}

int profile_select(struct profile *p, const struct selection *s)
{
	struct profile_internals *in = p->in;
	bool filtered = selection_has_samples(s) || selection_has_contexts(s) || p->n_events > 1;
	uint8_t *keep = NULL;
	int r = 0;

	profile_show_events(p, s);

	if (in->has_tree && selection_has_contexts(s)) {
		keep = malloc(in->all.n);
		r = keep ? select_contexts(&in->all, p->names, s, keep) : -ENOMEM;
	}
	if (!r)
		r = count_samples(p, s, filtered, keep);
	free(keep);
	if (r || !in->has_tree)
		return r;
	cct_free(&p->tree);
	for (size_t i = 0; i < p->n_leaves; i++)
		p->leaves[i].node = p->leaves[i].base;
	if (in->again || filtered || selection_has_frames(s))
		r = select_tree(&in->all, p->names, s, p->leaves, p->n_leaves, &p->tree);
	else
		take_all(p);
	r = r ? r : prune_tree(p, s);
	for (size_t i = 0; i < p->n_leaves; i++)
		if (!tree_leaf_is_selected(&p->leaves[i]))
			p->leaves[i].node = UINT32_MAX;
	p->own_lines = s->by == SELECT_BY_LINE;
	return r ? r : profile_finish_tree(p);
}

int profile_detail(const struct profile *p, const struct selection *s, struct cct *to)
{
	struct tree_leaf *leaves = malloc(p->n_leaves * sizeof(*leaves) + 1);
	int r = -ENOMEM;

	if (leaves) {
		for (size_t i = 0; i < p->n_leaves; i++) {
			leaves[i] = p->leaves[i];
			leaves[i].node = leaves[i].base;
		}
		r = select_tree(&p->in->all, p->names, s, leaves, p->n_leaves, to);
	}
	free(leaves);
	return r ? r : cct_finish(to, p->names);
}
