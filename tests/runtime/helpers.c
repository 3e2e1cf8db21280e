// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the calls of the helpers and the model of the encoding stack; see helpers.h. */
#include "helpers.h"

struct regs regs_in, regs_out;
__attribute__((used)) static void *target;
__attribute__((used)) static uint64_t target_word;

/* The slow stubs and pop are hidden names inside the runtime's object.  .pcce_entries has their
 * addresses (see entries.c). */
extern uint64_t helper_address(enum op op);

void call_direct(uint64_t misalign);
void call_slow(uint64_t misalign);

#define LOAD_REGS                                                                                 \
	"movq regs_in+120(%rip), %rax\n movq %rax, -128(%rsp)\n"                                  \
	"movq regs_in+128(%rip), %rax\n movq %rax, -120(%rsp)\n"                                  \
	"movq regs_in+0(%rip), %rax\n movq regs_in+8(%rip), %rbx\n movq regs_in+16(%rip), %rcx\n" \
	"movq regs_in+24(%rip), %rdx\n movq regs_in+32(%rip), %rsi\n movq regs_in+40(%rip), "     \
	"%rdi\n"                                                                                  \
	"movq regs_in+48(%rip), %rbp\n movq regs_in+56(%rip), %r8\n movq regs_in+64(%rip), %r9\n" \
	"movq regs_in+72(%rip), %r10\n movq regs_in+88(%rip), %r12\n movq regs_in+96(%rip), "     \
	"%r13\n"                                                                                  \
	"movq regs_in+104(%rip), %r14\n movq regs_in+112(%rip), %r15\n"

#define STORE_REGS                                                                   \
	"movq %rax, regs_out+0(%rip)\n movq %rbx, regs_out+8(%rip)\n movq %rcx, "    \
	"regs_out+16(%rip)\n"                                                        \
	"movq %rdx, regs_out+24(%rip)\n movq %rsi, regs_out+32(%rip)\n movq %rdi, "  \
	"regs_out+40(%rip)\n"                                                        \
	"movq %rbp, regs_out+48(%rip)\n movq %r8, regs_out+56(%rip)\n movq %r9, "    \
	"regs_out+64(%rip)\n"                                                        \
	"movq %r10, regs_out+72(%rip)\n movq %r11, regs_out+80(%rip)\n movq %r12, "  \
	"regs_out+88(%rip)\n"                                                        \
	"movq %r13, regs_out+96(%rip)\n movq %r14, regs_out+104(%rip)\n movq %r15, " \
	"regs_out+112(%rip)\n"                                                       \
	"movq -128(%rsp), %rax\n movq %rax, regs_out+120(%rip)\n"                    \
	"movq -120(%rsp), %rax\n movq %rax, regs_out+128(%rip)\n"

#define ENTER                                                                           \
	"pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n" \
	"movq %rsp, saved_sp(%rip)\n subq %rdi, %rsp\n"
#define LEAVE                         \
	"movq saved_sp(%rip), %rsp\n" \
	"popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n ret\n"

__asm__(".pushsection .text\n"
	"call_direct:\n" ENTER LOAD_REGS "movq target_word(%rip), %r11\n"
	"call *target(%rip)\n" STORE_REGS LEAVE "call_slow:\n" ENTER LOAD_REGS
	"leaq 1f(%rip), %r11\n movq %r11, slow_return(%rip)\n"
	"jmp *target(%rip)\n"
	"1:\n" STORE_REGS LEAVE ".popsection\n"
	".local slow_return\n .comm slow_return,8,8\n .local saved_sp\n .comm saved_sp,8,8\n");

void call_helper(enum op op, uint64_t word, uint64_t misalign)
{
	target = (void *)(uintptr_t)helper_address(op);
	target_word = word;
	__asm__ volatile("" ::: "memory");
	if (op == OP_PUSH_SLOW || op == OP_POP_SLOW)
		call_slow(misalign);
	else
		call_direct(misalign);
}

static size_t expand_one(const struct pcce_entry *e, struct pushed *out, size_t n, size_t max)
{
	for (uint64_t k = 0; k <= e->site >> PCCE_SITE_BITS && n < max; k++)
		out[n++] = (struct pushed){e->id, e->site & PCCE_SITE_MASK};
	return n;
}

static size_t expand_segment(const struct pcce_entry *first, uint32_t entries, struct pushed *out,
			     size_t n, size_t max)
{
	for (uint32_t i = 0; i < entries; i++)
		n = expand_one(&first[i], out, n, max);
	return n;
}

/* Copies the stack as a sampler does: the current segment, then the other half if the page says
 * that it keeps something, else the area. */
size_t expand(const struct pcce_page *page, const struct pcce_segment *area, struct pushed *out,
	      size_t max)
{
	static const struct pcce_entry lost = {PCCE_ID_LOST, 0};
	uint32_t below = page->place >> PCCE_PLACE_SHIFT, half = page->off & PCCE_OFF_HALF;
	bool kept = (page->place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT;
	size_t n = 0;

	for (uint32_t i = 0; i < below; i++) {
		if (i == below - 1 && kept)
			n = expand_segment(page->entry + (half ^ PCCE_OFF_HALF) / 16,
					   PCCE_SEGMENT_ENTRIES, out, n, max);
		else if (area && i < PCCE_AREA_CAPACITY(page->area))
			n = expand_segment(area[i].entry, PCCE_SEGMENT_ENTRIES, out, n, max);
		else
			for (int k = 0; k < PCCE_SEGMENT_ENTRIES; k++)
				n = expand_one(&lost, out, n, max);
	}
	return expand_segment(page->entry + half / 16, (page->off & PCCE_OFF_USED) / 16, out, n,
			      max);
}
