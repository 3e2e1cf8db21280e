/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few x86-64 instructions that encode must understand: calls and jumps as
 * compilers write and linkers rewrite them, PLT stubs, and nops.
 */
#ifndef PCCE_ELF_X86_H
#define PCCE_ELF_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_branch_kind {
	X86_NO_BRANCH,	 /* nothing of a form that is known */
	X86_TO_ADDRESS,	 /* target is where it leads */
	X86_THROUGH_SLOT /* target is the address of the pointer that it takes its target from */
};

struct x86_branch {
	enum x86_branch_kind kind;
	uint64_t target;
	size_t field;	    /* X86_TO_ADDRESS: where in the code the distance stands, */
	size_t field_bytes; /* 4 or 1, and is its end: the distance counts from there */
};

/* What the code of one site, n bytes at vaddr, calls (or, for a tail call, jumps to). Besides one
 * branch there may be prefixes and nops that a linker put there, and the parts of a __tls_get_addr
 * sequence. */
struct x86_branch x86_decode_branch(const uint8_t *code, size_t n, uint64_t vaddr, bool jump);

/* The pointer through which a PLT stub at vaddr jumps; false if there is no such stub. */
bool x86_decode_stub(const uint8_t *code, size_t n, uint64_t vaddr, uint64_t *slot);

/* Length of the nop (or endbr64) that the bytes begin with; 0 if it is none. */
size_t x86_nop_length(const uint8_t *code, size_t n);
size_t x86_endbr_or_nop_length(const uint8_t *code, size_t n);
bool x86_only_nops(const uint8_t *code, size_t n);
/* Fills n bytes with as few nops as processors decode without a penalty. */
void x86_fill_nops(uint8_t *code, size_t n);

uint32_t x86_load32(const uint8_t *p);
int64_t x86_load_rel32(const uint8_t *p);

#endif
