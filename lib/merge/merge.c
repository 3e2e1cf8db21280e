/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Merges recordings one by one. For each, the first pass reads modules, processes and names. The
 * second pass relocates each sample to the addresses that its modules have in the merged recording,
 * and adds it to the sums (sums.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/id_map.h"
#include "merge/merge.h"
#include "merge/relocator.h"
#include "merge/summary.h"
#include "merge/sums.h"
#include <pcce/sample.h>
#include "stream/move_addresses.h"
#include "stream/recording.h"
#include "stream/threads.h"
#include "symbols/symbol_table.h"

/* All processes that run one program under one name. */
struct program {
	uint32_t module; /* number of the executable; UINT32_MAX: unknown */
	uint32_t name;	 /* string of merge.names */
	uint32_t *modules;
	size_t n_modules;
};

struct merged_thread {
	uint32_t program;
	uint32_t name;
};

struct merge {
	struct relocator *space;
	struct merge_sums *sums;
	struct summary *summary; /* NULL: the recordings are no summaries */
	bool per_thread;	 /* the summaries are */
	struct symbol_table *names;
	struct id_map by_program, by_thread, by_mapped;
	struct program *programs;
	size_t n_programs;
	struct merged_thread *threads;
	size_t n_threads;
	/* For the info record: */
	char *sampler, *event, *command, *host, *kernel, *first_path;
	uint64_t frequency, period, start; /* ns since 1970 */
	uint64_t last;
	struct recording_account accounts[RECORDING_ACCOUNTS];
	struct recording_only only;
	struct recording_rate rates[RECORDING_ACCOUNTS]; /* if there are several events */
	bool with_frames, with_calls;
	uint64_t frames_unwound, frames_reused, stack_bytes;
	uint64_t files, commands, samples;
};

/* The recording that is being added. */
struct file {
	struct stream stream;
	struct merge *m;
	const char *name;
	struct recording *recording;
	struct stack_store *segments;
	struct threads *threads;
	struct id_map moved; /* relocated segments, by node, space and program */
	const struct stack_node **moved_to;
	size_t n_moved;
	uint64_t *frames; /* relocated frames of a sample */
	size_t frames_capacity;
	struct error *why;
	void (*note)(const char *text);
};

struct merge *merge_new(void)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->space = relocator_new();
	m->sums = merge_sums_new();
	m->names = symbol_table_new(SYMBOL_NAMES_RAW);
	if (m->space && m->sums && m->names)
		return m;
	merge_free(m);
	return NULL;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	relocator_free(m->space);
	merge_sums_free(m->sums);
	summary_free(m->summary);
	symbol_table_free(m->names);
	id_map_free(&m->by_program);
	id_map_free(&m->by_thread);
	id_map_free(&m->by_mapped);
	for (size_t i = 0; i < m->n_programs; i++)
		free(m->programs[i].modules);
	free(m->programs);
	free(m->threads);
	free(m->sampler);
	free(m->event);
	free(m->command);
	free(m->host);
	free(m->kernel);
	free(m->first_path);
	free(m->only.expression);
	free(m);
}

struct merge_counts merge_counts(const struct merge *m)
{
	return (struct merge_counts){
		.files = m->files,
		.samples = m->samples,
		.sums = merge_sums_count(m->sums),
		.modules = relocator_count(m->space),
	};
}

/* ---- the info record ------------------------------------------------------------- */

/* Sets *all to the string that all files have, or to "several". 0 or -ENOMEM. */
static int join_string(char **all, const char *one)
{
	const char *now = !*all || !strcmp(*all, one) ? one : "several";
	char *copy = strdup(now);

	if (!copy)
		return -ENOMEM;
	free(*all);
	*all = copy;
	return 0;
}

