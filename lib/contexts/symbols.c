/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decodes all contexts once, only to know which addresses need names. Then each file is read
 * once. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "contexts/symbols.h"
#include "symbols/address_list.h"
#include "symbols/symbolize.h"

/* The addresses of one module that need names. */
struct wanted {
	struct address_list addresses;
	uint32_t number; /* of the module, in the symbol table */
};

struct adding {
	struct symbol_table *names;
	uint32_t number;
};

static int add_context_symbol(void *ctx, const struct symbolize_frame *f)
{
	const struct adding *a = ctx;
	struct pcce_rec_symbol rec = symbolize_record(f, a->number);

	return symbol_table_add_symbol(a->names, &rec, f->function, f->file);
}

/* The frames of one context. */
static int want_frames(struct pcce_decode_dictionary *d, const struct pcce_decode_context *c,
		       struct wanted *wanted, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < c->decoded.n && !r; i++) {
		const struct decode_frame *f = &c->decoded.frames[i];
		size_t module = dictionary_module_of(d, f);
		uint64_t vaddr;

		if (module >= n || f->module == UINT32_MAX)
			continue;
		vaddr = f->address & ((UINT64_C(1) << DICTIONARY_RANGE_BITS) - 1);
		wanted[module].number = f->module;
		r = address_list_add(&wanted[module].addresses, vaddr);
	}
	return r;
}

static int read_symbols(struct symbol_table *names, const char *path, const uint8_t *build_id,
			size_t build_id_size, struct wanted *w)
{
	struct adding adding = {names, w->number};
	struct error why;
	int fd, r;

	address_list_sort(&w->addresses);
	fd = path && *path && w->addresses.n ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	r = symbolize_file(fd, build_id, build_id_size, w->addresses.all, w->addresses.n,
			   add_context_symbol, &adding, &why);
	close(fd);
	return r == -ENOMEM ? r : 0;
}

int context_add_symbols(struct pcce_decode_context *c)
{
	uint32_t n = symbol_table_modules(c->names);
	struct wanted *wanted = calloc((size_t)n + 1, sizeof(*wanted));
	int r = wanted ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->decoded.n && i < c->n && !r; i++) {
		uint32_t module = c->decoded.frames[i].module;

		if (module < n && c->frames[i].vaddr)
			r = address_list_add(&wanted[module].addresses, c->frames[i].vaddr);
	}
	for (uint32_t i = 0; i < n && !r; i++) {
		const uint8_t *id = NULL;
		size_t size = symbol_table_build_id(c->names, i, &id);

		wanted[i].number = i;
		r = read_symbols(c->names, symbol_table_path(c->names, i), id, size, &wanted[i]);
	}
	if (!r)
		r = symbol_table_finish(c->names);
	for (uint32_t i = 0; wanted && i < n; i++)
		address_list_free(&wanted[i].addresses);
	free(wanted);
	return r;
}

int contexts_add_symbols(struct pcce_decode_dictionary *d, size_t from)
{
	const struct dictionary_lines *lines = dictionary_content(d);
	size_t n = lines->n_modules;
	struct wanted *wanted = calloc(n + 1, sizeof(*wanted));
	int r = wanted ? 0 : -ENOMEM;

	for (size_t i = from; i < lines->n_lists && !r; i++) {
		const struct pcce_decode_context *c;
		uint8_t id[16];

		if (!lines->lists[i].context)
			continue;
		memcpy(id, &lines->lists[i].name, sizeof(id));
		r = pcce_decode_dictionary_context(d, id, &c, NULL);
		r = r == -ENOMEM ? r : r ? 0 : want_frames(d, c, wanted, n);
	}
	for (size_t i = 0; i < n && !r; i++)
		r = read_symbols(dictionary_names(d), dictionary_module_file(d, i),
				 lines->modules[i].build_id, lines->modules[i].build_id_size,
				 &wanted[i]);
	if (!r)
		r = symbol_table_finish(dictionary_names(d));
	for (size_t i = 0; wanted && i < n; i++)
		address_list_free(&wanted[i].addresses);
	free(wanted);
	return r;
}
