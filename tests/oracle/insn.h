/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares what an x86-64 instruction does to the chain of calls.  The length of an instruction is
 * never needed: the processor executes it, and the registers afterwards tell where it led.
 */
#ifndef ORACLE_INSN_H
#define ORACLE_INSN_H

#include <stddef.h>
#include <stdint.h>

enum insn {
	INSN_PLAIN,
	INSN_CALL,
	INSN_RETURN,
	INSN_JUMP,     /* to an address in the instruction, conditional or not */
	INSN_JUMP_FAR, /* through a register or memory */
	INSN_SYSCALL,
	INSN_LOAD_SP, /* gives the stack pointer a value that need not depend on its last one */
};

#define INSN_MAX 15

/* code: as many bytes as could be read, up to INSN_MAX. */
enum insn insn_classify(const uint8_t *code, size_t n);

#endif
