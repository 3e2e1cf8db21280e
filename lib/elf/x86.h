/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes the few x86-64 instructions that pcce-encode must understand: calls and jumps as
 * compilers write and linkers rewrite them, PLT stubs, and nops.
 */
#ifndef PCCE_ELF_X86_H
#define PCCE_ELF_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_branch_kind {
	X86_NO_BRANCH,	 /* no known form */
	X86_TO_ADDRESS,	 /* target is the destination */
	X86_THROUGH_SLOT /* target is the address of the pointer to the destination */
};

struct x86_branch {
	enum x86_branch_kind kind;
	uint64_t target;
	size_t field;	    /* X86_TO_ADDRESS: offset of the distance in the code */
	size_t field_bytes; /* size of the distance, 4 or 1; it counts from its own end */
};

/*
 * Finds the destination of the call, or of the jump of a tail call, in the code of one site: n
 * bytes at vaddr. The code may also contain prefixes and nops of a linker, and the parts of a
 * __tls_get_addr sequence.
 */
struct x86_branch x86_decode_branch(const uint8_t *code, size_t n, uint64_t vaddr, bool jump);

/* The operand of a call or jump through a register or memory: what follows the opcode, without
 * rex.r. */
struct x86_operand {
	uint8_t rex;	  /* bits x and b */
	uint8_t bytes[6]; /* modrm with reg 0, sib, displacement */
	uint8_t n;
	bool relative;	 /* bytes ends with a distance, which leads to target */
	uint64_t target; /* address of the pointer */
};

/*
 * Decodes the one call, or jump, through a register or memory that the code consists of. False: it
 * is another instruction, or more than one.
 */
bool x86_decode_indirect(const uint8_t *code, size_t n, uint64_t vaddr, bool jump,
			 struct x86_operand *out);

/* Finds the pointer through which a PLT stub at vaddr jumps. False: no stub is there. */
bool x86_decode_stub(const uint8_t *code, size_t n, uint64_t vaddr, uint64_t *slot);

/* The length of the nop (or endbr64) at the start of the bytes; 0: they start with none. */
size_t x86_nop_length(const uint8_t *code, size_t n);
size_t x86_endbr_or_nop_length(const uint8_t *code, size_t n);
bool x86_only_nops(const uint8_t *code, size_t n);
/* Fills n bytes with as few nops as processors decode without a penalty. */
void x86_fill_nops(uint8_t *code, size_t n);

uint32_t x86_load32(const uint8_t *p);
int64_t x86_load_rel32(const uint8_t *p);

#endif
