/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads a recording back, decodes its samples, and appends SYMBOL records for all addresses in
 * their contexts: only decoded contexts tell which addresses need names.
 *
 * A hash set of samples (ip, id, ext, entries and stack, in one address space) makes sure that each
 * distinct sample is decoded once. Of deep contexts, so is each distinct part. If two different
 * samples had the same 64-bit hash, some address would lack its name; no address would get a wrong
 * one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "decode/decode.h"
#include "decode/restored.h"
#include "stream/deep_decoder.h"
#include "stream/kernel_stacks.h"
#include "stream/recording.h"
#include "symbols/address_list.h"
#include "symbols/kallsyms.h"
#include <pcce/sample.h>
#include "symbols/symbolize.h"
#include "record/write_symbols.h"

HASH_TABLE_TYPE(seen_table, uint64_t); /* hashes of samples */

struct job {
	struct datafile_writer *w;
	const struct recorded_modules *modules;
	struct address_list *addresses, kernel; /* addresses: by module */
	struct seen_table seen;
	struct recording *recording;
	struct stack_store *stacks;
	struct deep_decoder decoder; /* of the sample that is being decoded */
	uint32_t module;	     /* whose symbols are being written */
};

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
		/* The repetition count does not change which functions there are. */
		h = mix(h, entries[i].site & PCCE_SITE_MASK);
	}
	for (i = 0; s->flags & PCCE_SAMPLE_FRAMES && i < s->n_stack; i++)
		h = mix(h, pcce_sample_stack(s)[i]);
	return h ? h : 1;
}

HASH_TABLE_FUNCTIONS(seen_table, uint64_t, uint64_t, void, *s, *s, *s == *key);

/* Adds a hash. 1: it is new; 0: it is not; or -ENOMEM. */
static int add_seen(struct seen_table *seen, uint64_t hash)
{
	uint64_t *slot = seen_table_slot(seen, NULL, hash, &hash);

	if (!slot)
		return -ENOMEM;
	if (*slot)
		return 0;
	seen_table_fill(seen, slot, hash);
	return 1;
}

static int add_frame_address(struct job *j, const struct decode_space *as, uint64_t address)
{
	const struct decode_module *m = as->find(as, address);

	if (!m || m->module >= j->modules->n)
		return 0;
	return address_list_add(&j->addresses[m->module], decode_link_time(m, address));
}

/* Adds the addresses of the frames that were decoded last. */
static int add_addresses(struct job *j, const struct decode_space *as)
{
	const struct decode_context *c = &j->decoder.context;
	int err = 0;

	for (size_t i = 0; i < c->n && !err; i++)
		if (c->frames[i].kind != DECODE_FRAME_GAP && c->frames[i].address)
			err = add_frame_address(j, as, c->frames[i].address);
	return err;
}

static uint64_t hash_rest(uint32_t space, const struct deep_rest *rest)
{
	uint64_t h = mix(space, (uintptr_t)rest->node);

	h = mix(h, rest->module->start);
	h = mix(h, (uint64_t)rest->func << 1 | (rest->unknown != 0));
	return h ? h : 1;
}

/* Decodes a sample in parts, without those that are known. */
static int add_deep_sample(struct job *j, const struct decode_space *as, uint32_t space,
			   const struct pcce_sample *s, const struct stack_node *below)
{
	struct deep_rest rest;
	int err = deep_decoder_first(&j->decoder, as, s, below, &rest);

	err = err ? err : add_addresses(j, as);
	while (!err && rest.node) {
		err = add_seen(&j->seen, hash_rest(space, &rest));
		if (err <= 0)
			return err;
		err = deep_decoder_next(&j->decoder, as, &rest);
		err = err ? err : add_addresses(j, as);
	}
	return err;
}

static int add_shallow_sample(struct job *j, const struct decode_space *as,
			      const struct pcce_sample *s, const struct stack_node *below)
{
	struct deep_decoder *d = &j->decoder;
	enum restored_result restored;
	int err = stack_store_flatten(below, s, &d->flat);

	if (!err)
		err = decode_sample(as, s, d->flat.entries, d->flat.n, false, true, &d->context);
	if (!err)
		err = restored_add(as, s, pcce_sample_stack(s), &d->context, &restored);
	return err ? err : add_addresses(j, as);
}

