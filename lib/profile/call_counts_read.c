/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The recording is read twice: what was mapped where, and the tables; then the samples.  Of each
 * sample only the innermost calls matter, so what lies below its own entries is not put together.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "recording/address_space.h"
#include "profile/call_counts_read.h"
#include "recording/reader.h"
#include "elf/module.h"
#include <pcce/sample.h>
#include "elf/encoding_table.h"

/* An instrumented module of the recording. */
struct counted {
	uint32_t module;
	bool ours;
	void *data;
	struct encoding_table table;
	uint64_t *samples; /* if ours: for each site of the table */
};

struct job {
	struct elf_module program;
	struct address_spaces *spaces;
	struct counted *modules;
	uint32_t *ours; /* numbers of the modules that are the program */
	size_t n_modules, n_ours;
	struct decode_context context;
	const char *path;
	struct error *why;
};

static struct counted *find_module(const struct job *j, uint32_t module)
{
	for (size_t i = 0; i < j->n_modules; i++)
		if (j->modules[i].module == module)
			return &j->modules[i];
	return NULL;
}

static const struct encoding_table *table_of(void *ctx, uint32_t module)
{
	const struct counted *m = find_module(ctx, module);

	return m ? &m->table : NULL;
}

/* ---- what was mapped ------------------------------------------------------------- */

static int add_module(struct job *j, const struct pcce_rec_module *rec)
{
	uint32_t *more;

	if (rec->build_id_size != j->program.build_id_size ||
	    memcmp(rec->build_id, j->program.build_id, rec->build_id_size))
		return 0;
	more = reallocarray(j->ours, j->n_ours + 1, sizeof(*more));
	if (!more)
		return error_memory(j->why);
	j->ours = more;
	j->ours[j->n_ours++] = rec->module;
	return 0;
}

static int add_table(struct job *j, const struct pcce_rec_table *rec)
{
	struct counted *more = reallocarray(j->modules, j->n_modules + 1, sizeof(*more)), *m;
	struct error reason = {0};
	const void *data;
	size_t size;
	int err;

	if (!more)
		return error_memory(j->why);
	j->modules = more;
	m = &more[j->n_modules];
	memset(m, 0, sizeof(*m));
	m->module = rec->module;
	for (size_t i = 0; i < j->n_ours; i++)
		m->ours |= j->ours[i] == rec->module;
	data = datafile_table(rec, &size);
	m->data = malloc(size + 1);
	if (!m->data)
		return error_memory(j->why);
	memcpy(m->data, data, size);
	err = encoding_table_open(m->data, size, &m->table, &reason);
	if (!err && m->ours) {
		m->samples = calloc(m->table.head->sites.count + 1, sizeof(*m->samples));
		if (!m->samples) {
			encoding_table_close(&m->table);
			err = -ENOMEM;
		}
	}
	if (err) {
		free(m->data);
		return err == -ENOMEM ? error_memory(j->why)
				      : error_set(j->why, err,
						  "an encoding table in '%s' %s; record again with "
						  "a pcce of one version",
						  j->path, reason.text);
	}
	j->n_modules++;
	return 0;
}

static int take_layout(struct job *j, const struct pcce_record *rec)
{
	int err = 0;

	switch (rec->type) {
	case PCCE_REC_PROCESS:
		err = address_spaces_add_process(j->spaces, (const void *)rec);
		break;
	case PCCE_REC_MAP:
		err = address_spaces_add_map(j->spaces, (const void *)rec);
		break;
	case PCCE_REC_MODULE:
		return add_module(j, (const void *)rec);
	case PCCE_REC_TABLE:
		return add_table(j, (const void *)rec);
	default:
		break;
	}
	return err ? error_memory(j->why) : 0;
}

/* ---- samples --------------------------------------------------------------------- */

/* The call that led to the innermost instrumented function; tail calls have gone on from there. */
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

