/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares calls of the push and pop helpers as slots make them, with all registers under control,
 * and a model of the encoding stack to compare with.
 */
#ifndef TESTS_RUNTIME_HELPERS_H
#define TESTS_RUNTIME_HELPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>
#include "tap.h"

extern __thread struct pcce_page pcce_page;

struct regs {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t red_zone[2]; /* at -128(%rsp) */
};

/* Registers and red zone, set before a call and read after it. */
extern struct regs regs_in, regs_out;
/* Sites for pushes; any address will do. */
#define SITE(n) (0x550000001000ULL + (uint64_t)(n))

enum op { OP_PUSH, OP_POP, OP_PUSH_SLOW, OP_POP_SLOW };

/* Calls a helper with r11 = word.  For the slow ones, which jump there, r11 is the return address.
 * misalign is 0 or 8 and is subtracted from the stack pointer. */
void call_helper(enum op op, uint64_t word, uint64_t misalign);

void __pcce_push(void);
void __pcce_restore(uint64_t id, uint64_t position, uint64_t word);

/* Pushes on the model, which has entries without compression. */
struct pushed {
	uint64_t id, site;
};

/* Writes the thread's stack without compression, oldest entry first.  page is a copy of the page,
 * area its area or NULL.  Returns the number of entries, at most max.  Lost entries have id
 * PCCE_ID_LOST and site 0. */
size_t expand(const struct pcce_page *page, const struct pcce_segment *area, struct pushed *out,
	      size_t max);

#endif