static int merge_info(struct file *f, const struct pcce_rec_info *info, const char *const *strings)
{
	struct merge *m = f->m;
	const char *event = strings[1];

	relocator_begin(m->space, strings[3], strings[4]);
	if (m->files && strcmp(m->event, event))
		return error_set(
			f->why, -EINVAL,
			"cannot merge %s and %s: the first counts %s, the second %s; merge "
			"recordings of one event",
			m->first_path, f->name, m->event, event);
	if (m->files && (m->frequency != info->frequency || m->period != info->period))
		return error_set(f->why, -EINVAL,
				 "cannot merge %s and %s: the first was sampled at %" PRIu64
				 " %s, the second at %" PRIu64
				 " %s; merge recordings of one frequency",
				 m->first_path, f->name, m->frequency ? m->frequency : m->period,
				 m->frequency ? "Hz" : "events",
				 (uint64_t)(info->frequency ? info->frequency : info->period),
				 info->frequency ? "Hz" : "events");
	if (!m->files) {
		m->frequency = info->frequency;
		m->period = info->period;
		m->first_path = strdup(f->name);
		if (!m->first_path)
			return -ENOMEM;
	}
	if (!m->files || info->wall_time < m->start)
		m->start = info->wall_time;
	if (join_string(&m->sampler, strings[0]) || join_string(&m->event, event) ||
	    join_string(&m->host, strings[3]) || join_string(&m->kernel, strings[4]) ||
	    join_string(&m->command, strings[2]))
		return -ENOMEM;
	return 0;
}

/* Converts a time of the file to ns since 1970. */
static uint64_t wall_time(const struct file *f, uint64_t time)
{
	return time - f->recording->info.start_time + f->recording->info.wall_time;
}

/* ---- the first pass -------------------------------------------------------------- */

static struct file *file_of_stream(struct stream *s)
{
	return (struct file *)s;
}

static int merge_event(struct file *f, const struct pcce_rec_event *rec)
{
	struct recording_rate *rate = &f->m->rates[recording_account_of(rec->event)];

	if (!rate->frequency && !rate->period) /* also if the files before were cut off too early */
		*rate = (struct recording_rate){rec->frequency, rec->period};
	return rate->frequency == rec->frequency && rate->period == rec->period
		       ? 0
		       : error_set(f->why, -EINVAL,
				   "cannot merge %s and %s: event %u has another rate; merge "
				   "recordings of equal rates",
				   f->m->first_path, f->name, rec->event);
}

static int merge_record(struct stream *s, uint32_t type, const void *rec, size_t size,
			const char *const *strings, int n_strings)
{
	(void)size;
	(void)n_strings;
	return type == PCCE_REC_INFO	? merge_info(file_of_stream(s), rec, strings)
	       : type == PCCE_REC_EVENT ? merge_event(file_of_stream(s), rec)
					: 0;
}

static int merge_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		     const char *path)
{
	(void)pgoff;
	(void)path;
	return relocator_map(file_of_stream(s)->m->space, rec);
}

static int merge_module(struct stream *s, const struct pcce_rec_module *rec, const char *path)
{
	return relocator_module(file_of_stream(s)->m->space, rec, path);
}

static int merge_symbol(struct stream *s, const struct pcce_rec_symbol *rec, const char *function,
			const char *file)
{
	(void)function;
	(void)file;
	return relocator_symbol(file_of_stream(s)->m->space, rec);
}

static const struct stream_ops first_pass = {
	.record = merge_record,
	.map = merge_map,
	.module = merge_module,
	.symbol = merge_symbol,
};

/* Counts of all contexts and counts of the hot ones have nothing in common. */
static int begin_summary(struct file *f)
{
	struct merge *m = f->m;
	bool is_summary = f->recording->hot.phi > 0;

	if (m->files && is_summary != !!m->summary)
		return error_set(f->why, -EINVAL,
				 "cannot merge %s and %s: only the %s was recorded with --hot; "
				 "merge recordings of one kind",
				 m->first_path, f->name, is_summary ? "second" : "first");
	if (!is_summary)
		return 0;
	if (m->summary && f->recording->hot.per_thread != m->per_thread)
		return error_set(f->why, -EINVAL,
				 "cannot merge %s and %s: only the %s was recorded with "
				 "--per-thread; merge recordings of one kind",
				 m->first_path, f->name, m->per_thread ? "first" : "second");
	if (!m->summary)
		m->summary = summary_new();
	if (!m->summary)
		return -ENOMEM;
	m->per_thread = f->recording->hot.per_thread;
	summary_begin(m->summary, &f->recording->hot);
	return 0;
}

/* Samples of other contexts would be missing in one of them only. */
static int merge_only(struct file *f)
{
	struct recording_only *to = &f->m->only;
	const struct recording_only *one = &f->recording->only;
	const char *text = one->expression ? one->expression : "";

	if (f->m->files && strcmp(to->expression ? to->expression : "", text))
		return error_set(f->why, -EINVAL,
				 "cannot merge %s and %s: they were recorded with different "
				 "expressions of --only; merge recordings of one expression",
				 f->m->first_path, f->name);
	if (one->expression && !to->expression)
		to->expression = strdup(text);
	if (one->expression && !to->expression)
		return -ENOMEM;
	to->unknown += one->unknown;
	to->left_out += one->left_out;
	to->left_out_weight += one->left_out_weight;
	return 0;
}

