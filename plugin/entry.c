/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits the entry slot: nops at the beginning of a function, for pcce-encode to fill.
 *
 *	f:			all others enter here
 *		[endbr64]
 *	.Lpcce_n1: .byte ...	16 bytes of nops
 *		...		pcce-encode sends direct calls here
 *
 * A function that callers outside the call graph may enter (through a pointer, from uninstrumented
 * code) sets the id in this slot. Such a caller has an id that has no meaning here; the id that the
 * slot sets differs from those that direct calls bring.
 *
 * The slot comes before every label of the function, so no loop passes through it. It has no line
 * number: debuggers take a second one as the end of the prologue.
 */
#include "internal.h"

/* As bytes that work in either assembler syntax. */
#define MOVE_R11_TO_R10 ".byte 0x4d,0x89,0xda"
#define MOVE_R10_TO_R11 ".byte 0x4d,0x89,0xd3"

static bool calls_itself(function *fun)
{
	struct callee callee;

	for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
		if (!CALL_P(insn) || pcce_fake_call_p(insn))
			continue;
		callee_of(insn, &callee);
		if (callee.decl == fun->decl)
			return true;
	}
	return false;
}

static bool is_endbr_insn(rtx_insn *insn)
{
	return insn && NONJUMP_INSN_P(insn) && recog_memoized(insn) == CODE_FOR_nop_endbr;
}

/* DECL_UID of the last function that reads its caller's frame; functions are compiled one by
 * one. */
static unsigned int looks_back;

void entry_looks_back(function *fun)
{
	looks_back = DECL_UID(fun->decl);
}

bool entry_has_stack_arguments(function *fun)
{
	return fun->stdarg || maybe_ne(crtl->args.size, 0);
}

bool room_for_hybrid;

bool entry_needs_frame_of_caller(function *fun)
{
	return entry_has_stack_arguments(fun) || looks_back == DECL_UID(fun->decl);
}

bool entry_allows_frame(function *fun)
{
	return looks_back != DECL_UID(fun->decl) && !flag_split_stack &&
	       PREFERRED_STACK_BOUNDARY <= 128 && fun->machine->call_abi == SYSV_ABI &&
	       fun->machine->function_return_type == indirect_branch_keep;
}

bool entry_is_fixed(function *fun)
{
	return split_stack_entry(NULL) || (crtl->profile && flag_fentry) || crtl->patch_area_size ||
	       lookup_attribute("ms_hook_prologue", DECL_ATTRIBUTES(fun->decl));
}

unsigned int entry_length(function *fun, unsigned int *block_flags)
{
	cgraph_node *node = cgraph_node::get(fun->decl);

	if (node && node->local && !room_for_hybrid && !calls_itself(fun) &&
	    !split_stack_entry(NULL))
		return 0;
	if (entry_is_fixed(fun))
		*block_flags |= PCCE_BLOCK_FIXED;
	if (!callee_replaces_leaf(fun->decl, callee_assembler_name(fun->decl)))
		return PCCE_SLOT_ENTRY;
	*block_flags |= PCCE_BLOCK_LEAF;
	if (entry_needs_frame_of_caller(fun))
		*block_flags |= PCCE_BLOCK_STACK;
	return PCCE_SLOT_ENTRY_LEAF;
}

void entry_emit(unsigned int label, unsigned int length)
{
	rtx_insn *first = next_nonnote_nondebug_insn(get_insns()), *place;
	char text[SLOT_TEXT_BYTES(PCCE_SLOT_ENTRY_LEAF)];
	bool keep_r11;

	gcc_assert(NOTE_P(get_insns()) || is_endbr_insn(get_insns()));
	slot_print(text, sizeof(text), 'n', label, length);
	place = split_stack_entry(&keep_r11);
	if (!place) {
		asm_text_after(text, is_endbr_insn(first) ? first : get_insns(), UNKNOWN_LOCATION);
		return;
	}
	if (keep_r11)
		place = asm_text_after(MOVE_R11_TO_R10, place, UNKNOWN_LOCATION);
	place = asm_text_after(text, place, UNKNOWN_LOCATION);
	if (keep_r11)
		asm_text_after(MOVE_R10_TO_R11, place, UNKNOWN_LOCATION);
}
