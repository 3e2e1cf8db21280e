/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See place.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libiberty/demangle.h>
#include <pcce/sites.h>

#include "probe/place.h"
#include "base/array.h"
#include "base/similar.h"
#include "elf/encoding_table.h"
#include "elf/module.h"
#include "elf/x86.h"
#include "symbols/elf_symbols.h"
#include "symbols/table_file.h"

#define ENDBR_BYTES 4

static bool equals(char *text, const char *name)
{
	bool equal = text && !strcmp(text, name);

	free(text);
	return equal;
}

/* Parts of a function that the compiler has split: who enters them has called it already. */
static bool is_part(const char *suffix)
{
	return strstr(suffix, ".cold") || strstr(suffix, ".part");
}

bool probe_is_named(const char *symbol, const char *name)
{
	size_t length = strcspn(symbol, ".");
	char *base;
	bool is;

	if (!strcmp(symbol, name))
		return true;
	if (is_part(symbol + length))
		return false;
	base = strndup(symbol, length);
	is = base && *base &&
	     (!strcmp(base, name) ||
	      equals(cplus_demangle_v3(base, DMGL_PARAMS | DMGL_ANSI), name) ||
	      equals(cplus_demangle_v3(base, DMGL_ANSI), name));
	free(base);
	return is;
}

static size_t read_code(int fd, const struct elf_module *m, uint64_t address, uint8_t *to,
			size_t size)
{
	const struct elf_segment *s = elf_module_segment(m, address);
	ssize_t n;

	if (!s || address - s->vaddr >= s->file_size)
		return 0;
	n = pread(fd, to, size, (off_t)(s->offset + (address - s->vaddr)));
	return n > 0 ? (size_t)n : 0;
}

/* The table does not say how long the slot of a function is that sets no id. It has only nops. */
static uint32_t length_of_empty_slot(int fd, const struct elf_module *m, uint64_t address)
{
	uint8_t code[ENDBR_BYTES + PCCE_SLOT_ENTRY_LEAF];
	size_t n = read_code(fd, m, address, code, sizeof(code)), at, first = 0, length;

	if (n >= ENDBR_BYTES && !x86_nop_length(code, n) && x86_endbr_or_nop_length(code, n))
		first = ENDBR_BYTES;
	for (at = first; at < n && (length = x86_nop_length(code + at, n - at)); at += length)
		;
	if (at - first >= PCCE_SLOT_ENTRY_LEAF)
		return (uint32_t)(first + PCCE_SLOT_ENTRY_LEAF);
	return at - first >= PCCE_SLOT_ENTRY ? (uint32_t)(first + PCCE_SLOT_ENTRY) : 0;
}

/* ---- files with and without a table ------------------------------------------------- */

struct search {
	const char *function;
	struct probe_place place;
	probe_found *found;
	void *ctx;
	uint64_t *seen; /* addresses of symbols: n */
	size_t n;
};

static int search_table(int fd, const struct elf_module *m, const struct encoding_table *t,
			struct search *s)
{
	struct probe_place *place = &s->place;
	int n = 0;

	for (uint64_t i = 0; i < t->head->funcs.count; i++) {
		const struct pcce_table_func *f = &t->funcs[i];

		place->symbol = encoding_table_string(t, f->name);
		if (f->flags & (PCCE_FUNC_GATE | PCCE_FUNC_TYPE) ||
		    !probe_is_named(place->symbol, s->function))
			continue;
		place->offset = f->entry ? f->entry : length_of_empty_slot(fd, m, f->addr);
		place->address = f->addr + place->offset;
		s->found(s->ctx, place);
		n++;
	}
	return n;
}

static int find_encoded(int fd, const struct elf_module *m, const struct table_file *file,
			struct search *s, struct error *why)
{
	void *data = elf_section_read(file->fd, &file->section, why);
	struct encoding_table t;
	int r;

	if (!data)
		return -EINVAL;
	r = encoding_table_open(data, file->section.size, &t, why);
	if (!r) {
		r = search_table(fd, m, &t, s);
		encoding_table_close(&t);
	}
	free(data);
	return r;
}

static bool was_seen(const struct search *s, uint64_t address)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->seen[i] == address)
			return true;
	return false;
}

static bool add_symbol(void *ctx, const char *name, const GElf_Sym *symbol)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	struct search *s = ctx;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !probe_is_named(name, s->function) ||
	    was_seen(s, symbol->st_value) || array_grow(&s->seen, s->n, sizeof(*s->seen)))
		return false;
	s->seen[s->n++] = symbol->st_value;
	s->place.symbol = name;
	s->place.offset = 0;
	s->place.address = symbol->st_value;
	s->place.indirect = type == STT_GNU_IFUNC;
	s->found(s->ctx, &s->place);
	return false;
}

static int find_plain(int fd, struct search *s)
{
	elf_symbols_search_all(fd, add_symbol, s);
	free(s->seen);
	return (int)s->n;
}

int probe_find(const char *path, const char *function, probe_found *found, void *ctx,
	       struct error *why)
{
	struct search search = {function, {.path = path}, found, ctx, NULL, 0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
	struct table_file file;
	struct elf_module m;

	if (fd < 0)
		return error_set(why, -errno, "cannot be opened: %s", strerror(errno));
	r = elf_module_open_fd(fd, &m, why);
	if (r) {
		close(fd);
		return r;
	}
	table_file_find(fd, &m, &file);
	if (file.state == TABLE_FOUND) {
		r = find_encoded(fd, &m, &file, &search, why);
		if (r < 0)
			error_set(why, r, "has no encoding table that can be read");
	} else if (file.state == TABLE_STRIPPED) {
		r = error_set(why, -ENOENT, "%s", table_state_text(file.state));
	}
	if (!r) /* it is not encoded, or a part of it is not instrumented */
		r = find_plain(fd, &search);
	table_file_close(&file);
	elf_module_close(&m);
	close(fd);
	return r;
}

/* ---- similar names ------------------------------------------------------------------- */

struct similar_search {
	const char *function;
	char *list;
	size_t size;
};

static bool add_similar_function(void *ctx, const char *name, const GElf_Sym *symbol)
{
	const struct similar_search *s = ctx;
	char *demangled;

	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || !strncmp(name, "__pcce", 6) ||
	    strchr(name, '.'))
		return false;
	demangled = cplus_demangle_v3(name, DMGL_ANSI);
	if (!demangled || !strstr(s->list, demangled))
		if (demangled || !strstr(s->list, name))
			similar_add(s->list, s->size, s->function, demangled ? demangled : name);
	free(demangled);
	return false;
}

void probe_find_similar(const char *path, const char *function, char *list, size_t size)
{
	struct similar_search s = {function, list, size};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*list = 0;
	if (fd < 0)
		return;
	elf_symbols_search_all(fd, add_similar_function, &s);
	close(fd);
}
