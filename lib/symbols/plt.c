/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names PLT stubs by their instructions, not by their order, which differs between linkers.
 *
 * A stub jumps through a slot of the GOT, and the relocation of that slot names the function. In
 * the lazy half of a table for IBT, a stub pushes the number of that relocation instead. A
 * relocation without a name leads to the resolver of an IFUNC, which has the function's name.
 */
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "symbols/plt.h"

struct slot {
	uint64_t addr;
	const char *name; /* NULL: none */
	uint32_t number;  /* index in .rela.plt; UINT32_MAX: in another section */
};

struct reading {
	Elf *elf;
	size_t names; /* index of the section with the names of sections */
	const char *(*name_at)(void *ctx, uint64_t addr);
	void *ctx;
	struct slot *slots;
	size_t n_slots;
	struct plt_stub *stubs;
	size_t n;
};

static const char *section_name(const struct reading *r, const GElf_Shdr *sh)
{
	const char *name = elf_strptr(r->elf, r->names, sh->sh_name);

	return name ? name : "";
}

/* ---- the GOT ----------------------------------------------------------------------------- */

static const char *symbol_name(const struct reading *r, const GElf_Shdr *rela, const GElf_Rela *rel)
{
	Elf_Scn *scn = elf_getscn(r->elf, rela->sh_link);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (GELF_R_TYPE(rel->r_info) == R_X86_64_IRELATIVE)
		return r->name_at(r->ctx, (uint64_t)rel->r_addend);
	if (!data || !gelf_getshdr(scn, &sh) ||
	    !gelf_getsym(data, (int)GELF_R_SYM(rel->r_info), &sym))
		return NULL;
	return elf_strptr(r->elf, sh.sh_link, sym.st_name);
}

static int read_plt_slots(struct reading *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	bool of_plt = !strcmp(section_name(r, sh), ".rela.plt");
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;
	GElf_Rela rel;

	for (size_t i = 0; data && i < n && gelf_getrela(data, (int)i, &rel); i++) {
		uint64_t type = GELF_R_TYPE(rel.r_info);
		const char *name;

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
		    type != R_X86_64_IRELATIVE)
			continue;
		if (array_grow(&r->slots, r->n_slots, sizeof(*r->slots)))
			return -ENOMEM;
		name = symbol_name(r, sh, &rel);
		r->slots[r->n_slots++] = (struct slot){rel.r_offset, name && *name ? name : NULL,
						       of_plt ? (uint32_t)i : UINT32_MAX};
	}
	return 0;
}

COMPARE_BY1(compare_plt_slots, struct slot, addr);

static const struct slot *plt_slot_at(const struct reading *r, uint64_t addr)
{
	struct slot key = {.addr = addr};

	return r->n_slots ? bsearch(&key, r->slots, r->n_slots, sizeof(key), compare_plt_slots)
			  : NULL;
}

static const struct slot *plt_slot_numbered(const struct reading *r, uint32_t number)
{
	for (size_t i = 0; i < r->n_slots; i++)
		if (r->slots[i].number == number)
			return &r->slots[i];
	return NULL;
}

/* ---- stubs ------------------------------------------------------------------------------- */

/* Returns the slot of a stub; NULL: the code is no stub. */
static const struct slot *match_plt_stub(const struct reading *r, const uint8_t *code, size_t size,
					 uint64_t addr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = size > 4 && !memcmp(code, endbr64, 4) ? 4 : 0;
	uint32_t word;

	if (at < size && code[at] == 0xf2) /* bnd */
		at++;
	if (at + 6 > size)
		return NULL;
	if (code[at] == 0xff && code[at + 1] == 0x25) { /* jmp *disp(%rip) */
		memcpy(&word, code + at + 2, 4);
		return plt_slot_at(r, addr + at + 6 + (uint64_t)(int64_t)(int32_t)word);
	}
	if (code[at] == 0x68) { /* push $n */
		memcpy(&word, code + at + 1, 4);
		return plt_slot_numbered(r, word);
	}
	return NULL;
}

static int add_plt_stub(struct reading *r, uint64_t addr, uint64_t size, const char *name)
{
	char *text;

	if (array_grow(&r->stubs, r->n, sizeof(*r->stubs)) || asprintf(&text, "%s@plt", name) < 0)
		return -ENOMEM;
	r->stubs[r->n++] = (struct plt_stub){addr, size, text};
	return 0;
}

static int read_plt_stubs(struct reading *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	size_t step = sh->sh_entsize >= 8 && sh->sh_entsize <= 64 ? sh->sh_entsize : 16;
	Elf_Data *data = elf_rawdata(scn, NULL);
	int err = 0;

	if (!data || !data->d_buf)
		return 0;
	for (size_t at = 0; at < data->d_size && !err; at += step) {
		size_t size = data->d_size - at < step ? data->d_size - at : step;
		const struct slot *slot = match_plt_stub(r, (const uint8_t *)data->d_buf + at, size,
							 sh->sh_addr + at);

		/* The first stub of a lazy table serves all others. */
		err = add_plt_stub(r, sh->sh_addr + at, size,
				   slot && slot->name ? slot->name
				   : !at && !slot && !strcmp(section_name(r, sh), ".plt")
					   ? "_dl_runtime_resolve"
					   : "??");
	}
	return err;
}

static int for_each_section(struct reading *r,
			    int (*visit)(struct reading *r, Elf_Scn *scn, const GElf_Shdr *sh),
			    bool (*wanted)(const struct reading *r, const GElf_Shdr *sh))
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	while (!err && (scn = elf_nextscn(r->elf, scn)))
		if (gelf_getshdr(scn, &sh) && wanted(r, &sh))
			err = visit(r, scn, &sh);
	return err;
}

static bool is_rela_section(const struct reading *r, const GElf_Shdr *sh)
{
	(void)r;
	return sh->sh_type == SHT_RELA && sh->sh_flags & SHF_ALLOC;
}

static bool is_plt_section(const struct reading *r, const GElf_Shdr *sh)
{
	const char *name = section_name(r, sh);

	return sh->sh_type == SHT_PROGBITS && sh->sh_flags & SHF_EXECINSTR &&
	       (!strcmp(name, ".plt") || !strncmp(name, ".plt.", 5) || !strcmp(name, ".iplt"));
}

int plt_read(Elf *elf, const char *(*name_at)(void *ctx, uint64_t addr), void *ctx,
	     struct plt_stub **stubs, size_t *n)
{
	struct reading r = {.elf = elf, .name_at = name_at, .ctx = ctx};
	GElf_Ehdr head;
	int err = 0;

	*stubs = NULL;
	*n = 0;
	if (!gelf_getehdr(elf, &head) || head.e_machine != EM_X86_64 ||
	    elf_getshdrstrndx(elf, &r.names))
		return 0;
	err = for_each_section(&r, read_plt_slots, is_rela_section);
	if (!err && r.n_slots) {
		qsort(r.slots, r.n_slots, sizeof(*r.slots), compare_plt_slots);
		err = for_each_section(&r, read_plt_stubs, is_plt_section);
	}
	free(r.slots);
	*stubs = r.stubs;
	*n = r.n;
	if (!err)
		return 0;
	plt_free(r.stubs, r.n);
	*stubs = NULL;
	*n = 0;
	return err;
}

void plt_free(struct plt_stub *stubs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(stubs[i].name);
	free(stubs);
}
