/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads .dynsym, all allocated RELA sections, and RELR. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/sorted.h"
#include "elf/relocs.h"

#ifndef SHT_RELR
#define SHT_RELR 19
#endif

struct symbols {
	const uint8_t *table, *strings;
	size_t n, strings_size;
};

/* Returns the symbol table in section number index; an empty one if that is no symbol table. */
static struct symbols read_symbol_table(const struct elf_module *m, uint32_t index)
{
	struct symbols s = {};
	const struct elf_section *table, *strings;

	if (!index || index >= m->n_sections)
		return s;
	table = &m->sections[index];
	if ((table->type != SHT_DYNSYM && table->type != SHT_SYMTAB) || !table->link ||
	    table->link >= m->n_sections)
		return s;
	strings = &m->sections[table->link];
	s.table = elf_module_contents(m, table);
	s.strings = elf_module_contents(m, strings);
	if (!s.table || !s.strings)
		return (struct symbols){};
	s.n = table->size / sizeof(Elf64_Sym);
	s.strings_size = strings->size;
	return s;
}

static bool symbol_at(const struct symbols *s, size_t i, Elf64_Sym *out)
{
	if (i >= s->n)
		return false;
	memcpy(out, s->table + i * sizeof(*out), sizeof(*out));
	return true;
}

/* The address of a function that the symbol defines; 0: it defines none. */
static uint64_t own_function(const Elf64_Sym *sym)
{
	return sym->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(sym->st_info) == STT_FUNC ? sym->st_value
										     : 0;
}

static bool add_target_address(uint64_t **array, size_t *n, uint64_t address)
{
	if (array_grow(array, *n, sizeof(**array)))
		return false;
	(*array)[(*n)++] = address;
	return true;
}

static bool add_got_slot(struct elf_relocs *l, struct elf_got_slot slot)
{
	if (array_grow(&l->slots, l->n_slots, sizeof(*l->slots)))
		return false;
	l->slots[l->n_slots++] = slot;
	return true;
}

static bool read_rela(const struct elf_module *m, const struct elf_section *section,
		      struct elf_relocs *out)
{
	const uint8_t *data = elf_module_contents(m, section);
	struct symbols symbols = read_symbol_table(m, section->link);
	size_t n = data ? section->size / sizeof(Elf64_Rela) : 0;

	for (size_t i = 0; i < n; i++) {
		Elf64_Rela r;
		Elf64_Sym sym;
		bool ok = true;

		memcpy(&r, data + i * sizeof(r), sizeof(r));
		switch (ELF64_R_TYPE(r.r_info)) {
		case R_X86_64_RELATIVE:
			ok = add_got_slot(out, (struct elf_got_slot){.addr = r.r_offset,
								     .target = r.r_addend}) &&
			     add_target_address(&out->taken, &out->n_taken, r.r_addend);
			break;
		case R_X86_64_IRELATIVE:
			ok = add_got_slot(out, (struct elf_got_slot){.addr = r.r_offset}) &&
			     add_target_address(&out->taken, &out->n_taken, r.r_addend);
			break;
		case R_X86_64_GLOB_DAT:
		case R_X86_64_JUMP_SLOT:
		case R_X86_64_64:
			if (!symbol_at(&symbols, ELF64_R_SYM(r.r_info), &sym))
				break;
			const char *name =
				elf_string(symbols.strings, symbols.strings_size, sym.st_name);

			ok = add_got_slot(
				out, (struct elf_got_slot){
					     .addr = r.r_offset,
					     .name = name ? name : "",
					     .own = r.r_addend ? 0 : own_function(&sym),
					     .ifunc = sym.st_shndx != SHN_UNDEF &&
						      ELF64_ST_TYPE(sym.st_info) == STT_GNU_IFUNC,
				     });
			if (ok && sym.st_shndx != SHN_UNDEF)
				ok = add_target_address(&out->taken, &out->n_taken,
							sym.st_value + r.r_addend);
			break;
		default:
			break;
		}
		if (!ok)
			return false;
	}
	return true;
}

static bool add_relative_slot(const struct elf_module *m, uint64_t addr, struct elf_relocs *out)
{
	const uint8_t *p = elf_module_at(m, addr, 8);
	uint64_t target;

	if (!p)
		return true;
	memcpy(&target, p, sizeof(target));
	return add_got_slot(out, (struct elf_got_slot){.addr = addr, .target = target}) &&
	       add_target_address(&out->taken, &out->n_taken, target);
}

/* An even word is an address to relocate. An odd word is a bitmap for the following 63 words. */
static bool read_relr(const struct elf_module *m, const struct elf_section *section,
		      struct elf_relocs *out)
{
	const uint8_t *data = elf_module_contents(m, section);
	size_t n = data ? section->size / 8 : 0;
	uint64_t where = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t word;

		memcpy(&word, data + i * 8, sizeof(word));
		if (!(word & 1)) {
			if (!add_relative_slot(m, word, out))
				return false;
			where = word + 8;
			continue;
		}
		for (int bit = 1; bit < 64; bit++)
			if (word >> bit & 1 && !add_relative_slot(m, where + (bit - 1) * 8, out))
				return false;
		where += 63 * 8;
	}
	return true;
}

static bool read_exports(const struct elf_module *m, uint32_t index, struct elf_relocs *out)
{
	struct symbols s = read_symbol_table(m, index);
	Elf64_Sym sym;

	for (size_t i = 0; symbol_at(&s, i, &sym); i++)
		if (sym.st_shndx != SHN_UNDEF && ELF64_ST_BIND(sym.st_info) != STB_LOCAL &&
		    !add_target_address(&out->exports, &out->n_exports, sym.st_value))
			return false;
	return true;
}

COMPARE_BY1(compare_got_slots, struct elf_got_slot, addr);

int elf_relocs_read(const struct elf_module *m, struct elf_relocs *out, struct error *why)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < m->n_sections; i++) {
		const struct elf_section *s = &m->sections[i];
		bool ok = true;

		if (s->type == SHT_DYNSYM)
			ok = read_exports(m, i, out);
		else if (s->type == SHT_RELA && s->flags & SHF_ALLOC)
			ok = read_rela(m, s, out);
		else if (s->type == SHT_RELR && s->flags & SHF_ALLOC)
			ok = read_relr(m, s, out);
		if (!ok) {
			elf_relocs_free(out);
			return error_memory(why);
		}
	}
	if (out->n_slots)
		qsort(out->slots, out->n_slots, sizeof(*out->slots), compare_got_slots);
	return 0;
}

void elf_relocs_free(struct elf_relocs *l)
{
	free(l->slots);
	free(l->exports);
	free(l->taken);
	memset(l, 0, sizeof(*l));
}

bool elf_relocs_slot(const struct elf_relocs *l, const struct elf_module *m, uint64_t addr,
		     struct elf_got_slot *out)
{
	size_t low = SORTED_COUNT(i, l->n_slots, l->slots[i].addr < addr);
	const uint8_t *p;

	if (low < l->n_slots && l->slots[low].addr == addr) {
		*out = l->slots[low];
		return true;
	}
	/* A program at a fixed address needs no relocation: the file holds the final value. */
	p = m->fixed_address ? elf_module_at(m, addr, 8) : NULL;
	if (!p)
		return false;
	*out = (struct elf_got_slot){.addr = addr};
	memcpy(&out->target, p, sizeof(out->target));
	return true;
}
