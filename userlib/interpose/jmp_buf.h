/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads and writes registers in a jmp_buf in the way in which the C library hides them.
 *
 * This is glibc's PTR_MANGLE on x86-64, with the guard of the thread's control block. The C library
 * does not promise it, so a caller must be able to check that what it reads is right.
 */
#ifndef PCCE_USERLIB_JMP_BUF_H
#define PCCE_USERLIB_JMP_BUF_H

#include <stdint.h>

/* Indexes of words in a jmp_buf. */
#define JMP_BUF_SP 6
#define JMP_BUF_PC 7

static inline uint64_t jmp_buf_guard(void)
{
	uint64_t guard;

	__asm__("movq %%fs:0x30, %0" : "=r"(guard));
	return guard;
}

static inline uint64_t jmp_buf_reveal(uint64_t hidden)
{
	return (hidden >> 17 | hidden << 47) ^ jmp_buf_guard();
}

static inline uint64_t jmp_buf_hide(uint64_t plain)
{
	plain ^= jmp_buf_guard();
	return plain << 17 | plain >> 47;
}

#endif
