/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the place of the entry slot in a function of -fsplit-stack: behind the check of the stack.
 *
 *	f:	cmpq	%fs:112, %rsp
 *		jb	more
 *	slot:	.byte ...		the entry slot
 *		...
 *	more:	...			the stretch
 *		call	__morestack	calls the code behind the ret, on another stack
 *		ret
 *		jmp	slot
 *
 * The check must be at the function's symbol: gold and lld change it where the function calls code
 * that knows nothing of split stacks.  No call may skip the check, so each call is a push, and
 * __morestack has the state of the push.  In the stretch, the id is still that of any caller, so it
 * is one of stale code.  Without optimisation, GCC lets the stretch follow the check.
 *
 * With variable arguments, r11 holds their address from the check on, so it is kept in r10.
 */
#include "internal.h"

static rtx_insn *slot_place;
static bool keeps_r11;

static rtx_insn *find_return(void)
{
	for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn))
		if (NONJUMP_INSN_P(insn) && recog_memoized(insn) == CODE_FOR_split_stack_return)
			return insn;
	return NULL;
}

static bool is_straight(const rtx_insn *insn)
{
	return insn && !JUMP_P(insn) && !LABEL_P(insn) && !BARRIER_P(insn);
}

/* Returns the conditional jump that is the function's first one. */
static rtx_insn *find_check(void)
{
	rtx_insn *insn = get_insns();

	while (is_straight(insn))
		insn = NEXT_INSN(insn);
	return insn && JUMP_P(insn) && any_condjump_p(insn) && JUMP_LABEL(insn) ? insn : NULL;
}

/* Makes the jump lead to a new label behind insn, and the slot follow the label. */
static bool meet_behind(rtx_insn *insn, rtx_insn *jump)
{
	rtx_code_label *label = gen_label_rtx();

	slot_place = emit_label_after(label, insn);
	return redirect_jump(as_a<rtx_jump_insn *>(jump), label, 0);
}

/* start: where the code without __morestack goes on.  The paths meet at the label. */
static bool join_at(rtx_insn *label, rtx_insn *start, rtx_insn *jump)
{
	rtx_insn *insn = NEXT_INSN(start);

	for (; is_straight(insn); insn = NEXT_INSN(insn))
		keeps_r11 |= NONDEBUG_INSN_P(insn);
	return insn == label && JUMP_P(jump) && !(keeps_r11 && DECL_STATIC_CHAIN(cfun->decl)) &&
	       meet_behind(PREV_INSN(label), jump);
}

bool split_stack_begin(rtx_insn **stale, rtx_insn **stale_end)
{
	rtx_insn *check, *first, *last, *end, *label;
	bool follows, met;

	slot_place = NULL;
	keeps_r11 = false;
	first = last = flag_split_stack ? find_return() : NULL;
	check = first ? find_check() : NULL;
	if (!check)
		return false;
	while (is_straight(PREV_INSN(first)))
		first = PREV_INSN(first);
	while (is_straight(NEXT_INSN(last)))
		last = NEXT_INSN(last);
	end = NEXT_INSN(last);
	if (!end || !(LABEL_P(end) || simplejump_p(end)))
		return false;
	label = LABEL_P(end) ? end : JUMP_LABEL_AS_INSN(end);
	follows = PREV_INSN(first) == check;
	if (follows && JUMP_LABEL(check) == label) {
		met = meet_behind(last, check);
	} else {
		met = (follows || PREV_INSN(first) == JUMP_LABEL(check)) &&
		      join_at(label, follows ? JUMP_LABEL_AS_INSN(check) : check, end);
		last = end;
	}
	if (!met)
		slot_place = NULL;
	*stale = first;
	*stale_end = last;
	return met;
}

rtx_insn *split_stack_entry(bool *keep_r11)
{
	if (keep_r11)
		*keep_r11 = keeps_r11;
	return slot_place;
}