static int take_sample(struct job *j, const struct pcce_record *rec)
{
	const struct decode_frame *call;
	struct datafile_sample s;
	struct counted *m;
	uint32_t space;

	if (!datafile_sample(rec, &s))
		return 0;
	space = address_spaces_at(j->spaces, s.sample->pid, s.sample->time);
	if (space == UINT32_MAX || decode_sample(address_spaces_get(j->spaces, space), s.sample,
						 pcce_sample_entries(s.sample), s.sample->n_entries,
						 false, false, &j->context))
		return error_memory(j->why);
	call = last_call(&j->context);
	m = call ? find_module(j, call->module) : NULL;
	if (m && m->ours)
		m->samples[call->site] += s.samples;
	return 0;
}

static int read_all(struct job *j, int (*take)(struct job *j, const struct pcce_record *rec))
{
	const struct pcce_record *rec;
	struct datafile_reader *reader;
	int r = datafile_open(j->path, &reader, j->why);

	if (r)
		return r;
	while ((r = datafile_next(reader, &rec)) > 0) {
		r = take(j, rec);
		if (r)
			break;
	}
	if (r < 0 && !*j->why->text)
		error_set(j->why, r, "%s", datafile_error(reader));
	datafile_close(reader);
	return r;
}

/* ---- the sums -------------------------------------------------------------------- */

static int compare_keys(const void *pa, const void *pb)
{
	const struct call_count *a = pa, *b = pb;

	return a->key < b->key ? -1 : a->key > b->key;
}

static int sum_up(const struct job *j, struct call_counts *out)
{
	size_t n = 0;

	for (size_t k = 0; k < j->n_modules; k++)
		n += j->modules[k].ours ? j->modules[k].table.head->sites.count : 0;
	out->all = malloc((n + 1) * sizeof(*out->all));
	if (!out->all)
		return error_memory(j->why);
	n = 0;
	for (size_t k = 0; k < j->n_modules; k++) {
		const struct counted *m = &j->modules[k];

		for (uint64_t i = 0; m->ours && i < m->table.head->sites.count; i++)
			if (m->samples[i])
				out->all[n++] =
					(struct call_count){m->table.sites[i].key, m->samples[i]};
	}
	qsort(out->all, n, sizeof(*out->all), compare_keys);
	for (size_t i = 0; i < n; i++) {
		out->samples += out->all[i].samples;
		if (out->n && out->all[out->n - 1].key == out->all[i].key)
			out->all[out->n - 1].samples += out->all[i].samples;
		else
			out->all[out->n++] = out->all[i];
	}
	return 0;
}

static int read_program(struct job *j, const char *program)
{
	struct error reason = {0};
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err;

	if (fd < 0)
		return error_set(j->why, -errno, "'%s' cannot be opened: %s", program,
				 strerror(errno));
	err = elf_module_open_fd(fd, &j->program, &reason);
	close(fd);
	if (err)
		return error_set(j->why, err, "'%s' %s", program, reason.text);
	if (!j->program.build_id_size)
		return error_set(j->why, -EINVAL,
				 "'%s' has no build id, by which its samples could be known; link "
				 "it with -Wl,--build-id",
				 program);
	return 0;
}

int call_counts_read(const char *path, const char *program, struct call_counts *out,
		     struct error *why)
{
	struct job j = {.path = path, .why = why};
	int err;

	memset(out, 0, sizeof(*out));
	why->text[0] = 0;
	err = read_program(&j, program);
	if (!err) {
		j.spaces = address_spaces_new(table_of, &j);
		err = j.spaces ? read_all(&j, take_layout) : error_memory(why);
	}
	if (!err && !j.n_ours)
		err = error_set(why, -EINVAL,
				"'%s' is not in '%s': no module there has its build id; record "
				"this very build of it",
				program, path);
	if (!err && address_spaces_finish(j.spaces))
		err = error_memory(why);
	if (!err)
		err = read_all(&j, take_sample);
	if (!err)
		err = sum_up(&j, out);
	if (!err && !out->samples)
		err = error_set(
			why, -EINVAL,
			"'%s' has no sample in functions of '%s' that others of it call; record "
			"more of it",
			path, program);
	if (err)
		call_counts_free(out);
	for (size_t i = 0; i < j.n_modules; i++) {
		encoding_table_close(&j.modules[i].table);
		free(j.modules[i].data);
		free(j.modules[i].samples);
	}
	free(j.modules);
	free(j.ours);
	decode_context_free(&j.context);
	address_spaces_free(j.spaces);
	elf_module_close(&j.program);
	return err;
}
