/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the samples of one program from a recording, decodes the innermost calls of each, and
 * counts the samples of each call site. Only those calls matter, so the decoder gets each sample's
 * own entries and not the stack below them. All calls through pointers in them are counted, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/id_map.h"
#include "elf/module.h"
#include "profile/call_counts_read.h"
#include "stream/recording.h"
#include <pcce/sample.h>
#include <pcce/sites.h>

struct target_list {
	struct id_map numbers; /* of key and callee */
	struct call_target *all;
	size_t n;
};

struct counting {
	struct stream stream;
	struct elf_module program;
	struct recording *recording;
	bool *ours;	    /* by module: it is the program, of which there may be several tables */
	uint64_t **samples; /* by module: NULL, or the samples of each site of the table */
	size_t n_modules, n_ours;
	struct target_list targets, tails;
	struct decode_context context;
	struct error *why;
};

/* ---- modules --------------------------------------------------------------------- */

static int see_module(struct stream *s, const struct pcce_rec_module *m, const char *path)
{
	struct counting *c = (struct counting *)s;

	(void)path;
	if (array_grow(&c->ours, c->n_modules, sizeof(*c->ours)))
		return -ENOMEM;
	c->ours[c->n_modules] = m->build_id_size == c->program.build_id_size &&
				!memcmp(m->build_id, c->program.build_id, m->build_id_size);
	c->n_ours += c->ours[c->n_modules++];
	return 0;
}

static int prepare_counters(struct counting *c)
{
	c->samples = calloc(c->n_modules + 1, sizeof(*c->samples));
	if (!c->samples)
		return error_memory(c->why);
	for (size_t i = 0; i < c->n_modules; i++) {
		const struct encoding_table *t = recording_table(c->recording, i);

		if (!c->ours[i] || !t)
			continue;
		c->samples[i] = calloc(t->head->sites.count + 1, sizeof(**c->samples));
		if (!c->samples[i])
			return error_memory(c->why);
	}
	return 0;
}

/* ---- samples --------------------------------------------------------------------- */

/* The call that led to the innermost instrumented function, maybe through tail calls; NULL: none is
 * known. */
static const struct decode_frame *last_call(const struct decode_context *c)
{
	size_t i = 0;

	while (i < c->n && c->frames[i].kind == DECODE_FRAME_FOREIGN)
		i++;
	if (i == c->n ||
	    (c->frames[i].kind != DECODE_FRAME_CALL && c->frames[i].kind != DECODE_FRAME_TAIL))
		return NULL;
	for (i++; i < c->n && c->frames[i].kind == DECODE_FRAME_TAIL; i++)
		;
	return i < c->n && c->frames[i].kind == DECODE_FRAME_CALL && c->frames[i].site != PCCE_NONE
		       ? &c->frames[i]
		       : NULL;
}

/* The site calls through a pointer, or is its guard for one function. */
static bool is_through_pointer(const struct pcce_table_site *s)
{
	return s->flags & (PCCE_SITE_INDIRECT | PCCE_SITE_GUARD);
}

static int count_target(struct target_list *l, uint64_t key, uint64_t callee, uint64_t samples,
			bool on_top)
{
	const uint64_t words[ID_MAP_WORDS] = {key, callee};
	struct id_map_entry *e = id_map_find(&l->numbers, words);

	if (!e)
		return -ENOMEM;
	if (!e->number) {
		if (array_grow(&l->all, l->n, sizeof(*l->all)))
			return -ENOMEM;
		l->all[l->n] = (struct call_target){key, callee, 0, 0};
		id_map_fill(&l->numbers, e, words, l->n++);
		e = id_map_find(&l->numbers, words);
	}
	l->all[e->number - 1].samples += samples;
	l->all[e->number - 1].on_top += on_top ? samples : 0;
	return 0;
}

/* Counts the functions that calls through pointers have called, and that tail calls have led to.
 * top: as from last_call(). */
static int count_targets(struct counting *c, const struct decode_frame *top, uint64_t samples)
{
	for (size_t i = 1; i < c->context.n; i++) {
		const struct decode_frame *f = &c->context.frames[i], *callee = f - 1;
		const struct encoding_table *t;
		int err = 0;

		if (f->module >= c->n_modules || !c->samples[f->module] ||
		    (callee->kind != DECODE_FRAME_CALL && callee->kind != DECODE_FRAME_TAIL) ||
		    callee->module != f->module || callee->func == PCCE_NONE)
			continue;
		t = recording_table(c->recording, f->module);
		if (f->kind == DECODE_FRAME_TAIL && f->func != PCCE_NONE)
			err = count_target(&c->tails, t->funcs[f->func].addr,
					   t->funcs[callee->func].addr, samples, false);
		else if (f->kind == DECODE_FRAME_CALL && f->site != PCCE_NONE &&
			 is_through_pointer(&t->sites[f->site]))
			err = count_target(&c->targets, t->sites[f->site].key,
					   t->funcs[callee->func].addr, samples, f == top);
		if (err)
			return err;
	}
	return 0;
}