static int end_summary(struct file *f)
{
	int r = f->m->summary ? summary_end(f->m->summary) : 0;

	if (r == -EINVAL)
		error_set(f->why, r,
			  "cannot merge %s: its summary of hot contexts is damaged; record again",
			  f->name);
	else if (r == -EOVERFLOW)
		error_set(f->why, r, "cannot merge %s: the counts do not fit into 64 bits",
			  f->name);
	else if (r == -ERANGE)
		error_set(f->why, r,
			  "cannot merge %s: counts would err by more than epsilon; record with "
			  "--engine=hcct",
			  f->name);
	return r;
}

static int read_file(struct file *f)
{
	const struct recording *r;
	char text[512];
	/* Numbers threads before find_program() asks for their names. */
	struct stream *to = threads_stage(f->threads, &f->stream);
	int err = recording_open(f->name, f->name, to, &f->recording, f->why);

	if (err)
		return err;
	r = f->recording;
	if (!r->info.rec.size)
		return error_set(f->why, -EINVAL,
				 "cannot merge %s: it ends after its header, and nothing was "
				 "recorded into it",
				 f->name);
	if (!r->complete) {
		snprintf(
			text, sizeof(text),
			"%s has no end record: the recording was cut off, and its part up to there "
			"is merged",
			f->name);
		f->note(text);
	}
	if (r->unknown) {
		snprintf(text, sizeof(text),
			 "%s holds %" PRIu64
			 " records of types that this version does not know; they are left out",
			 f->name, r->unknown);
		f->note(text);
	}
	for (uint32_t i = 0; i < RECORDING_ACCOUNTS; i++) {
		struct recording_account account = r->accounts[i];

		/* Without a record, it is not known what was due. */
		account.any_due = true;
		recording_account_add(&f->m->accounts[i], &account);
	}
	f->m->with_calls |= (r->info.flags & PCCE_INFO_CALLS) != 0;
	f->m->with_frames |= (r->info.flags & PCCE_INFO_FRAMES) != 0;
	f->m->frames_unwound += r->frames_unwound;
	f->m->frames_reused += r->frames_reused;
	f->m->stack_bytes += r->stack_bytes;
	threads_finish(f->threads);
	err = begin_summary(f);
	err = err ? err : merge_only(f);
	return err ? err : relocator_finish(f->m->space, r, f->why);
}

/* ---- programs and threads -------------------------------------------------------- */

static uint32_t intern_program(struct merge *m, uint32_t module, uint32_t name)
{
	uint64_t words[ID_MAP_WORDS] = {(uint64_t)module << 32 | name};
	struct id_map_entry *e = id_map_find(&m->by_program, words);

	if (!e || e->number)
		return e ? e->number - 1 : UINT32_MAX;
	if (array_grow(&m->programs, m->n_programs, sizeof(*m->programs)))
		return UINT32_MAX;
	m->programs[m->n_programs] = (struct program){.module = module, .name = name};
	id_map_fill(&m->by_program, e, words, m->n_programs);
	return m->n_programs++;
}

static uint32_t intern_thread(struct merge *m, uint32_t program, uint32_t name)
{
	uint64_t words[ID_MAP_WORDS] = {(uint64_t)program << 32 | name};
	struct id_map_entry *e = id_map_find(&m->by_thread, words);

	if (!e || e->number)
		return e ? e->number - 1 : UINT32_MAX;
	if (array_grow(&m->threads, m->n_threads, sizeof(*m->threads)))
		return UINT32_MAX;
	m->threads[m->n_threads] = (struct merged_thread){program, name};
	id_map_fill(&m->by_thread, e, words, m->n_threads);
	return m->n_threads++;
}

/* Notes that the program has mapped the module. */
static int note_mapped(struct merge *m, uint32_t program, uint32_t module)
{
	uint64_t words[ID_MAP_WORDS] = {(uint64_t)program << 32 | module};
	struct id_map_entry *e = id_map_find(&m->by_mapped, words);
	struct program *p = &m->programs[program];

	if (!e)
		return -ENOMEM;
	if (e->number)
		return 0;
	if (array_grow(&p->modules, p->n_modules, sizeof(*p->modules)))
		return -ENOMEM;
	p->modules[p->n_modules++] = module;
	id_map_fill(&m->by_mapped, e, words, 0);
	return 0;
}

