/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Opens an ELF image.  libelf takes the headers apart; what the sections and segments
 * hold is read from the image itself, always through elf_module_contents() or
 * elf_module_at(), which do the checking.
 */
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include "elf/module.h"

static int check_ident(const uint8_t *image, size_t size, struct error *why)
{
	const Elf64_Ehdr *h = (const void *)image;

	if (size < SELFMAG || memcmp(image, ELFMAG, SELFMAG))
		return error_set(why, -EINVAL, "is not an ELF file");
	if (size < sizeof(*h))
		return error_set(why, -EINVAL, "is cut off after %zu bytes", size);
	if (image[EI_CLASS] != ELFCLASS64)
		return error_set(why, -EINVAL, "is a 32-bit file; only x86-64 is supported");
	if (image[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_X86_64)
		return error_set(
			why, -EINVAL,
			"is for another processor (ELF machine %u); only x86-64 is supported",
			h->e_machine);
	if (h->e_type == ET_REL)
		return error_set(why, -EINVAL,
				 "is an object file; encode the program or shared library that it "
				 "is linked into");
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return error_set(why, -EINVAL,
				 "is neither a program nor a shared library (ELF type %u)",
				 h->e_type);
	return 0;
}

static int compare_segments(const void *pa, const void *pb)
{
	const struct elf_segment *a = pa, *b = pb;

	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

static int read_segments(struct elf_module *m, Elf *elf, struct error *why)
{
	size_t n;
	bool first = true;

	if (elf_getphdrnum(elf, &n) || !n)
		return error_set(why, -EINVAL, "has no program headers");
	m->segments = calloc(n, sizeof(*m->segments));
	if (!m->segments)
		return error_memory(why);
	for (size_t i = 0; i < n; i++) {
		struct elf_segment *s = &m->segments[m->n_segments];
		GElf_Phdr p;

		if (!gelf_getphdr(elf, i, &p))
			return error_set(why, -EINVAL, "has damaged program headers");
		if (p.p_type != PT_LOAD)
			continue;
		if (p.p_filesz > p.p_memsz || p.p_vaddr + p.p_memsz < p.p_vaddr ||
		    (p.p_vaddr + p.p_memsz) >> 47)
			return error_set(why, -EINVAL, "has a damaged program header");
		if (p.p_offset > m->size || p.p_filesz > m->size - p.p_offset)
			return error_set(why, -EINVAL,
					 "is cut off: segment %zu lies beyond its end", i);
		if (first)
			m->base = p.p_align > 1 ? p.p_vaddr / p.p_align * p.p_align : p.p_vaddr;
		first = false;
		*s = (struct elf_segment){p.p_vaddr, p.p_offset,       p.p_filesz,
					  p.p_memsz, p.p_flags & PF_X, p.p_flags & PF_W};
		m->n_segments++;
	}
	if (!m->n_segments)
		return error_set(why, -EINVAL, "has no loadable segment");
	qsort(m->segments, m->n_segments, sizeof(*m->segments), compare_segments);
	for (size_t i = 1; i < m->n_segments; i++)
		if (m->segments[i].vaddr <
		    m->segments[i - 1].vaddr + m->segments[i - 1].memory_size)
			return error_set(why, -EINVAL, "has segments that overlap");
	return 0;
}

static int read_sections(struct elf_module *m, Elf *elf, struct error *why)
{
	size_t n, names;

	if (elf_getshdrnum(elf, &n))
		return error_set(why, -EINVAL, "has damaged section headers");
	if (!n)
		return error_set(why, -EINVAL, "has no section headers");
	if (elf_getshdrstrndx(elf, &names))
		return error_set(why, -EINVAL, "has no section names");
	m->sections = calloc(n, sizeof(*m->sections));
	if (!m->sections)
		return error_memory(why);
	for (size_t i = 0; i < n; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);
		GElf_Shdr s;

		if (!scn || !gelf_getshdr(scn, &s))
			return error_set(why, -EINVAL, "has damaged section headers");
		const char *name = elf_strptr(elf, names, s.sh_name);

		m->sections[i] =
			(struct elf_section){name ? name : "", s.sh_flags,   s.sh_addr, s.sh_offset,
					     s.sh_size,	       s.sh_entsize, s.sh_type, s.sh_link};
		m->n_sections++;
	}
	return 0;
}

int elf_module_open(const void *image, size_t size, struct elf_module *out, struct error *why)
{
	const Elf64_Ehdr *h = image;
	Elf *elf;
	int err;

	memset(out, 0, sizeof(*out));
	err = check_ident(image, size, why);
	if (err)
		return err;
	out->image = image;
	out->size = size;
	out->fixed_address = h->e_type == ET_EXEC;
	out->entry = h->e_entry;
	elf_version(EV_CURRENT);
	/* The image is not written to: libelf does that only when an ELF_C_RDWR handle is updated.
	 */
	elf = elf_memory((char *)image, size);
	if (!elf)
		return error_set(why, -EINVAL, "has a damaged ELF header");
	err = read_segments(out, elf, why);
	if (!err)
		err = read_sections(out, elf, why);
	/* The names point into the image, which outlives the handle: elf_strptr of an image in
	 * memory copies nothing but compressed sections, and a section of names is not compressed.
	 */
	for (size_t i = 0; !err && i < out->n_sections; i++) {
		const char *name = out->sections[i].name;
		uintptr_t at = (uintptr_t)name - (uintptr_t)image;

		if (*name && at >= size)
			err = error_set(why, -EINVAL, "has damaged section names");
	}
	elf_end(elf);
	if (err)
		elf_module_close(out);
	return err;
}

void elf_module_close(struct elf_module *m)
{
	free(m->segments);
	free(m->sections);
	memset(m, 0, sizeof(*m));
}

const struct elf_section *elf_module_section(const struct elf_module *m, const char *name,
					     const struct elf_section *after)
{
	const struct elf_section *s = after ? after + 1 : m->sections;

	for (; s < m->sections + m->n_sections; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

const uint8_t *elf_module_contents(const struct elf_module *m, const struct elf_section *s)
{
	if (s->type == SHT_NOBITS || s->flags & SHF_COMPRESSED || s->offset > m->size ||
	    s->size > m->size - s->offset)
		return NULL;
	return m->image + s->offset;
}

const struct elf_segment *elf_module_segment(const struct elf_module *m, uint64_t vaddr)
{
	size_t low = 0, high = m->n_segments;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->segments[middle].vaddr <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || vaddr - m->segments[low - 1].vaddr >= m->segments[low - 1].memory_size)
		return NULL;
	return &m->segments[low - 1];
}

const uint8_t *elf_module_at(const struct elf_module *m, uint64_t vaddr, uint64_t length)
{
	const struct elf_segment *s = elf_module_segment(m, vaddr);
	uint64_t at;

	if (!s)
		return NULL;
	at = vaddr - s->vaddr;
	if (at > s->file_size || length > s->file_size - at)
		return NULL;
	return m->image + s->offset + at;
}