static int count_sample(void *ctx, const struct stream_event *s)
{
	struct counting *c = ctx;
	struct address_spaces *spaces = c->recording->spaces;
	uint32_t space = address_spaces_at(spaces, s->sample->pid, s->sample->time);
	const struct decode_frame *call;

	/* Calls and samples do not add up. */
	if (c->recording->info.flags & PCCE_INFO_CALLS && s->sample->event)
		return 0;
	if (space == UINT32_MAX || decode_sample(address_spaces_get(spaces, space), s->sample,
						 pcce_sample_entries(s->sample),
						 s->sample->n_entries, false, false, &c->context))
		return -ENOMEM;
	call = last_call(&c->context);
	if (call && call->module < c->n_modules && c->samples[call->module])
		c->samples[call->module][call->site] += s->samples;
	return count_targets(c, call, s->samples);
}

/* ---- the sums -------------------------------------------------------------------- */

COMPARE_BY1(compare_call_counts, struct call_count, key);

static int sum_call_counts(const struct counting *c, struct call_counts *out)
{
	size_t n = 0;

	for (size_t k = 0; k < c->n_modules; k++)
		if (c->samples[k])
			n += recording_table(c->recording, k)->head->sites.count;
	out->all = malloc((n + 1) * sizeof(*out->all));
	if (!out->all)
		return error_memory(c->why);
	n = 0;
	for (size_t k = 0; k < c->n_modules; k++) {
		const struct encoding_table *t = recording_table(c->recording, k);

		for (uint64_t i = 0; c->samples[k] && i < t->head->sites.count; i++)
			if (c->samples[k][i])
				out->all[n++] =
					(struct call_count){t->sites[i].key, c->samples[k][i]};
	}
	qsort(out->all, n, sizeof(*out->all), compare_call_counts);
	for (size_t i = 0; i < n; i++) {
		out->samples += out->all[i].samples;
		if (out->n && out->all[out->n - 1].key == out->all[i].key)
			out->all[out->n - 1].samples += out->all[i].samples;
		else
			out->all[out->n++] = out->all[i];
	}
	return 0;
}

static int read_program(struct counting *c, const char *program)
{
	struct error reason = {0};
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err;

	if (fd < 0)
		return error_set(c->why, -errno, "cannot open %s: %s", program, strerror(errno));
	err = elf_module_open_fd(fd, &c->program, &reason);
	close(fd);
	if (err)
		return error_set(c->why, err, "cannot read %s: it %s", program, reason.text);
	if (!c->program.build_id_size)
		return error_set(c->why, -EINVAL,
				 "cannot find the samples of %s: it has no build id; link it with "
				 "-Wl,--build-id",
				 program);
	return 0;
}

/* Hands the list over. */
static struct call_target *sort_targets(struct target_list *l, size_t *n)
{
	struct call_target *all = l->all;

	if (l->n)
		qsort(all, l->n, sizeof(*all), call_target_compare);
	id_map_free(&l->numbers);
	*n = l->n;
	*l = (struct target_list){.all = NULL};
	return all;
}

int call_counts_read(const char *path, const char *program, struct call_counts *out,
		     struct error *why)
{
	static const struct stream_ops ops = {.module = see_module};
	struct counting c = {.stream.ops = &ops, .why = why};
	int err;

	memset(out, 0, sizeof(*out));
	why->text[0] = 0;
	err = read_program(&c, program);
	err = err ? err : recording_open(path, NULL, &c.stream, &c.recording, why);
	if (!err && !c.n_ours)
		err = error_set(why, -EINVAL,
				"cannot find %s in %s: no recorded module has its build id; "
				"record this very build",
				program, path);
	err = err ? err : prepare_counters(&c);
	err = err ? err : recording_samples(c.recording, NULL, NULL, count_sample, &c, why);
	err = err ? err : sum_call_counts(&c, out);
	out->targets = sort_targets(&c.targets, &out->n_targets);
	out->tails = sort_targets(&c.tails, &out->n_tails);
	if (!err && !out->samples)
		err = error_set(why, -EINVAL,
				"%s contains no samples of calls within %s; record a longer run, "
				"or use a higher -F",
				path, program);
	if (err)
		call_counts_free(out);
	for (size_t i = 0; c.samples && i < c.n_modules; i++)
		free(c.samples[i]);
	free(c.samples);
	free(c.ours);
	decode_context_free(&c.context);
	recording_close(c.recording);
	elf_module_close(&c.program);
	return err;
}
