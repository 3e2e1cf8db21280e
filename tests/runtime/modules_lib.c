// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Defines an "instrumented" shared library that pushes by hand, through its copy of the helpers. */
#include <stdint.h>
#include <pcce/abi.h>

extern __thread struct pcce_page pcce_page;

void *lib_page(void);
int lib_push(void);

void *lib_page(void)
{
	return &pcce_page;
}

int lib_push(void)
{
	uint32_t off = pcce_page.off;

	pcce_page.id = off + 1;
	__asm__ volatile("leaq 1f(%%rip), %%r11\n subq $128, %%rsp\n call __pcce_push\n addq $128, "
			 "%%rsp\n1:" ::
				 : "r10", "r11", "memory", "cc");
	return pcce_page.off == off + 16 && pcce_page.id == 0;
}
