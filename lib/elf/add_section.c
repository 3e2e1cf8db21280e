/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds a section to an ELF image, or replaces it, by own code. libelf would write the whole file in
 * its own layout. Here every byte of the linked file keeps its place, and only four fields of the
 * ELF header change.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "elf/add_section.h"

static size_t align8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static Elf64_Shdr header_at(const uint8_t *headers, size_t i)
{
	Elf64_Shdr h;

	memcpy(&h, headers + i * sizeof(h), sizeof(h));
	return h;
}

/* Returns the index of the section of that name, or n. */
static size_t find_section(const uint8_t *image, const uint8_t *headers, size_t n,
			   const Elf64_Shdr *names, const char *name)
{
	const char *strings = (const char *)image + names->sh_offset;
	size_t i, length = strlen(name) + 1;

	for (i = 1; i < n; i++) {
		Elf64_Shdr h = header_at(headers, i);

		if (h.sh_name < names->sh_size && names->sh_size - h.sh_name >= length &&
		    !memcmp(strings + h.sh_name, name, length))
			break;
	}
	return i;
}

/* Is the section followed only by the section names and headers, which are written again? */
static bool is_last(const uint8_t *image, size_t size, const Elf64_Ehdr *h, const uint8_t *headers,
		    size_t n, size_t names_index, size_t index)
{
	uint64_t end = header_at(headers, index).sh_offset;

	if (end > size || h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff > end ||
	    h->e_phnum > (end - h->e_phoff) / sizeof(Elf64_Phdr))
		return false;
	for (size_t i = 1; i < n; i++) {
		Elf64_Shdr s = header_at(headers, i);

		if (i != index && i != names_index && s.sh_type != SHT_NOBITS && s.sh_size &&
		    (s.sh_offset > end || s.sh_size > end - s.sh_offset))
			return false;
	}
	for (size_t i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, image + h->e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_filesz && (p.p_offset > end || p.p_filesz > end - p.p_offset))
			return false;
	}
	return true;
}

int elf_add_section(const uint8_t *image, size_t size, const char *name, const void *data,
		    size_t data_size, uint8_t **out, size_t *out_size, struct error *why)
{
	Elf64_Ehdr h;
	Elf64_Shdr first, names, added = {};
	size_t n, index, names_index, name_length = strlen(name) + 1, data_at, names_at, headers_at,
				      total;
	const uint8_t *headers;
	uint8_t *p;

	if (size < sizeof(h))
		return error_set(why, -EINVAL, "has a damaged ELF header");
	memcpy(&h, image, sizeof(h));
	if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff > size ||
	    size - h.e_shoff < sizeof(first))
		return error_set(why, -EINVAL, "has damaged section headers");
	memcpy(&first, image + h.e_shoff, sizeof(first));
	n = h.e_shnum ? h.e_shnum : first.sh_size;
	names_index = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
	if (n > (size - h.e_shoff) / sizeof(first) || names_index >= n)
		return error_set(why, -EINVAL, "has damaged section headers");
	memcpy(&names, image + h.e_shoff + names_index * sizeof(names), sizeof(names));
	if (names.sh_type != SHT_STRTAB || names.sh_offset > size ||
	    names.sh_size > size - names.sh_offset || !names.sh_size ||
	    image[names.sh_offset + names.sh_size - 1])
		return error_set(why, -EINVAL, "has damaged section names");

	headers = image + h.e_shoff;
	index = find_section(image, headers, n, &names, name);
	if (index < n) {
		added = header_at(headers, index);
		name_length = 0;
		if (is_last(image, size, &h, headers, n, names_index, index))
			size = added.sh_offset;
	}
	data_at = align8(size);
	names_at = data_at + align8(data_size);
	headers_at = names_at + align8(names.sh_size + name_length);
	total = headers_at + (n + 1) * sizeof(first);
	p = calloc(1, total);
	if (!p)
		return error_memory(why);
	memcpy(p, image, size);
	memcpy(p + data_at, data, data_size);
	memcpy(p + names_at, image + names.sh_offset, names.sh_size);
	memcpy(p + names_at + names.sh_size, name, name_length);
	memcpy(p + headers_at, headers, n * sizeof(first));

	if (index == n) {
		added.sh_name = names.sh_size;
		n++;
	}
	added.sh_type = SHT_PROGBITS;
	added.sh_offset = data_at;
	added.sh_size = data_size;
	added.sh_addralign = 8;
	memcpy(p + headers_at + index * sizeof(added), &added, sizeof(added));
	names.sh_offset = names_at;
	names.sh_size += name_length;
	memcpy(p + headers_at + names_index * sizeof(names), &names, sizeof(names));
	if (n >= SHN_LORESERVE || !h.e_shnum) {
		/* Then the first section header holds the number. */
		memcpy(&first, p + headers_at, sizeof(first));
		first.sh_size = n;
		memcpy(p + headers_at, &first, sizeof(first));
		h.e_shnum = 0;
	} else {
		h.e_shnum = n;
	}
	h.e_shoff = headers_at;
	memcpy(p, &h, sizeof(h));
	*out = p;
	*out_size = headers_at + n * sizeof(first);
	return 0;
}
