/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gets unwind rules from libdw and keeps them, since a program returns to few places. libdw gives
 * each rule as a DWARF expression. The usual forms become numbers here.
 */
#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include "base/hash_table.h"
#include "symbols/cfi.h"

struct known_row {
	uint64_t vaddr;	     /* + 1; 0: a free slot */
	struct cfi_row *row; /* NULL: none */
};

HASH_TABLE_TYPE(cfi_rows, struct known_row);

struct cfi {
	Elf *elf;
	Dwarf_CFI *dwarf;
	struct cfi_rows rows;
};

static uint64_t hash_vaddr(uint64_t vaddr)
{
	return (vaddr * 0x9e3779b97f4a7c15ULL) >> 16;
}

HASH_TABLE_FUNCTIONS(cfi_rows, struct known_row, uint64_t, void, s->vaddr, hash_vaddr(s->vaddr),
		     s->vaddr == *key);

static Elf *open_vdso(void)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);

	/* The section headers are at its end. */
	return head ? elf_memory((char *)(uintptr_t)head,
				 head->e_shoff + (size_t)head->e_shentsize * head->e_shnum)
		    : NULL;
}

struct cfi *cfi_open(int fd)
{
	struct cfi *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	elf_version(EV_CURRENT);
	c->elf = fd < 0 ? open_vdso() : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (c->elf && elf_kind(c->elf) == ELF_K_ELF)
		c->dwarf = dwarf_getcfi_elf(c->elf);
	if (c->dwarf)
		return c;
	cfi_close(c);
	return NULL;
}

static void free_row(struct cfi_row *row)
{
	if (row)
		free(row->frame);
	free(row);
}

void cfi_close(struct cfi *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->rows.n_slots; i++)
		if (c->rows.slots[i].vaddr)
			free_row(c->rows.slots[i].row);
	cfi_rows_free(&c->rows);
	if (c->dwarf)
		dwarf_cfi_end(c->dwarf);
	if (c->elf)
		elf_end(c->elf);
	free(c);
}

/* ---- rules ------------------------------------------------------------------------- */

/* Sets *reg and *offset if the operation is a register plus a number. */
static bool is_register_plus(const Dwarf_Op *op, uint32_t *reg, int64_t *offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*reg = op->atom - DW_OP_breg0;
		*offset = (int64_t)op->number;
		return true;
	}
	*reg = (uint32_t)op->number;
	*offset = (int64_t)op->number2;
	return op->atom == DW_OP_bregx;
}

/* Sets *offset and returns the number of operations if ops begin with the cfa plus a number; else
 * 0. */
static size_t cfa_plus(const Dwarf_Op *ops, size_t n, int64_t *offset)
{
	*offset = 0;
	if (!n || ops[0].atom != DW_OP_call_frame_cfa)
		return 0;
	if (n >= 2 && ops[1].atom == DW_OP_plus_uconst) {
		*offset = (int64_t)ops[1].number;
		return 2;
	}
	if (n >= 3 && ops[2].atom == DW_OP_plus &&
	    (ops[1].atom == DW_OP_consts || ops[1].atom == DW_OP_constu)) {
		*offset = (int64_t)ops[1].number;
		return 3;
	}
	return 1;
}

static void take_cfa(const Dwarf_Op *ops, size_t n, struct cfi_rule *r)
{
	*r = (struct cfi_rule){.how = n ? CFI_EXPRESSION : CFI_OTHER, .ops = ops, .n_ops = n};
	if (n == 1 && is_register_plus(&ops[0], &r->reg, &r->offset))
		r->how = CFI_IS;
}

static void take_rule(const Dwarf_Op *ops, size_t n, const Dwarf_Op *undefined, struct cfi_rule *r)
{
	size_t simple;

	*r = (struct cfi_rule){.how = CFI_SAME};
	if (!n) {
		if (ops == undefined)
			r->how = CFI_UNDEFINED;
		return;
	}
	simple = cfa_plus(ops, n, &r->offset);
	if (simple && simple == n) {
		r->how = CFI_AT;
	} else if (simple && simple + 1 == n && ops[simple].atom == DW_OP_stack_value) {
		r->how = CFI_IS;
	} else if (ops[n - 1].atom == DW_OP_stack_value || ops[0].atom == DW_OP_regx ||
		   (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)) {
		r->how = CFI_OTHER;
	} else {
		r->how = CFI_EXPRESSION;
		r->ops = ops;
		r->n_ops = n;
	}
}

static struct cfi_row *make_row(struct cfi *c, uint64_t vaddr)
{
	struct cfi_row *row = calloc(1, sizeof(*row));
	Dwarf_Op *ops, memory[3];
	size_t n;

	if (!row)
		return NULL;
	if (dwarf_cfi_addrframe(c->dwarf, vaddr, &row->frame))
		row->frame = NULL;
	if (!row->frame ||
	    dwarf_frame_info(row->frame, &row->start, &row->end, &row->signal) != CFI_PC ||
	    dwarf_frame_cfa(row->frame, &ops, &n))
		goto none;
	take_cfa(ops, n, &row->cfa);
	for (int i = 0; i < CFI_REGISTERS; i++) {
		if (dwarf_frame_register(row->frame, i, memory, &ops, &n))
			goto none;
		take_rule(ops, n, memory, &row->rule[i]);
		/* Expressions are in the file's memory, never in ours. */
		if (row->rule[i].how == CFI_EXPRESSION && ops == memory)
			row->rule[i].how = CFI_OTHER;
	}
	return row;
none:
	free_row(row);
	return NULL;
}

const struct cfi_row *cfi_at(struct cfi *c, uint64_t vaddr)
{
	uint64_t key = vaddr + 1;
	struct known_row *slot = cfi_rows_slot(&c->rows, NULL, hash_vaddr(key), &key);

	if (!slot)
		return NULL;
	if (!slot->vaddr)
		cfi_rows_fill(&c->rows, slot, (struct known_row){key, make_row(c, vaddr)});
	return slot->row;
}
