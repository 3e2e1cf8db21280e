/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits the slot of a tail call through a pointer.
 *
 *		jmp	*%rax
 *	.Lpcce_a7:	.byte	...	69 bytes of nops
 *		.cfi_adjust_cfa_offset 8
 *	.Lpcce_f7:	.byte	...	36 bytes of nops
 *		.cfi_adjust_cfa_offset -8
 *	.Lpcce_l7:	.byte	...	9 bytes of nops
 *
 * If pcce-encode knows a function that is called most often, it leads control to the slot. There it
 * compares the pointer with the function, and jumps to that. For others there is an ordinary call,
 * whose frame has 8 bytes. So callers of this function need no push for its sake. Otherwise nothing
 * leads there.
 *
 * The frame comes between the caller and the function that the pointer leads to. So there is no
 * such slot where arguments may be on the stack, or where the function looks at its caller's
 * frame. Nor is there one where the function has regions for exceptions: the tables of the
 * unwinder do not know the call, so no exception could leave it.
 */
#include "internal.h"

/* Do unwinders read what the assembler makes of .cfi directives, also of those in epilogues, or
 * nothing at all? */
static bool unwinds_by_directives(void)
{
	return !dwarf2out_do_frame() || (dwarf2out_do_cfi_asm() && flag_asynchronous_unwind_tables);
}

bool tail_slot_fits(function *fun, const struct site *site)
{
	const unsigned int wanted = PCCE_SITE_TAIL | PCCE_SITE_INDIRECT;
	const unsigned int no = PCCE_SITE_SPILL_REGS | PCCE_SITE_NORETURN | PCCE_SITE_RETURNS_TWICE;

	return (site->flags & wanted) == wanted && !(site->flags & no) && entry_allows_frame(fun) &&
	       !entry_has_stack_arguments(fun) && !(fun->eh && fun->eh->region_tree) &&
	       fun->machine->indirect_branch_type == indirect_branch_keep &&
	       unwinds_by_directives();
}

void tail_slot_print(char *text, size_t size, unsigned int label)
{
	const char *adjust = dwarf2out_do_frame() ? "\n\t.cfi_adjust_cfa_offset " : NULL;
	const unsigned int parts[] = {PCCE_TAIL_FRAME, PCCE_TAIL_LEFT - PCCE_TAIL_FRAME,
				      PCCE_SLOT_TAIL - PCCE_TAIL_LEFT};
	static const char kinds[] = {'a', 'f', 'l'};

	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t length;

		slot_print(text, size, kinds[i], label, parts[i]);
		length = strlen(text);
		text += length;
		size -= length;
		if (i + 1 == ARRAY_SIZE(parts))
			break;
		length = snprintf(text, size, "%s%s\n", adjust ? adjust : "",
				  !adjust ? ""
				  : i	  ? "-8"
					  : "8");
		gcc_assert(length < size);
		text += length;
		size -= length;
	}
}