/* Numbers of processes in the merged recording begin at 1. */
static uint32_t merged_pid(uint32_t program)
{
	return program + 1;
}

/* The thread that has its process's name is the process's first one. */
static uint32_t merged_tid(const struct merge *m, uint32_t thread)
{
	const struct merged_thread *t = &m->threads[thread];

	return t->name == m->programs[t->program].name ? merged_pid(t->program)
						       : merged_pid(m->n_programs) + thread;
}

/* ---- the second pass ------------------------------------------------------------- */

struct mover {
	struct address_mover by;
	struct file *f;
	const struct decode_space *as;
	uint32_t space, program;
	int error;
};

static uint64_t relocate(void *ctx, uint64_t address)
{
	struct mover *v = ctx;
	const struct decode_module *m = v->as->find(v->as, address);

	if (m && note_mapped(v->f->m, v->program, relocator_number(v->f->m->space, m->module)))
		v->error = -ENOMEM;
	return relocator_relocate(v->f->m->space, v->as, address);
}

/* Relocates the segments of a stack. NULL: an empty stack, or v->error is set. */
static const struct stack_node *relocate_stack(struct mover *v, const struct stack_node *node)
{
	struct file *f = v->f;
	const struct stack_node **chain = NULL, *to = NULL;
	struct pcce_entry entries[PCCE_SEGMENT_ENTRIES];
	size_t n = 0;

	for (; node && !v->error; node = stack_store_below(node)) {
		uint64_t words[ID_MAP_WORDS] = {(uintptr_t)node,
						(uint64_t)v->space << 32 | v->program};
		struct id_map_entry *e = id_map_find(&f->moved, words);

		if (!e || array_grow(&chain, n, sizeof(const struct stack_node *)))
			v->error = -ENOMEM;
		else if (e->number)
			to = f->moved_to[e->number - 1];
		else
			chain[n++] = node;
		if (to)
			break;
	}
	while (n && !v->error) {
		const struct pcce_entry *from = stack_store_entries(chain[--n]);
		uint64_t words[ID_MAP_WORDS] = {(uintptr_t)chain[n],
						(uint64_t)v->space << 32 | v->program};
		struct id_map_entry *e;

		for (unsigned int i = 0; i < PCCE_SEGMENT_ENTRIES; i++)
			entries[i] = move_entry(&v->by, from[i]);
		to = stack_store_intern(merge_sums_segments(f->m->sums), to, entries);
		e = id_map_find(&f->moved, words);
		if (!to || !e ||
		    array_grow(&f->moved_to, f->n_moved, sizeof(const struct stack_node *))) {
			v->error = -ENOMEM;
			break;
		}
		f->moved_to[f->n_moved] = to;
		id_map_fill(&f->moved, e, words, f->n_moved++);
	}
	free(chain);
	return v->error ? NULL : to;
}

/* Relocates the restored frames of a sample: return addresses, which may end a module. */
static int relocate_frames(struct mover *v, const struct pcce_sample *s)
{
	struct file *f = v->f;
	const uint64_t *from = pcce_sample_stack(s);

	if (array_reserve(&f->frames, &f->frames_capacity, s->n_stack, sizeof(*f->frames)))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_stack; i++)
		f->frames[i] = relocate(v, from[i] - 1) + 1;
	return 0;
}

static int find_program(struct file *f, struct mover *v, const struct pcce_sample *s,
			uint32_t *thread)
{
	const struct decode_module *main = v->as->main_module(v->as);
	uint32_t number = threads_number(f->threads, s->pid, s->tid), name, process;
	const struct thread *t = number == UINT32_MAX ? NULL : threads_get(f->threads, number);

	if (!t)
		return -ENOMEM;
	process = t->process;
	name = t->name;
	v->program = intern_program(
		f->m, main ? relocator_number(f->m->space, main->module) : UINT32_MAX, process);
	if (v->program == UINT32_MAX)
		return -ENOMEM;
	/* Short addresses of sites are in it. */
	if (main && note_mapped(f->m, v->program, relocator_number(f->m->space, main->module)))
		return -ENOMEM;
	*thread = intern_thread(f->m, v->program, name);
	return *thread == UINT32_MAX ? -ENOMEM : 0;
}

