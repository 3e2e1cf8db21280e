/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See live_symbols.h. A file that cannot be read leaves its addresses without names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "profile/live_symbols.h"
#include "profile/sample_points.h"
#include "symbols/address_list.h"
#include "symbols/kallsyms.h"
#include "symbols/symbolize.h"

struct live_module {
	struct symbolizer *symbols; /* NULL: not opened yet, or it cannot be */
	bool tried;
	struct address_list due;
};

struct live_symbols {
	const struct record_modules *from;
	struct symbol_table *names;
	struct live_module **modules;
	size_t n;
	struct sample_points *known; /* addresses, as places */
	size_t n_known;
	uint32_t kernel;
	struct kernel_symbols *kernel_symbols; /* NULL: not read yet, or hidden */
	bool kernel_tried;
	uint32_t current; /* the module whose names are being added */
	bool added;	  /* since the names were sorted */
};

struct live_symbols *live_symbols_new(const struct record_modules *m, uint32_t kernel,
				      struct symbol_table *names)
{
	struct live_symbols *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->from = m;
	l->names = names;
	l->kernel = kernel;
	l->known = sample_points_new(NULL);
	if (l->known)
		return l;
	live_symbols_free(l);
	return NULL;
}

void live_symbols_free(struct live_symbols *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		symbolizer_close(l->modules[i]->symbols);
		address_list_free(&l->modules[i]->due);
		free(l->modules[i]);
	}
	free(l->modules);
	sample_points_free(l->known);
	kernel_symbols_free(l->kernel_symbols);
	free(l);
}

/* Adds the modules that are new. */
static int learn_modules(struct live_symbols *l)
{
	for (; l->n < record_modules_count(l->from); l->n++) {
		const struct record_module *m = record_modules_get(l->from, (uint32_t)l->n);
		struct pcce_rec_module rec = {.module = m->index,
					      .build_id_size = m->build_id_size};

		memcpy(rec.build_id, m->build_id, sizeof(rec.build_id));
		if (array_grow(&l->modules, l->n, sizeof(*l->modules)))
			return -ENOMEM;
		l->modules[l->n] = calloc(1, sizeof(**l->modules));
		if (!l->modules[l->n])
			return -ENOMEM;
		if (symbol_table_add_module(l->names, &rec, m->path) ||
		    ((m->instrumented || m->missing) &&
		     symbol_table_set_table(l->names, m->index, &m->table))) {
			free(l->modules[l->n]);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Adds a place to those that are known. 1: it is new; 0: it is not; or -ENOMEM. */
static int learn_place(struct live_symbols *l, struct tree_place place)
{
	uint32_t number = sample_points_number(l->known, place);

	if (number == UINT32_MAX)
		return -ENOMEM;
	if (number < l->n_known)
		return 0;
	l->n_known = (size_t)number + 1;
	return 1;
}

int live_symbols_add(struct live_symbols *l, struct tree_place place)
{
	int r = learn_modules(l);

	if (!r && place.module < l->n)
		r = learn_place(l, place);
	return r <= 0 ? r : address_list_add(&l->modules[place.module]->due, place.vaddr);
}

static int add_live_symbol(void *ctx, const struct symbolize_frame *f)
{
	struct live_symbols *l = ctx;
	struct pcce_rec_symbol rec = symbolize_record(f, l->current);

	l->added = true;
	return symbol_table_add_symbol(l->names, &rec, f->function, f->file);
}

int live_symbols_add_kernel(struct live_symbols *l, uint64_t address)
{
	struct symbolize_frame f = {.vaddr = address, .file = ""};
	int r = learn_modules(l);

	if (!r)
		r = learn_place(l, (struct tree_place){address, l->kernel});
	if (r <= 0)
		return r;
	if (!l->kernel_tried && kernel_symbols_read(&l->kernel_symbols, NULL) == -ENOMEM)
		return -ENOMEM;
	l->kernel_tried = true;
	if (!l->kernel_symbols)
		return 0;
	f.function = kernel_symbols_at(l->kernel_symbols, address, &f.symbol);
	l->current = l->kernel;
	return f.function ? add_live_symbol(l, &f) : 0;
}

static int name_addresses(struct live_symbols *l, struct live_module *to)
{
	const struct record_module *m = record_modules_get(l->from, l->current);
	struct error why;
	int r = 0;

	if (!to->tried && m->vdso)
		symbolizer_open_vdso(&to->symbols, &why);
	else if (!to->tried && m->fd >= 0 && m->elf)
		symbolizer_open(m->fd, m->build_id, m->build_id_size, &to->symbols, &why);
	to->tried = true;
	address_list_sort(&to->due);
	if (to->symbols)
		r = symbolizer_look(to->symbols, to->due.all, to->due.n, add_live_symbol, l);
	address_list_free(&to->due);
	to->due = (struct address_list){0};
	return r;
}

int live_symbols_read(struct live_symbols *l)
{
	int r = learn_modules(l);

	for (l->current = 0; l->current < l->n && !r; l->current++)
		if (l->modules[l->current]->due.n)
			r = name_addresses(l, l->modules[l->current]);
	if (r || !l->added)
		return r;
	l->added = false;
	return symbol_table_finish(l->names);
}
