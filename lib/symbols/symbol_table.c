/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps each distinct string once, found by a hash table, since a recording holds the same few
 * names in a great many records. Symbols are a sorted array.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>
#include "base/array.h"
#include "base/sorted.h"
#include "base/hash_table.h"
#include "symbols/symbol_table.h"

struct string {
	char *text;
	char *shorter; /* for people; NULL: the text */
	uint32_t hash;
	uint32_t demangled; /* 0: not asked yet */
};

struct record_module {
	char *path;
	uint8_t build_id[32];
	uint32_t build_id_size;
	uint64_t low, high; /* of its mapped code */
	const struct encoding_table *table;
	uint32_t *functions; /* name of each, UINT32_MAX: not asked yet */
};

HASH_TABLE_TYPE(string_table, uint32_t);

struct symbol_table {
	enum symbol_table_style style;
	bool full; /* people see whole names */
	struct string *strings;
	size_t n_strings;
	struct string_table by_text; /* index of a string + 1 */
	struct symbol_table_entry *symbols;
	size_t n_symbols;
	struct record_module *modules;
	uint32_t n_modules;
};

static uint32_t hash_text(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

/* A text with its hash. */
struct text_key {
	const char *text;
	uint32_t hash;
};

HASH_TABLE_FUNCTIONS(string_table, uint32_t, struct text_key, struct symbol_table, *s,
		     o->strings[*s - 1].hash,
		     o->strings[*s - 1].hash == key->hash &&
			     !strcmp(o->strings[*s - 1].text, key->text));

struct symbol_table *symbol_table_new(enum symbol_table_style style)
{
	struct symbol_table *n = calloc(1, sizeof(*n));

	if (n)
		n->style = style;
	if (n && symbol_table_intern(n, "") != 0) {
		symbol_table_free(n);
		return NULL;
	}
	return n;
}

void symbol_table_free(struct symbol_table *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n_strings; i++) {
		free(n->strings[i].text);
		free(n->strings[i].shorter);
	}
	for (uint32_t i = 0; i < n->n_modules; i++) {
		free(n->modules[i].path);
		free(n->modules[i].functions);
	}
	free(n->strings);
	string_table_free(&n->by_text);
	free(n->symbols);
	free(n->modules);
	free(n);
}

/* ---- strings --------------------------------------------------------------------- */

uint32_t symbol_table_intern(struct symbol_table *n, const char *text)
{
	struct text_key key = {text, hash_text(text)};
	uint32_t *slot = string_table_slot(&n->by_text, n, key.hash, &key);

	if (!slot)
		return UINT32_MAX;
	if (*slot)
		return *slot - 1;
	if (array_grow(&n->strings, n->n_strings, sizeof(*n->strings)))
		return UINT32_MAX;
	n->strings[n->n_strings] = (struct string){.text = strdup(text), .hash = key.hash};
	if (!n->strings[n->n_strings].text)
		return UINT32_MAX;
	string_table_fill(&n->by_text, slot, ++n->n_strings);
	return n->n_strings - 1;
}

const char *symbol_table_string(const struct symbol_table *n, uint32_t string)
{
	return string < n->n_strings ? n->strings[string].text : "";
}

size_t symbol_table_count(const struct symbol_table *n)
{
	return n->n_strings;
}

int symbol_table_set_short(struct symbol_table *n, uint32_t string, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return -ENOMEM;
	free(n->strings[string].shorter);
	n->strings[string].shorter = copy;
	return 0;
}

const char *symbol_table_short(const struct symbol_table *n, uint32_t string)
{
	return string < n->n_strings && n->strings[string].shorter ? n->strings[string].shorter
								   : symbol_table_string(n, string);
}

const char *symbol_table_shown(const struct symbol_table *n, uint32_t string)
{
	return n->full ? symbol_table_string(n, string) : symbol_table_short(n, string);
}

void symbol_table_show_full(struct symbol_table *n, bool full)
{
	n->full = full;
}

bool symbol_table_shows_full(const struct symbol_table *n)
{
	return n->full;
}

/* A stub of the PLT keeps what tells so. */
static char *demangle(const char *mangled, int options)
{
	size_t length = strlen(mangled), stub = strlen("@plt");
	char *name, *text, *both = NULL;

	if (length < stub || strcmp(mangled + length - stub, "@plt"))
		return cplus_demangle_v3(mangled, options);
	name = strndup(mangled, length - stub);
	text = name ? cplus_demangle_v3(name, options) : NULL;
	if (text && asprintf(&both, "%s@plt", text) < 0)
		both = NULL;
	free(name);
	free(text);
	return both;
}