/* Adds a relocated sample to the sums. */
static int add_sum(struct file *f, const struct stream_event *of, const struct pcce_sample *key,
		   const struct pcce_entry *entries, const struct stack_node *below)
{
	struct merge_context context = {
		.samples = of->samples, .weight = of->weight, .labels = of->labels};
	struct merge *m = f->m;

	m->samples += of->samples;
	if (!of->key)
		return merge_sums_add(m->sums, key, entries, below, f->frames, of->kernel,
				      &context);
	memcpy(context.key, of->key, sizeof(context.key));
	if (summary_add(m->summary, of->key, of->samples, of->weight, of->error))
		return -ENOMEM;
	return merge_sums_add_context(m->sums, key, entries, below, of->kernel, &context);
}

static int merge_sample(void *ctx, const struct stream_event *of)
{
	struct file *f = ctx;
	const struct pcce_sample *s = of->sample;
	const struct stack_node *below;
	struct pcce_sample key = *s;
	struct pcce_entry entries[PCCE_SEGMENT_ENTRIES];
	struct address_spaces *spaces = f->recording->spaces;
	struct mover v = {.f = f, .space = address_spaces_at(spaces, s->pid, s->time)};
	uint32_t thread;

	if (v.space == UINT32_MAX)
		return -ENOMEM;
	if (of->key && !f->m->summary)
		return error_set(f->why, -EINVAL,
				 "cannot merge %s: it holds hot contexts, but not their summary",
				 f->name);
	if (s->flags & PCCE_SAMPLE_COLD) {
		f->m->samples += of->samples;
		return 0;
	}
	v.as = address_spaces_get(spaces, v.space);
	v.by = (struct address_mover){relocate, &v};
	if (find_program(f, &v, s, &thread))
		return -ENOMEM;
	key.time = wall_time(f, s->time);
	/* Their final numbers are known only after the last file: number_thread(). */
	key.pid = v.program;
	key.tid = thread;
	key.r11 = decode_needs_r11(v.as, s->ip) ? relocate(&v, s->r11) : 0;
	key.ip = relocate(&v, s->ip);
	key.ext = move_ext(&v.by, s->ext);
	key.flags = s->flags & MERGED_SAMPLE_FLAGS;
	key.n_stack = s->flags & PCCE_SAMPLE_FRAMES ? s->n_stack : 0;
	if (key.n_stack && relocate_frames(&v, s))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_entries; i++)
		entries[i] = move_entry(&v.by, pcce_sample_entries(s)[i]);
	below = relocate_stack(&v, of->below);
	if (v.error || add_sum(f, of, &key, entries, below))
		return -ENOMEM;
	if (key.time > f->m->last)
		f->m->last = key.time;
	return 0;
}

/* ---- a file ---------------------------------------------------------------------- */

int merge_add(struct merge *m, const char *path, void (*note)(const char *text), struct error *why)
{
	struct file f = {.stream.ops = &first_pass, .m = m, .name = path, .why = why, .note = note};
	int r;

	*why = (struct error){0};
	f.segments = stack_store_new();
	f.threads = threads_new(m->names);
	r = f.segments && f.threads ? read_file(&f) : -ENOMEM;
	r = r ? r : recording_samples(f.recording, path, f.segments, merge_sample, &f, why);
	r = r ? r : end_summary(&f);
	if (r == -ENOMEM && !*why->text)
		error_set(why, r, "cannot merge %s: out of memory", path);
	recording_close(f.recording);
	stack_store_free(f.segments);
	threads_free(f.threads);
	id_map_free(&f.moved);
	free(f.moved_to);
	free(f.frames);
	m->files += !r;
	return r;
}

/* ---- writing --------------------------------------------------------------------- */

static int write_merged_info(const struct merge *m, struct datafile_writer *w)
{
	struct pcce_rec_info rec = {
		.start_time = m->start,
		.wall_time = m->start,
		.frequency = m->frequency,
		.period = m->period,
		.flags = (m->with_frames ? PCCE_INFO_FRAMES : 0) |
			 (m->with_calls ? PCCE_INFO_CALLS : 0),
	};
	const char *strings[] = {m->sampler, m->event, m->command, m->host, m->kernel};

	uint32_t n = datafile_events(m->event);
	int r = datafile_put_strings(w, PCCE_REC_INFO, &rec, sizeof(rec), strings, 5);

	for (uint32_t i = 0; i < n && n > 1 && !r; i++) {
		const struct pcce_rec_event event = {.frequency = m->rates[i].frequency,
						     .period = m->rates[i].period,
						     .event = i};

		if (event.frequency || event.period)
			r = datafile_put(w, PCCE_REC_EVENT, &event, sizeof(event), NULL, 0);
	}
	return r;
}

