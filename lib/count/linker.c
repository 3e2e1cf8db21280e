/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See linker.h. These names are an interface for debuggers, which glibc has always had. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "count/linker.h"
#include "elf/module.h"
#include "encode/encode.h"

/* The path of the dynamic linker in the program's image, or NULL. */
static const char *interpreter(const uint8_t *image, size_t size)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(image + e->e_phoff);

	if (e->e_phoff > size || e->e_phnum > (size - e->e_phoff) / sizeof(*p))
		return NULL;
	for (unsigned int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_INTERP && p[i].p_offset < size)
			return elf_string(image, size, p[i].p_offset);
	return NULL;
}

static uint64_t dynamic_symbol(const struct elf_module *m, const char *name)
{
	const struct elf_section *symbols = elf_module_section(m, ".dynsym", NULL);
	const struct elf_section *strings = elf_module_section(m, ".dynstr", NULL);
	const void *text = strings ? elf_module_contents(m, strings) : NULL;
	const void *data = symbols ? elf_module_contents(m, symbols) : NULL;

	for (size_t i = 0; text && data && i < symbols->size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *s = (const Elf64_Sym *)data + i;
		const char *n = elf_string(text, strings->size, s->st_name);

		if (n && s->st_shndx != SHN_UNDEF && !strcmp(n, name))
			return s->st_value;
	}
	return 0;
}

void count_linker_find(const uint8_t *program, size_t size, struct count_linker *out)
{
	const char *path = interpreter(program, size);
	struct elf_module m;
	uint8_t *image;
	size_t n;

	memset(out, 0, sizeof(*out));
	if (!path || encode_read_file(path, &image, &n, NULL))
		return;
	if (!elf_module_open(image, n, &m, NULL)) {
		out->state = dynamic_symbol(&m, "_dl_debug_state");
		out->debug = dynamic_symbol(&m, "_r_debug");
		elf_module_close(&m);
	}
	if (!out->state || !out->debug)
		memset(out, 0, sizeof(*out));
	free(image);
}
