// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Names the modules of this process for context_id.c: by the build id and the note of their
 * encoding (include/pcce/dictionary.h), which are in their memory.
 *
 * The executable is read once, at the start. It never goes. All other modules may come and go, and
 * another one may then be at the same place, even with the same name. So nothing about them is
 * kept: the dynamic linker's _dl_find_object() (glibc 2.35) finds the module of an address, and its
 * notes are read again. The function takes no lock. A module whose code is on the stack cannot go
 * meanwhile.
 */
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include "contexts/modules.h"
#include "internal.h"
#include "base/linker_object.h"
#include "base/local_libc.h"

#define HEADERS_MAX 64 /* program headers that are read */

struct named_module main_module;
bool modules_known;

static uint64_t align_to(uint64_t n, uint64_t alignment)
{
	return (n + alignment - 1) & ~(alignment - 1);
}

static bool is_note(const Elf64_Nhdr *n, const char *name, uint32_t size, uint32_t type)
{
	const char *found = (const char *)(n + 1);

	if (n->n_namesz != size || n->n_type != type)
		return false;
	for (uint32_t i = 0; i < size; i++)
		if (found[i] != name[i])
			return false;
	return true;
}

static void take_note(const Elf64_Nhdr *n, const uint8_t *desc, struct named_module *m)
{
	struct pcce_note note;

	if (is_note(n, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU), NT_GNU_BUILD_ID)) {
		m->build_id_size =
			n->n_descsz < PCCE_BUILD_ID_MAX ? n->n_descsz : PCCE_BUILD_ID_MAX;
		memcpy(m->build_id, desc, m->build_id_size);
	} else if (is_note(n, PCCE_NOTE_NAME, sizeof(PCCE_NOTE_NAME), PCCE_NOTE_TYPE) &&
		   n->n_descsz == sizeof(note) - offsetof(struct pcce_note, encoding)) {
		uint64_t at = (uint64_t)(uintptr_t)n;

		memcpy(&note, n, sizeof(note));
		memcpy(m->encoding, note.encoding, sizeof(m->encoding));
		m->helpers =
			at + offsetof(struct pcce_note, helpers) + (uint64_t)(int64_t)note.helpers;
		m->helpers_end = at + offsetof(struct pcce_note, helpers_end) +
				 (uint64_t)(int64_t)note.helpers_end;
	}
}

static void read_notes(uint64_t at, uint64_t size, uint64_t alignment, struct named_module *m)
{
	uint64_t end = at + size;

	alignment = alignment == 8 ? 8 : 4;
	while (at < end && end - at >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (const Elf64_Nhdr *)(uintptr_t)at;
		uint64_t desc = align_to(sizeof(*n) + (uint64_t)n->n_namesz, alignment);
		uint64_t next = align_to(desc + n->n_descsz, alignment);

		if (next > end - at)
			return;
		take_note(n, (const uint8_t *)(uintptr_t)(at + desc), m);
		at += next;
	}
}

static void read_note_headers(const Elf64_Phdr *p, unsigned long n, struct named_module *m)
{
	for (unsigned long i = 0; i < n && i < HEADERS_MAX; i++)
		if (p[i].p_type == PT_NOTE && p[i].p_vaddr + m->bias - m->start < m->size &&
		    p[i].p_memsz <= m->size - (p[i].p_vaddr + m->bias - m->start))
			read_notes(p[i].p_vaddr + m->bias, p[i].p_memsz, p[i].p_align, m);
}

static bool name_module(struct named_module *m)
{
	for (unsigned int i = 0; i < sizeof(m->encoding); i++)
		m->encoded |= m->encoding[i] != 0;
	if (!m->encoded && !m->build_id_size)
		return false;
	m->name = pcce_name_of_module(m->build_id, m->build_id_size, m->encoding);
	return true;
}

bool context_module_at(uint64_t address, struct named_module *m)
{
	struct found_object o;
	const Elf64_Ehdr *header;

	m->size = 0;
	if (!linker_object_at(address, &o))
		return false;
	header = (const Elf64_Ehdr *)o.start;
	*m = (struct named_module){
		.start = (uint64_t)(uintptr_t)o.start,
		.size = (uint64_t)(o.end - o.start),
		.bias = o.link_map->l_addr,
		.path = o.link_map->l_name ? o.link_map->l_name : "",
	};
	if (m->size < sizeof(*header) || *(const uint32_t *)header->e_ident != 0x464c457f ||
	    header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff >= m->size ||
	    header->e_phnum * sizeof(Elf64_Phdr) > m->size - header->e_phoff) {
		m->size = 0;
		return false;
	}
	read_note_headers((const Elf64_Phdr *)(o.start + header->e_phoff), header->e_phnum, m);
	if (!name_module(m))
		m->size = 0;
	return m->size != 0;
}

/* The program headers follow the ELF header, at the file's beginning. Static PIE has no PT_PHDR. */
void context_modules_begin(void)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long n = getauxval(AT_PHNUM);
	struct named_module *m = &main_module;
	uint64_t end = 0, first = 0;

	linker_object_begin();
	m->path = "";
	for (unsigned long i = 0; p && i < n; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if (p[i].p_offset == 0) {
			m->bias = (uint64_t)p - sizeof(Elf64_Ehdr) - p[i].p_vaddr;
			first = p[i].p_vaddr;
		}
		end = p[i].p_vaddr + p[i].p_memsz;
	}
	m->start = m->bias + first;
	m->size = end - first;
	read_note_headers(p, n, m);
	if (!name_module(m))
		m->size = 0;
	modules_known = true;
}
