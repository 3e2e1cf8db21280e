/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the unwind information of an ELF file (.eh_frame): at an instruction, where the frame ends,
 * and where the caller's registers are. Numbers of registers are those of DWARF for x86-64.
 */
#ifndef PCCE_SYMBOLS_CFI_H
#define PCCE_SYMBOLS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#define CFI_SP 7
#define CFI_PC 16
#define CFI_REGISTERS 17

enum cfi_how {
	CFI_UNDEFINED,	/* its value is lost; of CFI_PC: there is no caller */
	CFI_SAME,	/* unchanged */
	CFI_AT,		/* in memory at cfa + offset */
	CFI_IS,		/* cfa + offset; in the rule of the cfa: reg + offset */
	CFI_EXPRESSION, /* in memory at the address that ops give; of the cfa: ops give it */
	CFI_OTHER	/* by an expression or another register: not supported */
};

struct cfi_rule {
	enum cfi_how how;
	uint32_t reg;
	int64_t offset;
	const Dwarf_Op *ops;
	size_t n_ops;
};

/* The rules at an instruction. */
struct cfi_row {
	struct cfi_rule cfa, rule[CFI_REGISTERS];
	uint64_t start, end; /* link-time addresses with these rules */
	bool signal;	     /* the caller was interrupted by a signal */
	Dwarf_Frame *frame;  /* owns the ops */
};

struct cfi;

/* Opens the file, which must stay open; fd -1: the vdso. NULL: no unwind information, or no
 * memory. */
struct cfi *cfi_open(int fd);
void cfi_close(struct cfi *c);
/* Returns the rules at a link-time address; NULL: there are none. Valid until cfi_close(). */
const struct cfi_row *cfi_at(struct cfi *c, uint64_t vaddr);

#endif
