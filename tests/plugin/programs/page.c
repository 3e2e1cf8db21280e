/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Defines a thread page and __pcce_restore for programs that are compiled with the plugin but not
 * encoded.  This file is compiled without the plugin. */
#include <pcce/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include "page.h"

__thread struct pcce_page pcce_page __attribute__((aligned(PCCE_PAGE_ALIGN)));
unsigned long page_restores;

static struct pcce_entry *top(void)
{
	return (struct pcce_entry *)((char *)&pcce_page.base + pcce_page.off);
}

void __pcce_restore(__u64 id, __u64 position, __u64 word)
{
	pcce_page.id = id;
	pcce_page.position = position;
	top()->site = word;
	page_restores++;
	/* Changes everything that a function may change. */
	__asm__ volatile("" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
				   "memory", "cc", "xmm0", "xmm1");
}

void page_set(unsigned long id, unsigned int off)
{
	pcce_page.id = id;
	pcce_page.off = off;
	top()->site = id * 3;
}

void page_damage(void)
{
	top()->site += 1ULL << PCCE_SITE_BITS;
	pcce_page.id += 1000;
	pcce_page.off += 32;
}

void page_expect(unsigned long id, unsigned int off, const char *where)
{
	if (pcce_page.id == id && pcce_page.off == off && top()->site == id * 3)
		return;
	fprintf(stderr, "%s: the state is %llu %u %llx\n", where, pcce_page.id, pcce_page.off,
		top()->site);
	exit(1);
}
