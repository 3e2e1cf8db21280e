/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds symbols that a recording lacks and this machine has: from debug information that was
 * installed or fetched after recording, and from the modules' own files if the recorder could write
 * no symbols at all. A file counts only if it has the recorded module's build id.
 *
 * Only decoded samples tell which addresses need names. So if this machine has such a file, the
 * caller decodes all samples once more, before it builds the tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "symbols/address_list.h"
#include "symbols/debuginfo.h"
#include "profile/profile_internal.h"
#include "symbols/symbolize.h"

struct candidate {
	int fd;	     /* a file with its symbols; -1: none */
	bool always; /* else: symbolized only if samples were taken in the module */
	struct address_list addresses;
};

struct late_symbols {
	struct profile *p;
	struct candidate *modules;
	uint32_t n;
	uint32_t current; /* the module whose symbols are being added */
};

static bool has_linked_file(int fd, Elf *elf)
{
	Elf *debug;
	int debug_fd = debuginfo_open_link(fd, elf, &debug);

	if (debug_fd < 0)
		return false;
	elf_end(debug);
	close(debug_fd);
	return true;
}

/* linked: only if the file leads to debug information. */
static int open_module(const char *path, const uint8_t *id, size_t size, bool linked)
{
	int fd = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	bool same = false;
	Elf *elf;

	if (fd < 0)
		return -1;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf) {
		same = debuginfo_same_build_id(elf, id, size) &&
		       (!linked || has_linked_file(fd, elf));
		elf_end(elf);
	}
	if (same)
		return fd;
	close(fd);
	return -1;
}

/* A library without any symbol may have no samples: add_places() finds that out. */
static size_t find_candidates(struct late_symbols *l)
{
	const struct symbol_table *names = l->p->names;
	bool none = !symbol_table_symbols(names);
	size_t found = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		const uint8_t *id;
		size_t size = symbol_table_build_id(names, i, &id), lines,
		       known = symbol_table_known(names, i, &lines);
		Elf *elf;

		l->modules[i].fd = -1;
		l->modules[i].always = known || none || symbol_table_table(names, i);
		if (!size || lines)
			continue;
		l->modules[i].fd = debuginfo_open(id, size, &elf);
		if (l->modules[i].fd >= 0)
			elf_end(elf);
		else
			l->modules[i].fd =
				open_module(symbol_table_path(names, i), id, size, !none);
		found += l->modules[i].fd >= 0;
	}
	return found;
}

static int add_frame(struct late_symbols *l, const struct decode_space *as, uint64_t address)
{
	const struct decode_module *m = address ? as->find(as, address) : NULL;

	if (!m || m->module >= l->n || l->modules[m->module].fd < 0)
		return 0;
	return address_list_add(&l->modules[m->module].addresses, decode_link_time(m, address));
}

/* Adds the frames around the innermost one. add_places() adds the innermost ones, because one state
 * can have several instructions. */
static int meet_part(void *ctx, uint32_t space, const struct decode_context *part)
{
	struct late_symbols *l = ctx;
	const struct decode_space *as = address_spaces_get(l->p->in->recording->spaces, space);
	int r = 0;

	for (size_t i = 0; i < part->n && !r; i++)
		r = add_frame(l, as, part->frames[i].address);
	return r;
}

static int meet_state(void *ctx, const struct decode_cache_sample *s, uint32_t space,
		      const struct decode_cache_meaning *m, const struct decode_context *context)
{
	(void)s;
	(void)m;
	return meet_part(ctx, space, context);
}

static int skip_sample(void *ctx, const struct stream_event *s, uint32_t meaning)
{
	(void)ctx;
	(void)s;
	(void)meaning;
	return 0;
}

const struct decode_cache_sink late_sink = {
	.met = meet_state, .part = meet_part, .sample = skip_sample};

/* Adds the instructions at which samples were taken. */
static int add_places(struct late_symbols *l, const struct tree_place *places, size_t n)
{
	bool *seen = calloc(l->n + 1, sizeof(*seen));
	int r = seen ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		if (places[i].module >= l->n || l->modules[places[i].module].fd < 0)
			continue;
		seen[places[i].module] = true;
		r = address_list_add(&l->modules[places[i].module].addresses, places[i].vaddr);
	}
	for (uint32_t i = 0; i < l->n && !r; i++)
		if (!seen[i] && !l->modules[i].always)
			l->modules[i].addresses.n = 0;
	free(seen);
	return r;
}

static int add_late_symbol(void *ctx, const struct symbolize_frame *f)
{
	const struct late_symbols *l = ctx;
	struct pcce_rec_symbol rec = symbolize_record(f, l->current);

	return symbol_table_add_symbol(l->p->names, &rec, f->function, f->file);
}

/* A file that cannot be used adds nothing. */
static int symbolize(struct late_symbols *l)
{
	int r = 0;

	for (l->current = 0; l->current < l->n && !r; l->current++) {
		struct candidate *c = &l->modules[l->current];
		const uint8_t *id;
		size_t size = symbol_table_build_id(l->p->names, l->current, &id);
		struct error why;

		if (c->fd < 0)
			continue;
		address_list_sort(&c->addresses);
		if (!c->addresses.n)
			continue;
		symbol_table_drop_symbols(l->p->names, l->current);
		r = symbolize_file(c->fd, id, size, c->addresses.all, c->addresses.n,
				   add_late_symbol, l, &why);
		if (r != -ENOMEM)
			r = 0;
	}
	return r ? r : symbol_table_finish(l->p->names);
}

static void free_late_symbols(struct late_symbols *l)
{
	for (uint32_t i = 0; l->modules && i < l->n; i++) {
		if (l->modules[i].fd >= 0)
			close(l->modules[i].fd);
		address_list_free(&l->modules[i].addresses);
	}
	free(l->modules);
	free(l);
}

int late_symbols_begin(struct profile *p, struct late_symbols **late)
{
	struct late_symbols *l = calloc(1, sizeof(*l));

	*late = NULL;
	if (!l)
		return -ENOMEM;
	l->p = p;
	l->n = symbol_table_modules(p->names);
	l->modules = calloc(l->n + 1, sizeof(*l->modules));
	if (!l->modules) {
		free(l);
		return -ENOMEM;
	}
	if (find_candidates(l))
		*late = l;
	else
		free_late_symbols(l);
	return 0;
}

int late_symbols_end(struct late_symbols *l, const struct tree_place *places, size_t n_places)
{
	int r = add_places(l, places, n_places);

	if (!r)
		r = symbolize(l);
	free_late_symbols(l);
	return r;
}
