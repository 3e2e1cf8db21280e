/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Removes an encoding from the code: see unpatch.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "encode/unpatch.h"
#include "elf/site_records.h"
#include "elf/x86.h"

static int clear_slot(uint8_t *image, const struct elf_module *m, const struct site_block *b,
		      uint32_t offset, size_t length, struct error *why)
{
	const uint8_t *slot = elf_module_at(m, b->head.start + offset, length);

	if (!length)
		return 0;
	if (!slot)
		return error_set(why, -EINVAL,
				 "has damaged site records: a slot in '%s' lies outside the code",
				 b->name);
	x86_fill_nops(image + (slot - m->image), length);
	return 0;
}

/* Returns the function whose entry slot ends at the address, or NULL. */
static const struct site_block *find_block_with_body_at(const struct site_records *r,
							uint64_t vaddr)
{
	size_t low = 0, high = r->n_blocks;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (r->blocks[middle].head.start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct pcce_site_block *b = &r->blocks[low - 1].head;

	return b->entry_len && vaddr - b->start == (uint64_t)b->entry + b->entry_len
		       ? &r->blocks[low - 1]
		       : NULL;
}

static void retarget_call(uint8_t *image, const struct elf_module *m, const struct site_records *r,
			  const struct site_block *b, const struct pcce_site_record *s)
{
	uint64_t at = b->head.start + s->before + s->before_len, end = b->head.start + s->after;
	const uint8_t *code = end > at ? elf_module_at(m, at, end - at) : NULL;
	struct x86_branch branch;
	const struct site_block *callee;
	int32_t rel;

	if (!code || s->flags & PCCE_SITE_INDIRECT)
		return;
	branch = x86_decode_branch(code, end - at, at, s->flags & PCCE_SITE_TAIL);
	if (branch.kind != X86_TO_ADDRESS || branch.field_bytes != 4)
		return;
	callee = find_block_with_body_at(r, branch.target);
	if (!callee)
		return;
	/* The function's start is within 32 bits, since the call led there before. */
	rel = (int32_t)(callee->head.start - (at + branch.field + 4));
	memcpy(image + (code - m->image) + branch.field, &rel, sizeof(rel));
}

static int undo_block(uint8_t *image, const struct elf_module *m, const struct site_records *r,
		      const struct site_block *b, struct error *why)
{
	int err = clear_slot(image, m, b, b->head.entry, b->head.entry_len, why);

	for (uint32_t i = 0; !err && i < b->head.n_sites; i++) {
		struct pcce_site_record s = site_records_site(b, i);

		if (s.flags & (PCCE_SITE_RESTORE | PCCE_SITE_LANDING))
			continue;
		retarget_call(image, m, r, b, &s);
		err = clear_slot(image, m, b, s.before, s.before_len, why);
		if (!err)
			err = clear_slot(image, m, b, s.after, s.after_len, why);
	}
	return err;
}

int unpatch(uint8_t *image, size_t size, struct error *why)
{
	struct elf_module m;
	struct site_records r = {};
	int err = elf_module_open(image, size, &m, why);

	if (err)
		return err;
	err = site_records_read(&m, &r, why);
	if (!err && !r.n_blocks)
		err = error_set(why, -EINVAL,
				"was encoded, but has lost its site records (strip removes them); "
				"link it again, or encode it before it is stripped");
	for (size_t i = 0; !err && i < r.n_blocks; i++)
		err = undo_block(image, &m, &r, &r.blocks[i], why);
	site_records_free(&r);
	elf_module_close(&m);
	return err;
}
