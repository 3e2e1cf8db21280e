/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Makes a thread page by hand, with an area of segments below it, for programs that are not
 * instrumented.  So a test knows what a sample must contain. */
#ifndef PCCE_VM_MADE_PAGE_H
#define PCCE_VM_MADE_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <pcce/abi.h>

#define SEGMENTS 300 /* in the area; segment i has generation 1000 + i */
#define AREA_LOG 9   /* 2^AREA_LOG places hold them */

static __thread struct pcce_page page __attribute__((aligned(4096), tls_model("initial-exec")));
static struct pcce_segment *area;

/* The entry that is the i-th of the page's segment. */
static struct pcce_entry made_entry(unsigned int i)
{
	return (struct pcce_entry){i + 1, 0x1000 + i};
}

static void make_area(void)
{
	unsigned int i;

	area = mmap(NULL, SEGMENTS * sizeof(*area), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (area == MAP_FAILED)
		abort();
	for (i = 0; i < SEGMENTS; i++) {
		area[i].generation = 1000 + i;
		area[i].index = i;
		area[i].base = (struct pcce_entry){i ? 999 + i : 0, PCCE_MARK_WORD};
	}
}

/* A page of the calling thread, with id and ext 0, whose segment has that many entries, in its
 * upper half or not, and that many segments of the area below it. */
static void make_page(unsigned int entries, unsigned int below, bool upper)
{
	unsigned int first = upper ? PCCE_OFF_HALF / 16 : 0, i;

	memset(&page, 0, sizeof(page));
	page.version = PCCE_PAGE_VERSION;
	page.size = PCCE_PAGE_SIZE;
	*(upper ? &page.entry[first - 1] : &page.base) =
		(struct pcce_entry){below ? area[below - 1].generation : 0, PCCE_MARK_WORD};
	for (i = 0; i < entries; i++)
		page.entry[first + i] = made_entry(i);
	page.off = (first + entries) * 16;
	page.place = below << PCCE_PLACE_SHIFT;
	page.area = (uint64_t)(uintptr_t)area | AREA_LOG;
	page.magic = PCCE_PAGE_MAGIC;
}

#endif
