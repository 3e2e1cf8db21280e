/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See probe.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libiberty/demangle.h>
#include <pcce/sites.h>

#include "check/probe.h"
#include "elf/encoding_table.h"
#include "elf/module.h"
#include "elf/x86.h"
#include "symbols/find_function.h"
#include "symbols/table_file.h"

#define ENDBR_BYTES 4

static bool equals(char *text, const char *name)
{
	bool equal = text && !strcmp(text, name);

	free(text);
	return equal;
}

static bool is_probed(const char *symbol, const char *name)
{
	char *base;
	bool is;

	if (!strcmp(symbol, name))
		return true;
	base = strndup(symbol, strcspn(symbol, "."));
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

static int probe_in_table(int fd, const struct elf_module *m, const struct encoding_table *t,
			  struct probe_place *place, const char *function,
			  void (*found)(const struct probe_place *place))
{
	int n = 0;

	for (uint64_t i = 0; i < t->head->funcs.count; i++) {
		const struct pcce_table_func *f = &t->funcs[i];

		place->symbol = encoding_table_string(t, f->name);
		if (f->flags & (PCCE_FUNC_GATE | PCCE_FUNC_TYPE) ||
		    !is_probed(place->symbol, function))
			continue;
		place->offset = f->entry ? f->entry : length_of_empty_slot(fd, m, f->addr);
		place->address = f->addr + place->offset;
		found(place);
		n++;
	}
	return n;
}

static int find_encoded(int fd, const struct elf_module *m, const struct table_file *file,
			struct probe_place *place, const char *function,
			void (*found)(const struct probe_place *place), struct error *why)
{
	void *data = elf_section_read(file->fd, &file->section, why);
	struct encoding_table t;
	int r;

	if (!data)
		return -EINVAL;
	r = encoding_table_open(data, file->section.size, &t, why);
	if (!r) {
		r = probe_in_table(fd, m, &t, place, function, found);
		encoding_table_close(&t);
	}
	free(data);
	return r;
}

static bool is_symbol(void *name, const char *symbol)
{
	return !strcmp(name, symbol);
}

static int find_plain(int fd, struct probe_place *place, const char *function,
		      void (*found)(const struct probe_place *place))
{
	if (!find_function_symbol(fd, is_symbol, (void *)function))
		return 0;
	place->symbol = function;
	found(place);
	return 1;
}

int probe_find(const char *path, const char *function,
	       void (*found)(const struct probe_place *place), struct error *why)
{
	struct probe_place place = {.path = path};
	struct table_file file;
	struct elf_module m;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return error_set(why, -errno, "cannot be opened: %s", strerror(errno));
	r = elf_module_open_fd(fd, &m, why);
	if (r) {
		close(fd);
		return r;
	}
	table_file_find(fd, &m, &file);
	if (file.state == TABLE_FOUND) {
		r = find_encoded(fd, &m, &file, &place, function, found, why);
		if (r < 0)
			error_set(why, r, "has no encoding table that can be read");
	} else if (file.state == TABLE_STRIPPED) {
		r = error_set(why, -ENOENT, "%s", table_state_text(file.state));
	} else {
		r = find_plain(fd, &place, function, found);
	}
	table_file_close(&file);
	elf_module_close(&m);
	close(fd);
	return r;
}
