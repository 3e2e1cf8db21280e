/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See relocator.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "merge/relocator.h"
#include "base/array.h"
#include "base/id_map.h"

/* Address ranges ("places") begin at FIRST, DISTANCE apart. Offsets in them count from a multiple
 * of ORIGIN in the link-time addresses. */
#define FIRST (1ULL << 40)
#define DISTANCE (1ULL << 33)
#define ORIGIN (1ULL << 32)
#define LAST ((1ULL << 47) - DISTANCE)

/* A module of the merged recording. */
struct merged_module {
	struct pcce_rec_module rec;
	char *path;
	void *data; /* the encoding table; NULL: none */
	size_t data_size;
	uint64_t low, high; /* mapped link-time addresses; high 0: none */
	uint64_t place;	    /* where `origin` is; 0: none yet */
	uint64_t origin;
	bool fixed;
};

/* A module of the file that is being read. */
struct local {
	struct pcce_rec_module rec;
	char *path;
	uint64_t low, high;
	bool fixed;
	uint32_t number; /* among all */
};

struct symbol_record {
	uint32_t size;
	_Alignas(struct pcce_rec_symbol) char bytes[]; /* the record and its strings */
};

struct relocator {
	struct merged_module *modules;
	size_t n;
	struct id_map by_identity;
	uint64_t next; /* place */
	struct local *locals;
	size_t n_locals;
	uint64_t machine; /* hash of host and kernel of this file */
	struct symbol_record **symbols;
	size_t n_symbols, n_old; /* n_old: of earlier files */
	struct id_map
		by_address; /* the file, counted from 1, that gave the symbols of an address */
	uint32_t file;
};

struct relocator *relocator_new(void)
{
	struct relocator *s = calloc(1, sizeof(*s));

	if (s)
		s->next = FIRST;
	return s;
}

static void forget_locals(struct relocator *s)
{
	for (size_t i = 0; i < s->n_locals; i++)
		free(s->locals[i].path);
	free(s->locals);
	s->locals = NULL;
	s->n_locals = 0;
}

void relocator_free(struct relocator *s)
{
	if (!s)
		return;
	forget_locals(s);
	for (size_t i = 0; i < s->n; i++) {
		free(s->modules[i].path);
		free(s->modules[i].data);
	}
	for (size_t i = 0; i < s->n_symbols; i++)
		free(s->symbols[i]);
	free(s->modules);
	free(s->symbols);
	id_map_free(&s->by_identity);
	id_map_free(&s->by_address);
	free(s);
}

/* ---- reading a file -------------------------------------------------------------- */

void relocator_begin(struct relocator *s, const char *host, const char *kernel)
{
	forget_locals(s);
	s->machine = XXH3_64bits_withSeed(kernel, strlen(kernel), XXH3_64bits(host, strlen(host)));
	s->file++;
}

int relocator_module(struct relocator *s, const struct pcce_rec_module *rec, const char *path)
{
	struct local *l;

	if (array_grow(&s->locals, s->n_locals, sizeof(*s->locals)))
		return -ENOMEM;
	l = &s->locals[s->n_locals];
	*l = (struct local){.rec = *rec, .path = strdup(path)};
	if (!l->path)
		return -ENOMEM;
	s->n_locals++;
	return 0;
}

int relocator_map(struct relocator *s, const struct pcce_rec_map *rec)
{
	uint64_t end = rec->vaddr + rec->length;
	struct local *l;

	if (rec->module == PCCE_MODULE_NONE || end <= rec->vaddr)
		return 0;
	l = &s->locals[rec->module];
	if (!l->high || rec->vaddr < l->low)
		l->low = rec->vaddr;
	if (end > l->high)
		l->high = end;
	if (rec->start == rec->vaddr)
		l->fixed = true;
	return 0;
}

/* Keeps the record until the end of the file, when the numbers of modules are known. */
int relocator_symbol(struct relocator *s, const struct pcce_rec_symbol *rec)
{
	struct symbol_record *copy = malloc(sizeof(*copy) + rec->rec.size);

	if (!copy || array_grow(&s->symbols, s->n_symbols, sizeof(struct symbol_record *))) {
		free(copy);
		return -ENOMEM;
	}
	copy->size = rec->rec.size;
	memcpy(copy->bytes, rec, rec->rec.size);
	s->symbols[s->n_symbols++] = copy;
	return 0;
}

static void identify(const struct relocator *s, const struct local *l,
		     const struct recording_module *m, uint64_t words[ID_MAP_WORDS])
{
	XXH128_hash_t h;

	memset(words, 0, ID_MAP_WORDS * sizeof(*words));
	if (l->rec.build_id_size) {
		/* One build can be encoded several times, with different tables. */
		h = XXH3_128bits(l->rec.build_id, l->rec.build_id_size);
		words[0] = 1;
		words[1] = m->data ? XXH3_64bits(m->data, m->size) : 0;
	} else {
		h = XXH3_128bits(l->path, strlen(l->path));
		words[0] = 2;
		words[1] = m->data ? XXH3_64bits(m->data, m->size) : s->machine;
	}
	words[2] = h.low64;
	words[3] = h.high64;
}

static int copy_table(struct merged_module *m, const struct recording_module *from)
{
	if (m->data || !from->data)
		return 0;
	m->data = malloc(from->size);
	if (!m->data)
		return -ENOMEM;
	memcpy(m->data, from->data, from->size);
	m->data_size = from->size;
	return 0;
}

