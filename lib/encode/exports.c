/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the dynamic symbols of an executable, and removes versions from those of the runtime.
 *
 * A version script with named versions gives each exported name a version. A library asks for
 * setjmp of a version of the C library, and the dynamic linker skips a definition that has another
 * version. It takes a definition that has none. No version script can export a name without a
 * version beside named versions. So the linker wrapper exports the runtime's names with a version
 * of their own, and this file takes it away. The version itself stays defined, and nothing has it.
 */
#include <elf.h>
#include <string.h>
#include "encode/exports.h"

static const struct elf_section *find_symbols(const struct elf_module *m, uint64_t *n)
{
	const struct elf_section *s = elf_module_section(m, ".dynsym", NULL);

	*n = s && elf_module_contents(m, s) ? s->size / sizeof(Elf64_Sym) : 0;
	return s;
}

/* Returns the number of the version, or 0 if the file does not define it. */
static uint16_t find_version(const struct elf_module *m)
{
	const struct elf_section *s = elf_module_section(m, ".gnu.version_d", NULL);
	const struct elf_section *names = elf_module_section(m, ".dynstr", NULL);
	const uint8_t *data = s ? elf_module_contents(m, s) : NULL;
	const uint8_t *strings = names ? elf_module_contents(m, names) : NULL;

	for (uint64_t at = 0; data && strings && at < s->size;) {
		Elf64_Verdef d;
		Elf64_Verdaux a;
		const char *name;

		if (s->size - at < sizeof(d))
			return 0;
		memcpy(&d, data + at, sizeof(d));
		if (d.vd_aux > s->size - at || s->size - at - d.vd_aux < sizeof(a))
			return 0;
		memcpy(&a, data + at + d.vd_aux, sizeof(a));
		name = elf_string(strings, names->size, a.vda_name);
		if (name && !strcmp(name, PCCE_EXPORT_VERSION))
			return d.vd_ndx;
		if (!d.vd_next)
			return 0;
		at += d.vd_next;
	}
	return 0;
}

/* Does a library that asks for the name, of any version, get this executable's? */
static bool is_found(const struct elf_module *m, const char *wanted)
{
	const struct elf_section *names = elf_module_section(m, ".dynstr", NULL);
	const struct elf_section *versions = elf_module_section(m, ".gnu.version", NULL);
	const uint8_t *strings = names ? elf_module_contents(m, names) : NULL;
	const uint8_t *of = versions ? elf_module_contents(m, versions) : NULL;
	uint16_t own = find_version(m), version = VER_NDX_GLOBAL;
	uint64_t n;
	const struct elf_section *symbols = find_symbols(m, &n);

	for (uint64_t i = 0; strings && i < n; i++) {
		const char *name;
		Elf64_Sym s;

		memcpy(&s, elf_module_contents(m, symbols) + i * sizeof(s), sizeof(s));
		name = elf_string(strings, names->size, s.st_name);
		if (!name || strcmp(name, wanted) != 0 || s.st_shndx == SHN_UNDEF ||
		    ELF64_ST_BIND(s.st_info) == STB_LOCAL)
			continue;
		if (of && 2 * i + 2 <= versions->size)
			memcpy(&version, of + 2 * i, sizeof(version));
		return version == VER_NDX_GLOBAL || (own && (version & 0x7fff) == own);
	}
	return false;
}

/* All names of the runtime are exported in one way. sigaction has a version in the C library. */
bool exports_hidden(const struct elf_module *m)
{
	return elf_module_section(m, ".interp", NULL) &&
	       (!is_found(m, "pcce_page") || !is_found(m, "sigaction"));
}

void exports_drop_version(const struct elf_module *m, uint8_t *image)
{
	const struct elf_section *s = elf_module_section(m, ".gnu.version", NULL);
	uint16_t wanted = find_version(m);

	if (!wanted || !s || !elf_module_contents(m, s))
		return;
	for (uint64_t at = 0; at + 2 <= s->size; at += 2) {
		uint8_t *place = image + s->offset + at;
		uint16_t version;

		memcpy(&version, place, sizeof(version));
		if ((version & 0x7fff) != wanted)
			continue;
		version = VER_NDX_GLOBAL;
		memcpy(place, &version, sizeof(version));
	}
}
