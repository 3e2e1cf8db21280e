/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads a recording in two passes over its records. See recording.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/progress.h"
#include "stream/record_check.h"
#include "stream/recording.h"

const struct encoding_table *recording_table(const struct recording *r, uint32_t module)
{
	return module < r->n_modules && r->modules[module].data ? &r->modules[module].table : NULL;
}

static const struct encoding_table *table_of_module(void *ctx, uint32_t module)
{
	return recording_table(ctx, module);
}

/* ---- records --------------------------------------------------------------------- */

static int copy_string(char **to, const char *from)
{
	free(*to);
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

static int take_info(struct recording *r, const struct pcce_rec_info *rec)
{
	char **const strings[] = {&r->sampler, &r->event, &r->command, &r->host, &r->kernel};
	int err = 0;

	r->info = *rec;
	for (uint32_t i = 0; i < RECORDING_ACCOUNTS; i++)
		r->rates[i] = (struct recording_rate){rec->frequency, rec->period};
	if (rec->flags & PCCE_INFO_CALLS)
		r->rates[0] = (struct recording_rate){.period = 1};
	for (unsigned int i = 0; i < sizeof(strings) / sizeof(strings[0]) && !err; i++)
		err = copy_string(strings[i], datafile_string(&rec->rec, i));
	return err;
}

/* The reader has checked that modules come in the order of their numbers. */
static int take_module(struct recording *r, const struct pcce_record *rec)
{
	struct recording_module *m;

	if (array_grow(&r->modules, r->n_modules, sizeof(*r->modules)))
		return -ENOMEM;
	m = &r->modules[r->n_modules];
	*m = (struct recording_module){.path = strdup(datafile_string(rec, 0))};
	r->n_modules += m->path != NULL;
	return m->path ? 0 : -ENOMEM;
}

/* A module has one table at most: others are ignored. */
static int take_table(struct recording *r, const struct pcce_rec_table *rec, struct error *why)
{
	struct recording_module *m = &r->modules[rec->module];
	struct error reason = {0};
	const void *data = datafile_table(rec, &m->size);
	void *copy;
	int err;

	if (m->data)
		return 0;
	copy = malloc(m->size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, m->size);
	err = encoding_table_open(copy, m->size, &m->table, &reason);
	if (!err) {
		m->data = copy;
		return 0;
	}
	free(copy);
	if (err == -ENOMEM)
		return err;
	return error_set(why, err,
			 "cannot use the encoding table of %s in %s: it %s; record again with "
			 "programs and tools of one version of pcce",
			 *m->path ? m->path : "a module", r->name, reason.text);
}

void recording_account_add(struct recording_account *to, const struct recording_account *from)
{
	for (uint32_t i = 0; i <= PCCE_LOSS_MAX; i++)
		to->lost[i] += from->lost[i];
	if (!from->any_due)
		return;
	to->due.known = (!to->any_due || to->due.known) && from->due.known;
	to->any_due = true;
	to->due.due += from->due.due;
	to->due.merged += from->due.merged;
	to->due.kernel += from->due.kernel;
}

static void take_due(struct recording *r, const struct pcce_rec_due *d)
{
	const struct recording_account account = {
		.any_due = true,
		.due = {.known = !(d->flags & PCCE_DUE_UNKNOWN),
			.due = d->due,
			.merged = d->merged,
			.kernel = d->kernel},
	};

	recording_account_add(&r->accounts[recording_account_of(d->event)], &account);
}

static int take_kernel_stack(struct recording *r, const struct pcce_rec_kernel_stack *k)
{
	return kernel_stacks_add(r->kernel_stacks, (const uint64_t *)(k + 1), k->n);
}

static void take_summary(struct recording_hot *to, const struct pcce_rec_hot *h)
{
	memcpy(&to->phi, &h->phi, sizeof(to->phi));
	memcpy(&to->epsilon, &h->epsilon, sizeof(to->epsilon));
	to->samples = h->samples;
	to->weight = h->weight;
	to->offset = h->offset;
	to->counters = h->counters;
	to->per_thread = h->flags & PCCE_HOT_PER_THREAD;
}

static int take_only(struct recording_only *to, const struct pcce_rec_only *o)
{
	to->unknown += o->unknown;
	to->left_out += o->left_out;
	to->left_out_weight += o->left_out_weight;
	return copy_string(&to->expression, datafile_string(&o->rec, 0));
}

static void take_lost(struct recording *r, const struct pcce_rec_lost *rec)
{
	r->accounts[recording_account_of(rec->event)]
		.lost[rec->reason <= PCCE_LOSS_MAX ? rec->reason : 0] += rec->count;
}

static void take_rate(struct recording *r, const struct pcce_rec_event *rec)
{
	r->rates[recording_account_of(rec->event)] =
		(struct recording_rate){rec->frequency, rec->period};
}

static void take_frames(struct recording *r, const struct pcce_rec_frames *rec)
{
	r->frames_unwound += rec->unwound;
	r->frames_reused += rec->reused;
	r->stack_bytes += rec->copied;
}

static int pass_record(struct stream *to, const struct pcce_record *rec)
{
	const struct record_shape *shape = record_shape(rec->type);
	const char *strings[RECORD_STRINGS_MAX];

	for (unsigned int i = 0; i < shape->n_strings; i++)
		strings[i] = datafile_string(rec, i);
	return stream_pass(to, record, rec->type, rec, shape->fixed, strings,
			   (int)shape->n_strings);
}

bool recording_event(const struct recording *r, const struct pcce_record *rec,
		     struct stream_event *e)
{
	if (!datafile_sample(rec, e))
		return false;
	if (e->sample->flags & PCCE_SAMPLE_KERNEL_STACK)
		e->kernel = kernel_stacks_get(r->kernel_stacks, e->sample->kip);
	return true;
}

struct first_pass {
	struct recording *r;
	struct stream *to;
	struct error *why;
	const struct label_set *labels; /* of the next sample */
};

const struct label_set *recording_labels(const struct recording *r, const struct pcce_record *rec)
{
	return label_sets_get(r->label_sets, ((const struct pcce_rec_labeled *)rec)->number);
}

/* Takes what every user needs, and passes the record on. */
static int take_record(void *ctx, const struct pcce_record *rec, const struct datafile_reader *from)
{
	struct first_pass *f = ctx;
	struct recording *r = f->r;
	struct stream *to = f->to;
	const void *any = rec;
	struct stream_event e;
	int err = 0;

	switch (rec->type) {
	case PCCE_REC_PROCESS:
		err = address_spaces_add_process(r->spaces, any);
		return err ? err : stream_pass(to, process, any, datafile_string(rec, 0));
	case PCCE_REC_THREAD:
		return stream_pass(to, thread, any, datafile_string(rec, 0));
	case PCCE_REC_MAP:
		err = address_spaces_add_map(r->spaces, any);
		return err ? err : stream_pass(to, map, any, 0, NULL);
	case PCCE_REC_MODULE:
		err = take_module(r, rec);
		return err ? err : stream_pass(to, module, any, datafile_string(rec, 0));
	case PCCE_REC_KERNEL_STACK:
		return take_kernel_stack(r, any);
	case PCCE_REC_LABELS:
		return label_sets_add(r->label_sets, any);
	case PCCE_REC_LABELED:
		f->labels = recording_labels(r, rec);
		return 0;
	case PCCE_REC_WAIT: /* show_sample() gives these to the sample that follows */
	case PCCE_REC_DURATIONS:
		return 0;
	case PCCE_REC_SYMBOL:
		return stream_pass(to, symbol, any, datafile_string(rec, 0),
				   datafile_string(rec, 1));
	case PCCE_REC_TABLE:
		return take_table(r, any, f->why);
	case PCCE_REC_LOST:
		take_lost(r, any);
		return stream_pass(to, lost, any);
	case PCCE_REC_SAMPLE:
	case PCCE_REC_SUM:
	case PCCE_REC_CONTEXT:
		recording_event(r, rec, &e);
		e.labels = f->labels;
		f->labels = NULL;
		e.bytes = datafile_bytes(from);
		if (e.key && e.sample->flags & PCCE_SAMPLE_COLD)
			r->hot.unkept += e.weight;
		return stream_pass(to, event, &e);
	case PCCE_REC_END:
		return 0;
	case PCCE_REC_INFO:
		err = take_info(r, any);
		break;
	case PCCE_REC_EVENT:
		take_rate(r, any);
		break;
	case PCCE_REC_DUE:
		take_due(r, any);
		break;
	case PCCE_REC_ONLY:
		err = take_only(&r->only, any);
		break;
	case PCCE_REC_HOT:
		take_summary(&r->hot, any);
		break;
	case PCCE_REC_FRAMES:
		take_frames(r, any);
		break;
	}
	return err ? err : pass_record(to, rec);
}

/* ---- passes ---------------------------------------------------------------------- */

int recording_reader(const struct recording *r, struct datafile_reader **out, struct error *why)
{
	return r->path ? datafile_open_as(r->path, r->name, out, why)
		       : datafile_open_memory(r->memory, r->size, r->name, out, why);
}

/* What a pass does with a record: 0 or -errno. */
typedef int pass_step(void *ctx, const struct pcce_record *rec, const struct datafile_reader *from);

/* Sets a sentence for each error that has none yet. */
static int pass_over(const struct recording *r, const char *progress_text, pass_step *step,
		     void *ctx, struct datafile_reader **reader, struct error *why)
{
	const struct pcce_record *rec;
	uint64_t total;
	int err, got = 0;

	*why = (struct error){0};
	err = recording_reader(r, reader, why);
	if (err)
		return err;
	total = datafile_total(*reader);
	while (!err && (got = datafile_next(*reader, &rec)) > 0) {
		if (progress_text)
			progress(progress_text, datafile_position(*reader), total);
		err = step(ctx, rec, *reader);
	}
	if (got < 0)
		return error_set(why, got, "%s", datafile_error(*reader));
	if (err == -ENOMEM && !*why->text)
		error_set(why, err, "cannot read %s: out of memory", r->name);
	return err;
}

static int read_records(struct recording *r, const char *progress_text, struct stream *to,
			struct error *why)
{
	struct first_pass f = {r, to, why, NULL};
	struct datafile_reader *reader = NULL;
	int err = pass_over(r, progress_text, take_record, &f, &reader, why);

	if (!err) {
		r->complete = datafile_complete(reader);
		r->cut_off = datafile_dropped(reader);
		r->unknown = datafile_unknown(reader);
		err = address_spaces_finish(r->spaces);
		if (err)
			error_set(why, err, "cannot read %s: out of memory", r->name);
	}
	datafile_close(reader);
	return err;
}

struct sample_pass {
	const struct recording *recording;
	struct stack_store *stacks;
	recording_sample_visitor *each;
	void *ctx;
	struct pcce_wait wait; /* of the next sample, if there was such a record */
	bool has_wait;
	const struct label_set *labels;	  /* the same */
	struct pcce_durations *durations; /* the same, with its buckets */
	size_t durations_size;
	bool has_durations;
};

static int show_sample(void *ctx, const struct pcce_record *rec, const struct datafile_reader *from)
{
	struct sample_pass *p = ctx;
	struct stream_event e;
	if (rec->type == PCCE_REC_WAIT) {
		p->wait = ((const struct pcce_rec_wait *)rec)->wait;
		p->has_wait = true;
		return 0;
	}
	if (rec->type == PCCE_REC_LABELED)
		p->labels = recording_labels(p->recording, rec);
	if (rec->type == PCCE_REC_DURATIONS) {
		const size_t size = rec->size - sizeof(*rec);

		if (array_reserve(&p->durations, &p->durations_size, size, 1))
			return -ENOMEM;
		memcpy(p->durations, rec + 1, size);
		p->has_durations = true;
		return 0;
	}
	if (!recording_event(p->recording, rec, &e))
		return 0;
	e.labels = p->labels;
	p->labels = NULL;
	e.bytes = datafile_bytes(from);
	if (p->has_wait && rec->type == PCCE_REC_SAMPLE)
		e.wait = &p->wait;
	if (p->has_durations && rec->type == PCCE_REC_SUM)
		e.durations = p->durations;
	p->has_wait = p->has_durations = false;
	if (p->stacks && stack_store_take(p->stacks, e.sample, &e.below))
		return -ENOMEM;
	return p->each(p->ctx, &e);
}

int recording_samples(const struct recording *r, const char *progress_text,
		      struct stack_store *stacks, recording_sample_visitor *each, void *ctx,
		      struct error *why)
{
	struct sample_pass p = {.recording = r, .stacks = stacks, .each = each, .ctx = ctx};
	struct datafile_reader *reader = NULL;
	int err = pass_over(r, progress_text, show_sample, &p, &reader, why);

	datafile_close(reader);
	free(p.durations);
	return err;
}

/* ---- opening and closing --------------------------------------------------------- */

static struct recording *new_recording(const char *name)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->spool.fd = -1;
	r->name = strdup(name);
	r->spaces = address_spaces_new(table_of_module, r, false);
	r->kernel_stacks = kernel_stacks_new();
	r->label_sets = label_sets_new();
	if (!r->name || !r->spaces || !r->kernel_stacks || !r->label_sets ||
	    copy_string(&r->sampler, "") || copy_string(&r->event, "") ||
	    copy_string(&r->command, "") || copy_string(&r->host, "") ||
	    copy_string(&r->kernel, "")) {
		recording_close(r);
		return NULL;
	}
	return r;
}

