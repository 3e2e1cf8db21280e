/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Captures the context of the thread that calls capture().  This file is compiled without the
 * plugin: it is uninstrumented code, so any address in it serves as ip, and the state is the
 * caller's.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <pcce.h>
#include "capture.h"

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int copy_own(const struct pcce_page *page, void *to)
{
	if (page->tid != (unsigned int)gettid())
		return 0;
	memcpy(to, page, sizeof(*page));
	return 1;
}

int capture(const char *path)
{
	struct pcce_page page;
	int found = pcce_threads_walk(copy_own, &page);
	uint64_t head[3] = {(uintptr_t)capture, 0, 0};
	FILE *f = found ? fopen(path, "wb") : NULL;
	int bad;

	if (!f)
		return 1;
	if (page.area)
		head[2] = min(page.place >> PCCE_PLACE_SHIFT, PCCE_AREA_CAPACITY(page.area));
	bad = fwrite(head, sizeof(head), 1, f) != 1 || fwrite(&page, sizeof(page), 1, f) != 1 ||
	      fwrite((const void *)(uintptr_t)PCCE_AREA_ADDRESS(page.area),
		     sizeof(struct pcce_segment), head[2], f) != head[2];
	return fclose(f) || bad;
}
