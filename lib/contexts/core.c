/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the thread pages in a core dump, and gives them to the decoder.
 *
 * The page is thread-local: at a fixed distance from the thread pointer, which the core has. The
 * encoding table of the executable says at which; in a program that is not instrumented, a slot of
 * the global offset table of an instrumented library does. So neither the stack nor a symbol table
 * matters.
 *
 * A file is used only if it is what the process had mapped: the memory of each ELF file begins with
 * its headers, which the kernel puts into the core, and with them the build id and the note that
 * names the encoding.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "api/process.h"
#include "base/message.h"
#include "base/text.h"
#include "contexts/core.h"
#include "contexts/symbols.h"
#include "elf/encoding_note.h"
#include "elf/encoding_table.h"
#include "elf/module.h"
#include "symbols/table_file.h"

struct core_contexts {
	const struct core_file *core;
	const char *program;
	char **folders;
	size_t n_folders;
	struct pcce_decode_process *process;
	bool has_offset; /* of the page from the thread pointer */
	int64_t offset;
	struct pcce_segment *area;
};

/* ---- files ----------------------------------------------------------------------- */

struct opened {
	struct elf_module elf;
	void *table; /* NULL: the file is not instrumented */
	size_t table_size;
	bool missing;  /* it is, and nobody has the table: this one says so */
	bool separate; /* the table is not in the file */
};

static void close_opened(struct opened *o)
{
	free(o->table);
	elf_module_close(&o->elf);
}

/* 0, or -ESTALE: it is another file, or -errno. */
static int open_same(const char *path, const struct core_identity *wanted, struct opened *o)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
	struct table_file file;
	uint8_t hash[16];
	struct error why;

	*o = (struct opened){.table = NULL};
	if (fd < 0)
		return -errno;
	r = elf_module_open_fd(fd, &o->elf, &why);
	if (r) {
		close(fd);
		return r;
	}
	table_file_find(fd, &o->elf, &file);
	if (file.state == TABLE_FOUND) {
		o->table = elf_section_read(file.fd, &file.section, &why);
		o->table_size = file.section.size;
	} else if (file.state != TABLE_NONE) {
		o->table = encoding_table_missing(&o->table_size);
		o->missing = true;
	}
	o->separate = o->missing || file.separate;
	table_file_close(&file);
	close(fd);
	if (o->table)
		encoding_note_hash(o->table, o->table_size, hash);
	if (!wanted->known)
		return 0;
	if (wanted->build_id_size != o->elf.build_id_size ||
	    memcmp(wanted->build_id, o->elf.build_id, wanted->build_id_size) != 0 ||
	    (o->table && !o->missing &&
	     (!wanted->has_encoding || memcmp(hash, wanted->encoding, 16) != 0))) {
		close_opened(o);
		return -ESTALE;
	}
	return 0;
}

/* Finds the file of a mapping. path has PATH_MAX bytes. */
static int find_file(struct core_contexts *c, const struct core_mapping *m, bool program,
		     const struct core_identity *wanted, char *path, struct opened *o)
{
	int r = -ENOENT, last;

	if (program && c->program) {
		snprintf(path, PATH_MAX, "%s", c->program);
		return open_same(path, wanted, o);
	}
	for (size_t i = 0; i < c->n_folders && r; i++)
		if (snprintf(path, PATH_MAX, "%s/%s", c->folders[i], text_base(m->path)) < PATH_MAX)
			r = open_same(path, wanted, o);
	if (!r)
		return 0;
	snprintf(path, PATH_MAX, "%s", m->path);
	last = open_same(path, wanted, o);
	return last == -ENOENT && r == -ESTALE ? r : last;
}

static void complain_of_file(const struct core_mapping *m, const char *path, bool needed, int r)
{
	if (r == -ESTALE)
		message(NULL,
			"cannot use %s: it has been built or encoded again since; name a folder "
			"that has the file that ran with --symbols",
			path);
	else if (needed)
		message(NULL, "cannot open %s: %s; name a folder that has it with --symbols",
			m->path, strerror(-r));
}

/* Where a page is, from a table; false: it does not say. */
static bool find_offset(struct core_contexts *c, const struct core_mapping *m,
			const struct opened *o)
{
	const struct pcce_table *head = o->table;
	uint64_t vaddr, value;

	if (o->table_size < sizeof(*head) || head->magic != PCCE_TABLE_MAGIC)
		return false;
	if (head->flags & PCCE_TABLE_EXEC) {
		c->offset = head->tpoff;
		return true;
	}
	if (!head->got || !elf_module_vaddr(&o->elf, m->offset, &vaddr) ||
	    !core_file_read(c->core, head->got + (m->start - vaddr), &value, sizeof(value)))
		return false;
	c->offset = (int64_t)value;
	return true;
}

static bool is_program(const struct core_contexts *c, const struct core_mapping *m)
{
	for (size_t i = 0; i < c->core->n_mappings; i++) {
		const struct core_mapping *at = &c->core->mappings[i];

		if (c->core->program >= at->start && c->core->program < at->end)
			return !strcmp(at->path, m->path);
	}
	return false;
}

