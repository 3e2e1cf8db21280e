/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Removes an encoding from the code: see unpatch.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/sorted.h"
#include "encode/unpatch.h"
#include "encode/gates.h"
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

static const struct site_block *last_block_at_most(const struct site_records *r, uint64_t vaddr)
{
	size_t low = SORTED_COUNT(i, r->n_blocks, r->blocks[i].head.start <= vaddr);

	return low ? &r->blocks[low - 1] : NULL;
}

/* Returns the function whose entry slot ends at the address, or NULL. */
static const struct site_block *find_block_with_body_at(const struct site_records *r,
							uint64_t vaddr)
{
	const struct site_block *b = last_block_at_most(r, vaddr);

	return b && b->head.entry_len &&
			       vaddr - b->head.start == (uint64_t)b->head.entry + b->head.entry_len
		       ? b
		       : NULL;
}

/* Returns the gate at the address, or NULL. */
static const struct site_block *find_gate(const struct site_records *r, uint64_t vaddr)
{
	const struct site_block *b = last_block_at_most(r, vaddr);

	return b && b->head.start == vaddr && b->head.flags & PCCE_BLOCK_GATE ? b : NULL;
}

static int retarget_call(uint8_t *image, const struct elf_module *m, const struct site_records *r,
			 const struct site_block *b, const struct pcce_site_record *s,
			 struct error *why)
{
	uint64_t at = b->head.start + s->before + s->before_len, end = b->head.start + s->after;
	const uint8_t *code = end > at ? elf_module_at(m, at, end - at) : NULL;
	struct x86_branch branch;
	const struct site_block *callee;
	const uint8_t *gate_code;
	int32_t rel;

	if (!code || s->flags & PCCE_SITE_INDIRECT)
		return 0;
	branch = x86_decode_branch(code, end - at, at, s->flags & PCCE_SITE_TAIL);
	if (branch.kind != X86_TO_ADDRESS || branch.field_bytes != 4)
		return 0;
	callee = find_gate(r, branch.target);
	gate_code = callee ? elf_module_at(m, branch.target, PCCE_GATE_SIZE) : NULL;
	if (gate_code)
		return gates_restore_call(image + (code - m->image), end - at, at, branch.field,
					  callee, gate_code, why);
	callee = find_block_with_body_at(r, branch.target);
	if (!callee)
		return 0;
	/* The function's start is within 32 bits, since the call led there before. */
	rel = (int32_t)(callee->head.start - (at + branch.field + 4));
	memcpy(image + (code - m->image) + branch.field, &rel, sizeof(rel));
	return 0;
}

/* Puts the jump of a tail call back, which its slot holds at the end. */
static int restore_jump(uint8_t *image, const struct elf_module *m, const struct site_block *b,
			const struct pcce_site_record *s, struct error *why)
{
	uint64_t at = b->head.start + s->before, n = s->after - s->before,
		 kept = b->head.start + s->after + PCCE_TAIL_JUMP;
	const uint8_t *code = elf_module_at(m, at, n), *copy = elf_module_at(m, kept, n);
	struct x86_operand operand;
	uint32_t distance;

	if (!(s->flags & PCCE_SITE_TAIL) || s->after_len != PCCE_SLOT_TAIL || !code ||
	    code[0] != 0xeb)
		return 0;
	if (!copy || n > PCCE_SLOT_TAIL - PCCE_TAIL_JUMP ||
	    !x86_decode_indirect(copy, n, kept, true, &operand))
		return error_set(why, -EINVAL,
				 "has a damaged tail call in '%s' (line %u); link it again",
				 b->name, s->line);
	memcpy(image + (code - m->image), copy, n);
	if (operand.relative) {
		distance = (uint32_t)(operand.target - (at + n));
		memcpy(image + (code - m->image) + n - sizeof(distance), &distance,
		       sizeof(distance));
	}
	return 0;
}

static int undo_block(uint8_t *image, const struct elf_module *m, const struct site_records *r,
		      const struct site_block *b, struct error *why)
{
	int err = clear_slot(image, m, b, b->head.entry, b->head.entry_len, why);

	for (uint32_t i = 0; !err && i < b->head.n_sites; i++) {
		struct pcce_site_record s = site_records_site(b, i);

		if (s.flags & (PCCE_SITE_RESTORE | PCCE_SITE_LANDING))
			continue;
		err = retarget_call(image, m, r, b, &s, why);
		if (!err)
			err = restore_jump(image, m, b, &s, why);
		if (!err)
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
	/* Last, since gates tell where calls led. */
	for (size_t i = 0; !err && i < r.n_blocks; i++)
		if (r.blocks[i].head.flags & PCCE_BLOCK_GATE)
			gates_clear(image, &m, &r.blocks[i]);
	site_records_free(&r);
	elf_module_close(&m);
	return err;
}