static int number_local(struct relocator *s, struct local *l, const struct recording *of,
			const struct recording_module *from, struct error *why)
{
	uint64_t words[ID_MAP_WORDS];
	struct id_map_entry *e;
	struct merged_module *m;
	int r;

	identify(s, l, from, words);
	e = id_map_find(&s->by_identity, words);
	if (!e)
		return -ENOMEM;
	if (!e->number) {
		if (array_grow(&s->modules, s->n, sizeof(*s->modules)))
			return -ENOMEM;
		m = &s->modules[s->n];
		*m = (struct merged_module){.rec = l->rec, .path = l->path};
		m->rec.module = s->n;
		l->path = NULL;
		id_map_fill(&s->by_identity, e, words, s->n);
		l->number = s->n++;
	} else {
		l->number = e->number - 1;
	}
	m = &s->modules[l->number];
	r = copy_table(m, from);
	if (r)
		return r;
	if (l->high && (!m->high || l->low < m->low))
		m->low = l->low;
	if (l->high > m->high)
		m->high = l->high;
	if (l->fixed && !m->place)
		m->fixed = true;
	if (m->place || !m->high)
		return 0;
	if (s->next > LAST)
		return error_set(why, -EINVAL,
				 "cannot merge %s: it and the recordings before it have too many "
				 "modules; merge fewer recordings",
				 of->name);
	m->origin = m->low & ~(ORIGIN - 1);
	m->place = s->next;
	s->next += DISTANCE;
	return 0;
}

/* Keeps the symbols of an address from the first file that has any. */
static int number_symbols(struct relocator *s)
{
	size_t n = s->n_old;

	for (size_t i = s->n_old; i < s->n_symbols; i++) {
		struct pcce_rec_symbol *rec = (void *)s->symbols[i]->bytes;
		uint64_t words[ID_MAP_WORDS] = {rec->vaddr};
		struct id_map_entry *e;

		rec->module = s->locals[rec->module].number;
		words[1] = rec->module;
		e = id_map_find(&s->by_address, words);
		if (!e)
			return -ENOMEM;
		if (e->number && e->number - 1 != s->file) {
			free(s->symbols[i]);
			s->symbols[i] = NULL;
			continue;
		}
		if (!e->number)
			id_map_fill(&s->by_address, e, words, s->file);
		s->symbols[n] = s->symbols[i];
		if (n != i)
			s->symbols[i] = NULL;
		n++;
	}
	s->n_symbols = s->n_old = n;
	return 0;
}

int relocator_finish(struct relocator *s, const struct recording *of, struct error *why)
{
	for (size_t i = 0; i < s->n_locals; i++) {
		int r = number_local(s, &s->locals[i], of, &of->modules[i], why);

		if (r)
			return r;
	}
	return number_symbols(s);
}

/* ---- looking --------------------------------------------------------------------- */

uint32_t relocator_number(const struct relocator *s, uint32_t module)
{
	return s->locals[module].number;
}

static uint64_t merged_address(const struct merged_module *m, uint64_t vaddr)
{
	return m->fixed ? vaddr : m->place + (vaddr - m->origin);
}

uint64_t relocator_relocate(const struct relocator *s, const struct decode_space *as,
			    uint64_t address)
{
	const struct decode_module *m = as->find(as, address);

	/* The end of a slot can be the end of the module. */
	if (!m)
		m = as->find(as, address - 1);
	return m ? merged_address(&s->modules[s->locals[m->module].number],
				  decode_link_time(m, address))
		 : 0;
}

uint32_t relocator_count(const struct relocator *s)
{
	return s->n;
}

/* ---- writing --------------------------------------------------------------------- */

int relocator_write_modules(const struct relocator *s, struct datafile_writer *w)
{
	int r = 0;

	for (size_t i = 0; i < s->n && !r; i++) {
		const struct merged_module *m = &s->modules[i];

		r = datafile_put_strings(w, PCCE_REC_MODULE, &m->rec, sizeof(m->rec),
					 (const char *const[]){m->path}, 1);
	}
	for (size_t i = 0; i < s->n && !r; i++) {
		const struct merged_module *m = &s->modules[i];
		struct pcce_rec_table rec = {.module = i};
		struct iovec part = {m->data, m->data_size};

		if (m->data)
			r = datafile_put(w, PCCE_REC_TABLE, &rec, sizeof(rec), &part, 1);
	}
	return r;
}

int relocator_write_map(const struct relocator *s, struct datafile_writer *w, uint32_t pid,
			uint32_t module)
{
	const struct merged_module *m = &s->modules[module];
	struct pcce_rec_map rec = {
		.start = merged_address(m, m->low),
		.length = m->high - m->low,
		.vaddr = m->low,
		.pid = pid,
		.module = module,
	};

	return m->high ? datafile_put(w, PCCE_REC_MAP, &rec, sizeof(rec), NULL, 0) : 0;
}

int relocator_write_symbols(const struct relocator *s, struct datafile_writer *w)
{
	int r = 0;

	for (size_t i = 0; i < s->n_symbols && !r; i++)
		r = datafile_put(w, PCCE_REC_SYMBOL, s->symbols[i]->bytes, s->symbols[i]->size,
				 NULL, 0);
	return r;
}