static int add_file_mapping(struct core_contexts *c, const struct core_mapping *m)
{
	struct core_identity wanted = core_file_identity(c->core, m);
	bool program = is_program(c, m), executable;
	struct pcce_decode_error why;
	char path[PATH_MAX];
	struct opened o;
	int r = find_file(c, m, program, &wanted, path, &o);
	struct pcce_decode_module module = {
		.path = path, .start = m->start, .end = m->end, .offset = m->offset};

	if (r) {
		complain_of_file(m, path, program || wanted.has_encoding, r);
		return r == -ENOMEM ? r : 0;
	}
	if (!wanted.known && o.table && !o.missing)
		message(NULL,
			"cannot check that %s is what ran: the core does not have its headers",
			path);
	if (o.table && o.separate && elf_module_vaddr(&o.elf, m->offset, &module.vaddr)) {
		module.table = o.table;
		module.table_size = o.table_size;
	}
	r = pcce_decode_process_add(c->process, &module, sizeof(module), &why);
	if (r < 0 && r != -ENOMEM)
		message(NULL, "%s", why.text);
	executable = o.table && ((const struct pcce_table *)o.table)->flags & PCCE_TABLE_EXEC;
	if (r > 0 && (executable || !c->has_offset))
		c->has_offset |= find_offset(c, m, &o);
	close_opened(&o);
	return r == -ENOMEM ? r : 0;
}

struct core_contexts *core_contexts_new(const struct core_file *core, const char *program,
					char **folders, size_t n, uint64_t flags, struct error *why)
{
	struct core_contexts *c = calloc(1, sizeof(*c));
	struct pcce_decode_error text;
	int r = 0;

	if (!c) {
		error_memory(why);
		return NULL;
	}
	*c = (struct core_contexts){
		.core = core, .program = program, .folders = folders, .n_folders = n};
	if (pcce_decode_process_new(flags, &c->process, &text)) {
		error_set(why, -EINVAL, "%s", text.text);
		free(c);
		return NULL;
	}
	for (size_t i = 0; i < core->n_mappings && !r; i++)
		if (core->mappings[i].executable)
			r = add_file_mapping(c, &core->mappings[i]);
	if (r) {
		error_memory(why);
		core_contexts_free(c);
		return NULL;
	}
	return c;
}

void core_contexts_free(struct core_contexts *c)
{
	if (!c)
		return;
	pcce_decode_process_free(c->process);
	free(c->area);
	free(c);
}

/* ---- threads --------------------------------------------------------------------- */

/* Is there code at the address? */
static bool is_code(const struct core_contexts *c, uint64_t address)
{
	for (size_t i = 0; i < c->core->n_headers; i++) {
		const Elf64_Phdr *p = &c->core->headers[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

/*
 * A call through a bad pointer leads to no code, and so does a return to an address that was
 * overwritten. After the call its return address is on top of the stack, and the context is exact.
 * After the return inner frames are gone that the encoding stack does not have.
 */
static bool is_wild(const struct core_contexts *c, const struct core_thread *t,
		    const struct pcce_page *page)
{
	const struct pcce_entry *top =
		&page->base + ((page->off & PCCE_OFF_HALF) + (page->off & PCCE_OFF_USED)) / 16;
	uint64_t site = top->site & PCCE_SITE_MASK, back;

	if (is_code(c, t->ip))
		return false;
	return !core_file_read(c->core, t->sp, &back, sizeof(back)) || back - site - 1 >= 64 ||
	       page->ext;
}

static size_t read_area(struct core_contexts *c, const struct pcce_page *page)
{
	size_t n = page->place >> PCCE_PLACE_SHIFT, capacity = PCCE_AREA_CAPACITY(page->area), i;
	uint64_t address = PCCE_AREA_ADDRESS(page->area);

	if (n > capacity)
		n = capacity;
	if (n > PCCE_AREA_SEGMENTS)
		n = PCCE_AREA_SEGMENTS;
	free(c->area);
	c->area = calloc(n + 1, sizeof(*c->area));
	for (i = 0; c->area && i < n; i++)
		core_file_read(c->core, address + i * sizeof(*c->area), &c->area[i],
			       sizeof(*c->area));
	return c->area ? n : 0;
}

int core_contexts_thread(struct core_contexts *c, const struct core_thread *t,
			 const struct pcce_decode_context **context, bool *jumped,
			 struct error *why)
{
	const struct api_registers registers = {.ip = t->ip, .r11 = t->r11, .sp = t->sp};
	struct pcce_decode_error text;
	struct pcce_page page;
	size_t n;
	int r;

	*context = NULL;
	*jumped = false;
	if (!c->has_offset)
		return error_set(
			why, -ENODATA,
			"has no context: no file of the process is instrumented and encoded");
	if (!core_file_read(c->core, t->fs_base + (uint64_t)c->offset, &page, sizeof(page)))
		return error_set(why, -ENODATA, "has no context: its page is not in the core");
	n = read_area(c, &page);
	for (int pass = 0; pass < 2; pass++) {
		r = api_process_page(c->process, &page, c->area, n, &registers, context, &text);
		if (r)
			return error_set(why, r, "has no context: %s", text.text);
		if (!pass && context_add_symbols(process_context(c->process)))
			return error_set(why, -ENOMEM, "has no context: out of memory");
	}
	*jumped = page.magic == PCCE_PAGE_MAGIC && is_wild(c, t, &page);
	return 0;
}
