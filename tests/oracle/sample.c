// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See sample.h. */
#include <string.h>
#include "tests/oracle/digest.h"
#include "tests/oracle/sample.h"

#define FROM_SPILL (PCCE_SAMPLE_ENTRIES - PCCE_PAGE_ENTRIES)
#define OFFSETS 4

/* The page of the thread: the first candidate that has its magic. Most stacks are small. */
static bool read_page(struct pcce_page *page, const struct space *s, uint64_t fs_base)
{
	const size_t head = offsetof(struct pcce_page, entry), few = 24 * sizeof(struct pcce_entry);
	int64_t offsets[OFFSETS];
	size_t n = space_page_offsets(s, offsets, OFFSETS);

	for (size_t i = 0; fs_base && i < n; i++) {
		uint64_t address = fs_base + (uint64_t)offsets[i];

		if (memory_read(s->pid, address, page, head + few) != head + few || page->magic != PCCE_PAGE_MAGIC ||
		    page->version != PCCE_PAGE_VERSION)
			continue;
		return page->off <= few || memory_read(s->pid, address, page, sizeof(*page)) == sizeof(*page);
	}
	return false;
}

static uint32_t take_spill(struct sample *out, const struct pcce_page *page, const struct space *s)
{
	uint64_t site = page->entry[PCCE_PAGE_ENTRIES].site, n = site & PCCE_SITE_MASK, held, size;

	if (site >> PCCE_SITE_BITS != PCCE_COUNT_MARK || !n)
		return 0;
	if (n > 0x7fffffff)
		return PCCE_SAMPLE_READ_FAULT;
	out->s.n_total += (uint32_t)n;
	if (!page->spill || n > PCCE_SPILL_ENTRIES)
		return PCCE_SAMPLE_TRUNCATED;
	held = n < FROM_SPILL ? n : FROM_SPILL;
	out->s.n_entries += (uint32_t)held;
	size = held * sizeof(struct pcce_entry);
	if (memory_read(s->pid, page->spill + (n - held) * sizeof(struct pcce_entry), out->entries + out->s.n_page,
			size) != size)
		return PCCE_SAMPLE_READ_FAULT;
	return n > FROM_SPILL ? PCCE_SAMPLE_TRUNCATED : 0;
}

static uint64_t hash_words(uint64_t h, const void *from, size_t size)
{
	const uint64_t *w = from;
	uint64_t a = h, b = ~h;

	for (size_t i = 0; i + 1 < size / 8; i += 2) {
		a = (a ^ w[i]) * 0x7fb5d329728ea185ULL;
		b = (b ^ w[i + 1]) * 0x81dadef4bc2dd44dULL;
		a ^= a >> 29;
		b ^= b >> 31;
	}
	return mix64(a ^ mix64(b));
}

void sample_take(struct sample *out, const struct space *s, pid_t tid, const struct user_regs_struct *regs)
{
	static struct pcce_page page;
	struct pcce_sample *sample = &out->s;

	*sample = (struct pcce_sample){
		.pid = (uint32_t)s->pid,
		.tid = (uint32_t)tid,
		.ip = regs->rip,
		.r11 = regs->r11,
		.sp = regs->rsp,
		.weight = 1,
	};
	if (!read_page(&page, s, regs->fs_base)) {
		sample->flags = PCCE_SAMPLE_OUTSIDE;
	} else if (page.off > PCCE_OFF_SPILLED || page.off % sizeof(struct pcce_entry)) {
		sample->flags = PCCE_SAMPLE_READ_FAULT;
	} else {
		sample->id = page.id;
		sample->ext = page.ext;
		sample->n_page = (page.off > PCCE_OFF_LIMIT ? PCCE_OFF_LIMIT : page.off) / sizeof(struct pcce_entry);
		sample->n_entries = sample->n_total = sample->n_page;
		memcpy(out->entries, page.entry, sample->n_page * sizeof(struct pcce_entry));
		if (page.off == PCCE_OFF_SPILLED)
			sample->flags = take_spill(out, &page, s);
		if (sample->flags & PCCE_SAMPLE_READ_FAULT)
			sample->n_page = sample->n_entries = sample->n_total = 0;
	}
	out->hash = mix64(sample->id ^ mix64(sample->ext + sample->flags));
	out->hash = mix64(out->hash ^ ((uint64_t)sample->n_total << 32 | sample->n_entries));
	out->hash = hash_words(out->hash, out->entries, sample->n_entries * sizeof(struct pcce_entry));
}
