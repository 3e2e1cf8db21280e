/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Parses the notes of a core: NT_PRSTATUS has the registers of a thread, NT_FILE the mapped files,
 * NT_AUXV an address in the executable. Everything is checked against the size of the file, which
 * anybody may have written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>
#include <pcce/dictionary.h>
#include "base/array.h"
#include "elf/core_file.h"

#define MAPPINGS_MAX (1u << 20)

static uint64_t round_up(uint64_t n, uint64_t alignment)
{
	return (n + alignment - 1) & ~(alignment - 1);
}

/* ---- memory ---------------------------------------------------------------------- */

static const Elf64_Phdr *header_of(const struct core_file *c, uint64_t address)
{
	for (size_t i = 0; i < c->n_headers; i++) {
		const Elf64_Phdr *p = &c->headers[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_memsz)
			return p;
	}
	return NULL;
}

bool core_file_read(const struct core_file *c, uint64_t address, void *to, size_t size)
{
	uint8_t *at = to;

	while (size) {
		const Elf64_Phdr *p = header_of(c, address);
		uint64_t skip = p ? address - p->p_vaddr : 0, n;

		if (!p || skip >= p->p_filesz || p->p_offset > c->size ||
		    skip >= c->size - p->p_offset)
			return false;
		n = p->p_filesz - skip;
		if (n > c->size - p->p_offset - skip)
			n = c->size - p->p_offset - skip;
		if (n > size)
			n = size;
		memcpy(at, c->data + p->p_offset + skip, n);
		at += n;
		address += n;
		size -= n;
	}
	return true;
}

/* ---- notes ----------------------------------------------------------------------- */

static int take_status(struct core_file *c, const uint8_t *desc, uint64_t size)
{
	struct elf_prstatus s;
	struct user_regs_struct regs;

	if (size < sizeof(s))
		return 0;
	memcpy(&s, desc, sizeof(s));
	_Static_assert(sizeof(regs) == sizeof(s.pr_reg), "the registers of a note");
	memcpy(&regs, s.pr_reg, sizeof(regs));
	if (array_grow(&c->threads, c->n_threads, sizeof(*c->threads)))
		return -ENOMEM;
	c->threads[c->n_threads++] = (struct core_thread){
		.tid = (uint32_t)s.pr_pid,
		.signal = s.pr_cursig,
		.ip = regs.rip,
		.sp = regs.rsp,
		.r11 = regs.r11,
		.fs_base = regs.fs_base,
	};
	return 0;
}

/* count, page size, count times (start, end, offset in pages), and the names. */
static int take_files(struct core_file *c, const uint8_t *desc, uint64_t size)
{
	uint64_t head[2], entry[3];
	const char *name, *end = (const char *)desc + size;

	if (size < sizeof(head) || c->n_mappings)
		return 0;
	memcpy(head, desc, sizeof(head));
	if (head[0] > MAPPINGS_MAX || head[0] > (size - sizeof(head)) / sizeof(entry))
		return 0;
	name = (const char *)desc + sizeof(head) + head[0] * sizeof(entry);
	for (uint64_t i = 0; i < head[0]; i++) {
		const char *zero = name < end ? memchr(name, 0, (size_t)(end - name)) : NULL;
		const Elf64_Phdr *p;

		if (!zero)
			break;
		memcpy(entry, desc + sizeof(head) + i * sizeof(entry), sizeof(entry));
		p = header_of(c, entry[0]);
		if (array_grow(&c->mappings, c->n_mappings, sizeof(*c->mappings)))
			return -ENOMEM;
		c->mappings[c->n_mappings++] = (struct core_mapping){
			.start = entry[0],
			.end = entry[1],
			.offset = entry[2] * head[1],
			.path = name,
			.executable = p && p->p_flags & PF_X,
		};
		name = zero + 1;
	}
	return 0;
}

static void take_auxv(struct core_file *c, const uint8_t *desc, uint64_t size)
{
	Elf64_auxv_t a;

	for (uint64_t at = 0; size - at >= sizeof(a) && at < size; at += sizeof(a)) {
		memcpy(&a, desc + at, sizeof(a));
		if (a.a_type == AT_PHDR)
			c->program = a.a_un.a_val;
	}
}

/* Calls take for each note. */
static int each_note(const uint8_t *notes, uint64_t size, uint64_t alignment,
		     int (*take)(void *ctx, const Elf64_Nhdr *n, const uint8_t *name,
				 const uint8_t *desc),
		     void *ctx)
{
	int r = 0;

	while (!r && size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t desc, next;

		memcpy(&n, notes, sizeof(n));
		desc = round_up(sizeof(n) + (uint64_t)n.n_namesz, alignment);
		next = round_up(desc + n.n_descsz, alignment);
		if (desc + n.n_descsz > size)
			break;
		r = take(ctx, &n, notes + sizeof(n), notes + desc);
		if (next >= size)
			break;
		notes += next;
		size -= next;
	}
	return r;
}