static int finish_opening(struct recording *r, const char *progress_text, struct stream *to,
			  struct recording **out, struct error *why)
{
	int err = read_records(r, progress_text, to, why);

	if (err) {
		recording_close(r);
		return err;
	}
	*out = r;
	return 0;
}

int recording_open(const char *path, const char *progress_text, struct stream *to,
		   struct recording **out, struct error *why)
{
	struct recording *r = new_recording(path);
	int err;

	if (!r)
		return error_set(why, -ENOMEM, "cannot read %s: out of memory", path);
	err = temp_file_open(r->name, &r->spool, why);
	if (err) {
		recording_close(r);
		return err;
	}
	r->path = r->spool.path;
	return finish_opening(r, progress_text, to, out, why);
}

int recording_open_memory(const void *memory, size_t size, const char *name, struct stream *to,
			  struct recording **out, struct error *why)
{
	struct recording *r = new_recording(name);

	if (!r)
		return error_set(why, -ENOMEM, "cannot read %s: out of memory", name);
	r->memory = memory;
	r->size = size;
	return finish_opening(r, NULL, to, out, why);
}

void recording_end_samples(struct recording *r)
{
	temp_file_close(&r->spool);
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_modules; i++) {
		if (r->modules[i].data)
			encoding_table_close(&r->modules[i].table);
		free(r->modules[i].data);
		free(r->modules[i].path);
	}
	address_spaces_free(r->spaces);
	kernel_stacks_free(r->kernel_stacks);
	label_sets_free(r->label_sets);
	temp_file_close(&r->spool);
	free(r->modules);
	free(r->name);
	free(r->sampler);
	free(r->event);
	free(r->command);
	free(r->host);
	free(r->kernel);
	free(r->only.expression);
	free(r);
}
