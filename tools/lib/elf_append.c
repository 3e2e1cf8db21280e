/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Appends a section.  By hand rather than with libelf, which would write the whole file
 * anew from its own idea of it: here every byte of the linked file stays where it is,
 * except for four fields of the ELF header.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/elf_append.h"

static size_t align8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

int elf_append_section(const uint8_t *image, size_t size, const char *name, const void *data, size_t data_size,
		       uint8_t **out, size_t *out_size, struct fail *why)
{
	Elf64_Ehdr h;
	Elf64_Shdr first, names, added = {};
	size_t n, names_index, name_length = strlen(name) + 1, data_at, names_at, headers_at, total;
	uint8_t *p;

	if (size < sizeof(h))
		return fail_set(why, -EINVAL, "has a damaged ELF header");
	memcpy(&h, image, sizeof(h));
	if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff > size || size - h.e_shoff < sizeof(first))
		return fail_set(why, -EINVAL, "has damaged section headers");
	memcpy(&first, image + h.e_shoff, sizeof(first));
	n = h.e_shnum ? h.e_shnum : first.sh_size;
	names_index = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
	if (n > (size - h.e_shoff) / sizeof(first) || names_index >= n)
		return fail_set(why, -EINVAL, "has damaged section headers");
	memcpy(&names, image + h.e_shoff + names_index * sizeof(names), sizeof(names));
	if (names.sh_type != SHT_STRTAB || names.sh_offset > size || names.sh_size > size - names.sh_offset)
		return fail_set(why, -EINVAL, "has damaged section names");

	data_at = align8(size);
	names_at = data_at + align8(data_size);
	headers_at = names_at + align8(names.sh_size + name_length);
	total = headers_at + (n + 1) * sizeof(first);
	p = calloc(1, total);
	if (!p)
		return fail_memory(why);
	memcpy(p, image, size);
	memcpy(p + data_at, data, data_size);
	memcpy(p + names_at, image + names.sh_offset, names.sh_size);
	memcpy(p + names_at + names.sh_size, name, name_length);
	memcpy(p + headers_at, image + h.e_shoff, n * sizeof(first));

	added.sh_name = names.sh_size;
	added.sh_type = SHT_PROGBITS;
	added.sh_offset = data_at;
	added.sh_size = data_size;
	added.sh_addralign = 8;
	memcpy(p + headers_at + n * sizeof(added), &added, sizeof(added));
	names.sh_offset = names_at;
	names.sh_size += name_length;
	memcpy(p + headers_at + names_index * sizeof(names), &names, sizeof(names));
	n++;
	if (n >= SHN_LORESERVE || !h.e_shnum) {
		/* The number is in the first header then. */
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
	*out_size = total;
	return 0;
}
