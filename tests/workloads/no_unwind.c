/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls assembly that has no unwind information and uses no frame pointer. An unwinder can only guess
 * who called it, so its samples must not be compared with a guess.
 *
 * flags: -O2 -fno-omit-frame-pointer
 * expect: (^|;)main;outer;
 * expect: (^|;)main;outer;burn( |;)
 */
#include "burn.h"

unsigned int no_unwind(unsigned int rounds);

__asm__("	.text\n"
	"	.globl no_unwind\n"
	"	.type no_unwind, @function\n"
	"no_unwind:\n"
	"	push %rbx\n"
	"	xor %eax, %eax\n"
	"	mov %edi, %ebx\n"
	"1:	add %ebx, %eax\n"
	"	dec %ebx\n"
	"	jnz 1b\n"
	"	pop %rbx\n"
	"	ret\n"
	"	.size no_unwind, . - no_unwind");

static NOINLINE unsigned int outer(unsigned int n)
{
	burn(200);
	return no_unwind(ROUNDS(400, 3)) + n;
}

int main(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < ROUNDS(300000, 20); i++)
		sum += outer(i);
	printf("%u\n", sum);
	return 0;
}
