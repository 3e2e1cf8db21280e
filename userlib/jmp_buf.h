/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Registers in a jmp_buf, as the C library hides them: glibc's PTR_MANGLE on x86-64, with the guard
 * of the thread's control block. No promise of the C library's; whoever reads them must be able to
 * tell that he has read them rightly.
 */
#ifndef PCCE_USERLIB_JMP_BUF_H
#define PCCE_USERLIB_JMP_BUF_H

#include <stdint.h>

/* Words of a jmp_buf. */
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
