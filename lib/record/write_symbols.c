/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which addresses need names is known only when contexts are decoded.  So the file is
 * read back twice: for the address spaces, then for the samples.  Each distinct
 * sample (ip, id, ext, entries, in one address space) is decoded once; a sample that
 * was seen before costs a look into a hash set.  Two samples that differ and have
 * the same 64-bit hash would cost a name, not a wrong one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/address_space.h"
#include "recording/reader.h"
#include "decode/decode.h"
#include "symbols/kallsyms.h"
#include <pcce/sample.h>
#include "recording/stack_store.h"
#include "symbols/symbolize.h"
#include "record/write_symbols.h"

struct addresses { /* of one module */
	uint64_t *all;
	size_t n, capacity;
};

struct hash_set {
	uint64_t *slots; /* 0: empty */
	size_t n, capacity;
};

struct job {
	struct datafile_writer *w;
	const struct record_modules *modules;
	struct addresses *addresses, kernel;
	struct hash_set seen;
	struct address_spaces *spaces;
	struct stack_store *segments;
	struct stack_store_flat stack;
	struct decode_context context;
	uint32_t module; /* that is being symbolized */
};

static const struct encoding_table *table_of(void *ctx, uint32_t module)
{
	const struct record_modules *m = ctx;

	if (module >= record_modules_count(m) || !record_modules_get(m, module)->instrumented)
		return NULL;
	return &record_modules_get(m, module)->table;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static uint64_t hash_sample(uint32_t space, const struct pcce_sample *s,
			    const struct stack_node *below)
{
	const struct pcce_entry *entries = pcce_sample_entries(s);
	uint64_t h = mix(space, s->ip);
	uint32_t i;

	h = mix(h, s->r11);
	h = mix(h, s->id);
	h = mix(h, s->ext);
	h = mix(h, s->kip);
	h = mix(h, (uint64_t)s->flags << 32 | s->n_below);
	h = mix(h, stack_store_hash(below));
	for (i = 0; i < s->n_entries; i++) {
		h = mix(h, entries[i].id);
		/* Counts do not change which functions there are. */
		h = mix(h, entries[i].site & PCCE_SITE_MASK);
	}
	return h ? h : 1;
}

/* 1: it was not there; 0: it was; or -ENOMEM. */
static int set_add(struct hash_set *set, uint64_t h)
{
	size_t i;

	if (set->n * 2 >= set->capacity) {
		struct hash_set larger = {.capacity = set->capacity ? set->capacity * 2 : 4096};

		larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
		if (!larger.slots)
			return -ENOMEM;
		for (i = 0; i < set->capacity; i++)
			if (set->slots[i])
				set_add(&larger, set->slots[i]);
		free(set->slots);
		*set = larger;
	}
	for (i = h & (set->capacity - 1); set->slots[i]; i = (i + 1) & (set->capacity - 1))
		if (set->slots[i] == h)
			return 0;
	set->slots[i] = h;
	set->n++;
	return 1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_unique(struct addresses *a)
{
	size_t i, kept = 0;

	if (!a->n)
		return;
	qsort(a->all, a->n, sizeof(*a->all), by_value);
	for (i = 0; i < a->n; i++)
		if (!kept || a->all[kept - 1] != a->all[i])
			a->all[kept++] = a->all[i];
	a->n = kept;
}

static int add_address(struct addresses *a, uint64_t vaddr)
{
	if (a->n == a->capacity) {
		uint64_t *grown;
		size_t larger;

		/* Most are there already: throw them out before asking for more memory. */
		sort_unique(a);
		if (a->n * 2 >= a->capacity) {
			larger = a->capacity ? a->capacity * 4 : 1024;
			grown = realloc(a->all, larger * sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			a->all = grown;
			a->capacity = larger;
		}
	}
	a->all[a->n++] = vaddr;
	return 0;
}

static int add_run_time(struct job *j, const struct decode_space *as, uint64_t address)
{
	const struct decode_module *m = as->find(as, address);

	if (!m || m->module >= record_modules_count(j->modules))
		return 0;
	return add_address(&j->addresses[m->module], decode_link_time(m, address));
}

static int take_sample(struct job *j, const struct pcce_rec_sample *rec)
{
	uint32_t space = address_spaces_at(j->spaces, rec->sample.pid, rec->sample.time);
	const struct stack_node *below;
	const struct decode_space *as;
	size_t i;
	int err;

	err = stack_store_take(j->segments, &rec->sample, &below);
	if (err || space == UINT32_MAX)
		return err;
	err = set_add(&j->seen, hash_sample(space, &rec->sample, below));
	if (err <= 0)
		return err;
	as = address_spaces_get(j->spaces, space);
	err = rec->sample.kip ? add_address(&j->kernel, rec->sample.kip) : 0;
	if (!err)
		err = add_run_time(j, as, rec->sample.ip);
	if (!err)
		err = stack_store_flatten(below, &rec->sample, &j->stack);
	if (!err)
		err = decode_sample(as, &rec->sample, j->stack.entries, j->stack.n, false, true,
				    &j->context);
	for (i = 0; i < j->context.n && !err; i++)
		if (j->context.frames[i].kind != DECODE_FRAME_GAP && j->context.frames[i].address)
			err = add_run_time(j, as, j->context.frames[i].address);
	return err;
}

static int take_space(struct job *j, const struct pcce_record *rec)
{
	if (rec->type == PCCE_REC_PROCESS)
		return address_spaces_add_process(j->spaces, (const struct pcce_rec_process *)rec);
	if (rec->type == PCCE_REC_MAP)
		return address_spaces_add_map(j->spaces, (const struct pcce_rec_map *)rec);
	return 0;
}

static int read_back(struct job *j, const char *path, bool samples, struct error *why)
{
	const struct pcce_record *rec;
	struct datafile_reader *r;
	int err = datafile_open(path, &r, why);

	if (err)
		return err;
	while ((err = datafile_next(r, &rec)) > 0) {
		if (!samples)
			err = take_space(j, rec);
		else if (rec->type == PCCE_REC_SAMPLE)
			err = take_sample(j, (const struct pcce_rec_sample *)rec);
		else
			continue;
		if (err < 0)
			break;
	}
	if (err == -ENOMEM)
		error_set(why, 0, "out of memory");
	else if (err)
		error_set(why, 0, "%s", datafile_error(r));
	datafile_close(r);
	return err;
}

static int put_symbol(void *ctx, const struct symbolize_frame *f)
{
	const struct job *j = ctx;
	struct pcce_rec_symbol rec = {
		.vaddr = f->vaddr,
		.symbol = f->symbol,
		.module = j->module,
		.line = f->line,
		.depth = f->depth,
		.flags = f->inlined ? PCCE_SYMBOL_INLINED : 0,
	};

	return datafile_put_strings(j->w, PCCE_REC_SYMBOL, &rec, sizeof(rec),
				    (const char *const[]){f->function, f->file}, 2);
}

static int symbolize_module(struct job *j, const struct record_module *m,
			    void (*note)(const char *text))
{
	struct addresses *a = &j->addresses[m->index];
	struct error why = {0};
	char text[4608];
	int err;

	sort_unique(a);
	if (!a->n)
		return 0;
	j->module = m->index;
	if (m->vdso)
		err = symbolize_vdso(a->all, a->n, put_symbol, j, &why);
	else if (m->fd >= 0 && m->elf)
		err = symbolize_file(m->fd, m->build_id, m->build_id_size, a->all, a->n, put_symbol,
				     j, &why);
	else
		return 0;
	if (!err || datafile_writer_error(j->w)[0])
		return err;
	snprintf(text, sizeof(text), "%s %s: its functions have no names and lines", m->path,
		 why.text);
	note(text);
	return 0;
}

static int put_kernel_symbol(void *ctx, uint64_t address, uint64_t symbol, const char *function)
{
	const struct job *j = ctx;
	struct pcce_rec_symbol rec = {.vaddr = address, .symbol = symbol, .module = j->module};

	return datafile_put_strings(j->w, PCCE_REC_SYMBOL, &rec, sizeof(rec),
				    (const char *const[]){function, ""}, 2);
}

static int symbolize_kernel(struct job *j, void (*note)(const char *text))
{
	struct pcce_rec_module rec = {.module = (uint32_t)record_modules_count(j->modules)};
	struct error why = {0};
	char text[sizeof(why.text) + 128];
	int err;

	sort_unique(&j->kernel);
	if (!j->kernel.n)
		return 0;
	j->module = rec.module;
	err = datafile_put_strings(j->w, PCCE_REC_MODULE, &rec, sizeof(rec),
				   (const char *const[]){PCCE_MODULE_KERNEL}, 1);
	if (!err)
		err = kallsyms_lookup(j->kernel.all, j->kernel.n, put_kernel_symbol, j, &why);
	if (!err || datafile_writer_error(j->w)[0])
		return err;
	snprintf(text, sizeof(text), "the kernel's symbols %s: its functions have no names",
		 why.text);
	note(text);
	return 0;
}

int write_symbols(const char *path, struct datafile_writer *w, const struct record_modules *m,
		  void (*note)(const char *text), struct error *why)
{
	struct job j = {.w = w, .modules = m};
	size_t n = record_modules_count(m), i;
	int err = -ENOMEM;

	error_set(why, 0, "out of memory");
	j.addresses = calloc(n ? n : 1, sizeof(*j.addresses));
	j.spaces = address_spaces_new(table_of, (void *)(uintptr_t)m);
	j.segments = stack_store_new();
	if (j.addresses && j.spaces && j.segments)
		err = read_back(&j, path, false, why);
	if (!err)
		err = address_spaces_finish(j.spaces);
	if (!err)
		err = read_back(&j, path, true, why);
	for (i = 0; i < n && !err; i++)
		err = symbolize_module(&j, record_modules_get(m, (uint32_t)i), note);
	if (!err)
		err = symbolize_kernel(&j, note);
	for (i = 0; j.addresses && i < n; i++)
		free(j.addresses[i].all);
	free(j.addresses);
	free(j.kernel.all);
	free(j.seen.slots);
	decode_context_free(&j.context);
	free(j.stack.entries);
	stack_store_free(j.segments);
	if (j.spaces)
		address_spaces_free(j.spaces);
	return err;
}