static int write_programs(const struct merge *m, struct datafile_writer *w)
{
	int r = 0;

	for (size_t i = 0; i < m->n_programs && !r; i++) {
		struct pcce_rec_process rec = {.pid = merged_pid(i)};
		const char *name = symbol_table_string(m->names, m->programs[i].name);

		r = datafile_put_strings(w, PCCE_REC_PROCESS, &rec, sizeof(rec), &name, 1);
		for (size_t j = 0; j < m->programs[i].n_modules && !r; j++)
			r = relocator_write_map(m->space, w, rec.pid, m->programs[i].modules[j]);
	}
	for (size_t i = 0; i < m->n_threads && !r; i++) {
		struct pcce_rec_thread rec = {.pid = merged_pid(m->threads[i].program),
					      .tid = merged_tid(m, i)};
		const char *name = symbol_table_string(m->names, m->threads[i].name);

		if (rec.tid != rec.pid)
			r = datafile_put_strings(w, PCCE_REC_THREAD, &rec, sizeof(rec), &name, 1);
	}
	return r;
}

/* Adds to *all_lost. */
static int write_merged_losses(const struct merge *m, uint32_t event, struct datafile_writer *w,
			       __u64 *all_lost)
{
	int r = 0;

	for (uint32_t i = 0; i <= PCCE_LOSS_MAX && !r; i++) {
		struct pcce_rec_lost lost = {.time = m->last,
					     .count = m->accounts[event].lost[i],
					     .reason = i,
					     .event = event};

		*all_lost += lost.count;
		if (lost.count)
			r = datafile_put(w, PCCE_REC_LOST, &lost, sizeof(lost), NULL, 0);
	}
	return r;
}

static int write_merged_due(const struct merge *m, uint32_t event, struct datafile_writer *w)
{
	const struct recording_due *due = &m->accounts[event].due;
	struct pcce_rec_due rec = {
		.time = m->last,
		.due = due->known ? due->due : 0,
		.merged = due->merged,
		.kernel = due->kernel,
		.flags = due->known ? 0 : PCCE_DUE_UNKNOWN,
		.event = event,
	};

	return datafile_put(w, PCCE_REC_DUE, &rec, sizeof(rec), NULL, 0);
}

static int write_merged_only(const struct merge *m, struct datafile_writer *w)
{
	const char *text = m->only.expression;
	struct pcce_rec_only rec = {
		.time = m->last,
		.unknown = m->only.unknown,
		.left_out = m->only.left_out,
		.left_out_weight = m->only.left_out_weight,
	};

	return text ? datafile_put_strings(w, PCCE_REC_ONLY, &rec, sizeof(rec), &text, 1) : 0;
}

static int write_merged_frames(const struct merge *m, struct datafile_writer *w)
{
	struct pcce_rec_frames rec = {
		.time = m->last,
		.unwound = m->frames_unwound,
		.reused = m->frames_reused,
		.copied = m->stack_bytes,
	};

	return m->with_frames ? datafile_put(w, PCCE_REC_FRAMES, &rec, sizeof(rec), NULL, 0) : 0;
}

static void number_thread(const void *ctx, struct pcce_sample *s)
{
	const struct merge *m = ctx;

	s->pid = merged_pid(s->pid);
	s->tid = merged_tid(m, s->tid);
}

int merge_write(const struct merge *m, struct datafile_writer *w)
{
	struct pcce_rec_end end = {.time = m->last, .samples = m->samples, .exit_status = -1};
	int r = write_merged_info(m, w);
	struct summary_totals totals;

	r = r ? r : write_merged_only(m, w);
	r = r ? r : relocator_write_modules(m->space, w);
	r = r ? r : write_programs(m, w);
	if (m->summary)
		merge_sums_set_judge(m->sums, summary_judge, m->summary);
	r = r ? r : merge_sums_write(m->sums, w, number_thread, m);
	if (m->summary) {
		summary_finish(m->summary, &totals);
		totals.time = m->last;
		r = r ? r : summary_write(&totals, w);
	}
	for (uint32_t i = 0; i < datafile_events(m->event) && !r; i++) {
		r = write_merged_losses(m, i, w, &end.lost);
		r = r ? r : write_merged_due(m, i, w);
	}
	r = r ? r : write_merged_frames(m, w);
	r = r ? r : relocator_write_symbols(m->space, w);
	return r ? r : datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0);
}