static int take_core_note(void *ctx, const Elf64_Nhdr *n, const uint8_t *name, const uint8_t *desc)
{
	struct core_file *c = ctx;

	if (n->n_namesz != sizeof("CORE") || memcmp(name, "CORE", sizeof("CORE")) != 0)
		return 0;
	switch (n->n_type) {
	case NT_PRSTATUS:
		return take_status(c, desc, n->n_descsz);
	case NT_FILE:
		return take_files(c, desc, n->n_descsz);
	case NT_AUXV:
		take_auxv(c, desc, n->n_descsz);
		return 0;
	default:
		return 0;
	}
}

/* ---- the file -------------------------------------------------------------------- */

int core_file_open(const void *data, size_t size, struct core_file *out, struct error *why)
{
	const Elf64_Ehdr *e = data;
	int r = 0;

	*out = (struct core_file){.data = data, .size = size};
	if (size < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_type != ET_CORE || e->e_machine != EM_X86_64)
		return error_set(why, -EINVAL, "is no core dump of an x86-64 process");
	if (e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phoff % 8 || e->e_phoff > size ||
	    e->e_phnum > (size - e->e_phoff) / sizeof(Elf64_Phdr))
		return error_set(why, -EINVAL, "is cut off before its program headers");
	out->headers = (const Elf64_Phdr *)(out->data + e->e_phoff);
	out->n_headers = e->e_phnum;
	for (size_t i = 0; i < out->n_headers && !r; i++) {
		const Elf64_Phdr *p = &out->headers[i];

		if (p->p_type == PT_NOTE && p->p_offset < size)
			r = each_note(out->data + p->p_offset,
				      p->p_filesz < size - p->p_offset ? p->p_filesz
								       : size - p->p_offset,
				      4, take_core_note, out);
	}
	if (!r && !out->n_threads)
		r = error_set(why, -EINVAL, "has no registers of any thread");
	if (r == -ENOMEM)
		error_memory(why);
	if (r)
		core_file_close(out);
	return r;
}

void core_file_close(struct core_file *c)
{
	free(c->threads);
	free(c->mappings);
	c->threads = NULL;
	c->mappings = NULL;
}

/* ---- identities ------------------------------------------------------------------ */

static int take_module_note(void *ctx, const Elf64_Nhdr *n, const uint8_t *name,
			    const uint8_t *desc)
{
	struct core_identity *i = ctx;

	if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == sizeof(ELF_NOTE_GNU) &&
	    !memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) &&
	    n->n_descsz <= sizeof(i->build_id)) {
		memcpy(i->build_id, desc, n->n_descsz);
		i->build_id_size = n->n_descsz;
	} else if (n->n_type == PCCE_NOTE_TYPE && n->n_namesz == sizeof(PCCE_NOTE_NAME) &&
		   !memcmp(name, PCCE_NOTE_NAME, sizeof(PCCE_NOTE_NAME)) &&
		   n->n_descsz >= sizeof(i->encoding)) {
		memcpy(i->encoding, desc, sizeof(i->encoding));
		i->has_encoding = true;
	}
	return 0;
}

static const struct core_mapping *first_mapping(const struct core_file *c,
						const struct core_mapping *m)
{
	for (const struct core_mapping *at = m;; at--) {
		if (strcmp(at->path, m->path) != 0)
			return NULL;
		if (at->offset == 0)
			return at;
		if (at == c->mappings)
			return NULL;
	}
}

struct core_identity core_file_identity(const struct core_file *c, const struct core_mapping *m)
{
	struct core_identity identity = {0};
	const struct core_mapping *first = first_mapping(c, m);
	Elf64_Ehdr e;
	Elf64_Phdr p[32];
	uint8_t notes[4096];
	bool missing = false;
	uint64_t bias = 0;

	if (!first || !core_file_read(c, first->start, &e, sizeof(e)) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_phentsize != sizeof(*p) ||
	    e.e_phnum > sizeof(p) / sizeof(*p) ||
	    !core_file_read(c, first->start + e.e_phoff, p, e.e_phnum * sizeof(*p)))
		return identity;
	for (int i = 0; i < e.e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset == 0)
			bias = first->start - p[i].p_vaddr;
	for (int i = 0; i < e.e_phnum; i++) {
		if (p[i].p_type != PT_NOTE)
			continue;
		if (p[i].p_filesz <= sizeof(notes) &&
		    core_file_read(c, bias + p[i].p_vaddr, notes, p[i].p_filesz))
			each_note(notes, p[i].p_filesz, p[i].p_align == 8 ? 8 : 4, take_module_note,
				  &identity);
		else
			missing = true;
	}
	/* Some linkers put .note.ABI-tag into another segment, which is not in the core. */
	identity.known = !missing || identity.has_encoding;
	return identity;
}