static int add_kernel_addresses(struct job *j, const struct stream_event *of)
{
	const uint64_t *frames;
	size_t n = kernel_stacks_of(of, &frames);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = frames[i] < PCCE_WAITS ? 0 : address_list_add(&j->kernel, frames[i]);
	return err;
}

static int add_sample_addresses(void *ctx, const struct stream_event *of)
{
	struct job *j = ctx;
	const struct pcce_sample *s = of->sample;
	const struct stack_node *below = of->below;
	uint32_t space = address_spaces_at(j->recording->spaces, s->pid, s->time);
	const struct decode_space *as;
	int err;

	if (space == UINT32_MAX)
		return -ENOMEM;
	err = add_seen(&j->seen, hash_sample(space, s, below));
	if (err <= 0)
		return err;
	as = address_spaces_get(j->recording->spaces, space);
	err = add_kernel_addresses(j, of);
	if (!err)
		err = add_frame_address(j, as, s->ip);
	if (err)
		return err;
	return deep_decoder_suits(s, below) ? add_deep_sample(j, as, space, s, below)
					    : add_shallow_sample(j, as, s, below);
}

static int put_symbol(void *ctx, const struct symbolize_frame *f)
{
	const struct job *j = ctx;
	struct pcce_rec_symbol rec = symbolize_record(f, j->module);

	return datafile_put_strings(j->w, PCCE_REC_SYMBOL, &rec, sizeof(rec),
				    (const char *const[]){f->function, f->file}, 2);
}

static int symbolize_module(struct job *j, uint32_t number, void (*warn)(const char *text))
{
	const struct recorded_modules *all = j->modules;
	const struct record_module *m =
		record_modules_get(all->of, all->numbers ? all->numbers[number] : number);
	struct address_list *a = &j->addresses[number];
	struct error why = {0};
	char text[4608];
	int err;

	address_list_sort(a);
	if (!a->n)
		return 0;
	j->module = number;
	if (m->vdso)
		err = symbolize_vdso(a->all, a->n, put_symbol, j, &why);
	else if (m->fd >= 0 && m->elf)
		err = symbolize_file(m->fd, m->build_id, m->build_id_size, a->all, a->n, put_symbol,
				     j, &why);
	else
		return 0;
	if (datafile_writer_error(j->w)[0] || !why.text[0])
		return err;
	snprintf(text, sizeof(text),
		 err ? "cannot read the symbols of %s: it %s; its functions have no names and lines"
		     : "cannot find the lines of %s: its debug information %s",
		 m->path, why.text);
	warn(text);
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
	struct pcce_rec_module rec = {.module = (uint32_t)j->modules->n};
	struct error why = {0};
	char text[sizeof(why.text) + 128];
	int err;

	address_list_sort(&j->kernel);
	if (!j->kernel.n)
		return 0;
	j->module = rec.module;
	err = datafile_put_strings(j->w, PCCE_REC_MODULE, &rec, sizeof(rec),
				   (const char *const[]){PCCE_MODULE_KERNEL}, 1);
	if (!err)
		err = kallsyms_lookup(j->kernel.all, j->kernel.n, put_kernel_symbol, j, &why);
	if (!err || datafile_writer_error(j->w)[0])
		return err;
	snprintf(text, sizeof(text),
		 "cannot read the kernel's symbols: they %s; its functions have no names",
		 why.text);
	note(text);
	return 0;
}

int write_symbols(const char *path, struct datafile_writer *w, const struct recorded_modules *m,
		  void (*warn)(const char *text), void (*note)(const char *text), struct error *why)
{
	struct job j = {.w = w, .modules = m, .decoder = {.origins = true}};
	uint32_t n = (uint32_t)m->n, i;
	int err;

	j.addresses = calloc((size_t)n + 1, sizeof(*j.addresses));
	j.stacks = stack_store_new();
	err = j.addresses && j.stacks ? recording_open(path, NULL, NULL, &j.recording, why)
				      : error_memory(why);
	if (!err)
		err = recording_samples(j.recording, NULL, j.stacks, add_sample_addresses, &j, why);
	for (i = 0; i < n && !err; i++)
		err = symbolize_module(&j, i, warn);
	if (!err)
		err = symbolize_kernel(&j, note);
	for (i = 0; j.addresses && i < n; i++)
		address_list_free(&j.addresses[i]);
	free(j.addresses);
	address_list_free(&j.kernel);
	seen_table_free(&j.seen);
	deep_decoder_free(&j.decoder);
	stack_store_free(j.stacks);
	recording_close(j.recording);
	return err;
}