uint32_t symbol_table_demangled(struct symbol_table *n, const char *mangled)
{
	uint32_t raw = symbol_table_intern(n, mangled), plain;
	char *text;

	if (raw == UINT32_MAX || n->style == SYMBOL_NAMES_RAW || strncmp(mangled, "_Z", 2))
		return raw;
	if (n->strings[raw].demangled)
		return n->strings[raw].demangled;
	text = demangle(mangled,
			n->style == SYMBOL_NAMES_SIMPLE ? DMGL_ANSI : DMGL_PARAMS | DMGL_ANSI);
	plain = text ? symbol_table_intern(n, text) : raw;
	free(text);
	if (plain != UINT32_MAX)
		n->strings[raw].demangled = plain;
	return plain;
}

/* ---- modules --------------------------------------------------------------------- */

static int reserve_module(struct symbol_table *n, uint32_t module)
{
	struct record_module *more;

	if (module < n->n_modules)
		return 0;
	more = reallocarray(n->modules, (size_t)module + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + n->n_modules, 0, (module + 1 - n->n_modules) * sizeof(*more));
	n->modules = more;
	n->n_modules = module + 1;
	return 0;
}

int symbol_table_add_module(struct symbol_table *n, const struct pcce_rec_module *rec,
			    const char *path)
{
	if (reserve_module(n, rec->module))
		return -ENOMEM;
	free(n->modules[rec->module].path);
	n->modules[rec->module].path = strdup(path);
	memcpy(n->modules[rec->module].build_id, rec->build_id, sizeof(rec->build_id));
	n->modules[rec->module].build_id_size = rec->build_id_size;
	return n->modules[rec->module].path ? 0 : -ENOMEM;
}

int symbol_table_add_map(struct symbol_table *n, const struct pcce_rec_map *rec)
{
	uint64_t end = rec->vaddr + rec->length;
	struct record_module *m;

	if (rec->module == PCCE_MODULE_NONE || end <= rec->vaddr)
		return 0;
	if (reserve_module(n, rec->module))
		return -ENOMEM;
	m = &n->modules[rec->module];
	if (!m->high || rec->vaddr < m->low)
		m->low = rec->vaddr;
	if (end > m->high)
		m->high = end;
	return 0;
}

int symbol_table_set_table(struct symbol_table *n, uint32_t module, const struct encoding_table *t)
{
	size_t bytes = t->head->funcs.count * sizeof(uint32_t);
	uint32_t *functions = malloc(bytes + 1);

	if (!functions || reserve_module(n, module)) {
		free(functions);
		return -ENOMEM;
	}
	memset(functions, 0xff, bytes);
	free(n->modules[module].functions);
	n->modules[module].functions = functions;
	n->modules[module].table = t;
	return 0;
}

uint32_t symbol_table_modules(const struct symbol_table *n)
{
	return n->n_modules;
}

uint32_t symbol_table_module(const struct symbol_table *n, const char *path)
{
	for (uint32_t i = 0; i < n->n_modules; i++)
		if (n->modules[i].path && !strcmp(n->modules[i].path, path))
			return i;
	return UINT32_MAX;
}

const char *symbol_table_path(const struct symbol_table *n, uint32_t module)
{
	return module < n->n_modules && n->modules[module].path ? n->modules[module].path : "";
}

