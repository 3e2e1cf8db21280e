/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See cfi_rule.h. */
#include "restore/cfi_rule.h"
#include "unwind/cfi_unwind.h"

/* On which register the end of the frame depends. */
static void set_base(const struct cfi_row *row, struct restore_frame *f)
{
	int i = cfi_unwind_register(row->cfa.reg);

	if (row->cfa.how != CFI_IS || row->rule[CFI_PC].how != CFI_AT ||
	    row->rule[CFI_SP].how != CFI_IS)
		return;
	if (row->cfa.reg == CFI_SP)
		f->base = RESTORE_BASE_SP;
	else if (i >= 0)
		f->base = (uint8_t)i;
	f->offset = row->cfa.offset + row->rule[CFI_PC].offset;
}

/* Sets the code that has the same rule, if the frame's end follows from one register, and
 * everything else from its end. */
static void set_rule(const struct cfi_row *row, uint64_t vaddr, uint64_t pc,
		     struct restore_frame *f)
{
	static const uint8_t numbers[UNWIND_REGISTERS] = CFI_UNWIND_REGISTERS;

	if (f->base != RESTORE_BASE_SP && f->base >= UNWIND_REGISTERS)
		return;
	for (int i = 0; i < UNWIND_REGISTERS; i++)
		if (row->rule[numbers[i]].how == CFI_EXPRESSION)
			return;
	f->rule = row->start + (pc - vaddr);
	f->rule_end = row->end + (pc - vaddr);
}

void cfi_rule_set(const struct cfi_row *row, uint64_t vaddr, const struct unwind_state *state,
		  struct restore_frame *f)
{
	*f = (struct restore_frame){
		.is = f->is, .base = RESTORE_BASE_OTHER, .confidence = RESTORE_CERTAIN};
	set_base(row, f);
	set_rule(row, vaddr, state->pc - !state->inner, f);
}