const char *symbol_table_base(const struct symbol_table *n, uint32_t module)
{
	const char *path = symbol_table_path(n, module), *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *symbol_table_build_id_text(const struct symbol_table *n, uint32_t module,
				       char text[SYMBOL_TABLE_BUILD_ID])
{
	const uint8_t *id;
	size_t size = symbol_table_build_id(n, module, &id);

	*text = 0;
	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return text;
}

bool symbol_table_code(const struct symbol_table *n, uint32_t module, uint64_t *low, uint64_t *high)
{
	if (module >= n->n_modules || !n->modules[module].high)
		return false;
	*low = n->modules[module].low;
	*high = n->modules[module].high;
	return true;
}

size_t symbol_table_build_id(const struct symbol_table *n, uint32_t module, const uint8_t **id)
{
	if (module >= n->n_modules)
		return 0;
	*id = n->modules[module].build_id;
	return n->modules[module].build_id_size;
}

const struct encoding_table *symbol_table_table(const struct symbol_table *n, uint32_t module)
{
	return module < n->n_modules ? n->modules[module].table : NULL;
}

uint32_t symbol_table_function(struct symbol_table *n, uint32_t module, uint32_t func)
{
	const struct encoding_table *t = symbol_table_table(n, module);
	uint32_t *name;

	if (!t || func >= t->head->funcs.count)
		return 0;
	name = &n->modules[module].functions[func];
	if (*name == UINT32_MAX)
		*name = symbol_table_demangled(n, encoding_table_string(t, t->funcs[func].name));
	return *name;
}

/* ---- symbols --------------------------------------------------------------------- */

int symbol_table_add_symbol(struct symbol_table *n, const struct pcce_rec_symbol *rec,
			    const char *function, const char *file)
{
	struct symbol_table_entry *s;

	if (array_grow(&n->symbols, n->n_symbols, sizeof(*s)))
		return -ENOMEM;
	s = &n->symbols[n->n_symbols];
	*s = (struct symbol_table_entry){
		.vaddr = rec->vaddr,
		.symbol = rec->symbol,
		.module = rec->module,
		.depth = rec->depth,
		.line = *file ? rec->line : 0, /* a line alone says nothing */
		.flags = rec->flags,
		.function = symbol_table_demangled(n, function),
		.file = symbol_table_intern(n, file),
	};
	if (s->function == UINT32_MAX || s->file == UINT32_MAX)
		return -ENOMEM;
	n->n_symbols++;
	return 0;
}

COMPARE_BY3(compare_chain_entries, struct symbol_table_entry, module, vaddr, depth);

/*
 * Gives an instrumented function the name of its encoding table. Its symbol may be another name of
 * it (an alias, or what objcopy made of the name), but tail calls and --only know this one alone.
 * The symbol of a part, such as f.cold, says more and stays.
 */
static int name_by_table(struct symbol_table *n, struct symbol_table_entry *s)
{
	const struct encoding_table *t = symbol_table_table(n, s->module);
	uint32_t func = t && s->symbol && !(s->flags & PCCE_SYMBOL_INLINED)
				? encoding_table_func_at(t, s->symbol)
				: PCCE_NONE;

	if (func != PCCE_NONE && t->funcs[func].addr == s->symbol)
		s->function = symbol_table_function(n, s->module, func);
	return s->function == UINT32_MAX ? -ENOMEM : 0;
}

int symbol_table_finish(struct symbol_table *n)
{
	size_t out = 0;

	if (n->n_symbols)
		qsort(n->symbols, n->n_symbols, sizeof(*n->symbols), compare_chain_entries);
	for (size_t i = 0; i < n->n_symbols; i++)
		if (!out || compare_chain_entries(&n->symbols[out - 1], &n->symbols[i]))
			n->symbols[out++] = n->symbols[i];
	n->n_symbols = out;
	for (size_t i = 0; i < out; i++)
		if (name_by_table(n, &n->symbols[i]))
			return -ENOMEM;
	return 0;
}

size_t symbol_table_symbols(const struct symbol_table *n)
{
	return n->n_symbols;
}

size_t symbol_table_known(const struct symbol_table *n, uint32_t module, size_t *with_line)
{
	size_t known = 0;

	*with_line = 0;
	for (size_t i = 0; i < n->n_symbols; i++) {
		if (n->symbols[i].module != module || n->symbols[i].depth)
			continue;
		known++;
		*with_line += n->symbols[i].line != 0;
	}
	return known;
}

void symbol_table_drop_symbols(struct symbol_table *n, uint32_t module)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->n_symbols; i++)
		if (n->symbols[i].module != module)
			n->symbols[kept++] = n->symbols[i];
	n->n_symbols = kept;
}

size_t symbol_table_at(const struct symbol_table *n, uint32_t module, uint64_t vaddr,
		       const struct symbol_table_entry **chain)
{
	struct symbol_table_entry key = {.vaddr = vaddr, .module = module};
	size_t lo = SORTED_COUNT(i, n->n_symbols, compare_chain_entries(&n->symbols[i], &key) < 0),
	       end;

	for (end = lo; end < n->n_symbols && n->symbols[end].module == module &&
		       n->symbols[end].vaddr == vaddr;
	     end++)
		;
	*chain = end > lo ? n->symbols + lo : NULL;
	return end - lo;
}
