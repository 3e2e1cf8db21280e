/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits the slots: nops directly before and directly after each call, for pcce-encode to fill.
 *
 *	int f(int x)              f:	subq	$8, %rsp
 *	{                         .Lpcce_b1:	.byte 0x66,0xf,...	13 bytes of nops
 *		return g(x) + 1;  	call	g
 *	}                         .Lpcce_a1:	.byte 0x66,0xf,...	13 bytes of nops
 *	                          	addl	$1, %eax
 *	                          	...
 *
 * The pass runs so late that no other one can move, duplicate or separate what it emits, but before
 * the lengths of branches are estimated. It reads the insns in order. For each call
 *
 *  - callee_of() finds what is called,
 *  - choose_flags() and choose_sizes() decide on the record,
 *  - emit_slots() emits the two slots, or bare labels where there is no slot.
 *
 * Flags are dead at both places, by the definition of a call. r10 and r11 are free before a call
 * unless the call itself uses them, and always free after it (clobbers.c).
 *
 * Three kinds of call get no slots: calls that are none (vzeroupper); the call of __morestack,
 * which returns to the second instruction after itself and computes that address; and calls of
 * __pcce_restore. For debugging: look for Lpcce_ in the output of -S.
 */
#include "internal.h"
#include <pcce/abi.h>

#define AS_TEXT(...) AS_TEXT_(__VA_ARGS__)
#define AS_TEXT_(...) #__VA_ARGS__

/* Functions of this unit that tail-call through a pointer, directly or by tail calls of each other,
 * by DECL_UID. A call of one is mostly a push. Callees are compiled before their callers, except in
 * cycles. */
static bitmap_obstack tail_out_memory;
static bitmap tail_out;

static bool mentions_scratch(const_rtx x)
{
	subrtx_iterator::array_type array;

	FOR_EACH_SUBRTX(iter, array, x, NONCONST)
	{
		const_rtx part = *iter;

		if (!part) /* the end of a list */
			continue;
		if (GET_CODE(part) == CLOBBER)
			iter.skip_subrtxes();
		else if (REG_P(part) && REGNO(part) <= R11_REG && END_REGNO(part) > R10_REG)
			return true;
	}
	return false;
}

/* Does the call use r10 or r11, for its target, the static chain or an argument? */
static bool uses_scratch(rtx_insn *insn)
{
	return mentions_scratch(PATTERN(insn)) ||
	       (CALL_P(insn) && CALL_INSN_FUNCTION_USAGE(insn) &&
		mentions_scratch(CALL_INSN_FUNCTION_USAGE(insn)));
}

static bool in_shared_library(void)
{
	return flag_pic && !flag_pie;
}

static unsigned int choose_flags(rtx_insn *insn, const struct callee *callee)
{
	unsigned int flags = 0;

	if (callee->indirect)
		flags |= PCCE_SITE_INDIRECT;
	else if (callee->tls)
		flags |= PCCE_SITE_TLS | PCCE_SITE_LEAF;
	else if (callee_is_leaf(callee->decl, callee->name))
		flags |= PCCE_SITE_LEAF;
	if (callee_throws(callee->name))
		flags |= PCCE_SITE_THROWS;
	if (CALL_P(insn) && SIBLING_CALL_P(insn))
		flags |= PCCE_SITE_TAIL;
	if (find_reg_note(insn, REG_NORETURN, NULL_RTX))
		flags |= PCCE_SITE_NORETURN;
	if (find_reg_note(insn, REG_SETJMP, NULL_RTX))
		flags |= PCCE_SITE_RETURNS_TWICE;
	if (uses_scratch(insn))
		flags |= PCCE_SITE_SPILL_REGS;
	if (in_shared_library())
		flags |= PCCE_SITE_PIC;
	return flags;
}

static void note_tail_call(const struct callee *callee)
{
	if (!callee->indirect &&
	    !(callee->decl && tail_out && bitmap_bit_p(tail_out, DECL_UID(callee->decl))))
		return;
	if (!tail_out) {
		bitmap_obstack_initialize(&tail_out_memory);
		tail_out = BITMAP_ALLOC(&tail_out_memory);
	}
	bitmap_set_bit(tail_out, DECL_UID(current_function_decl));
}

/* Returns the size of the before-slot of a call that is probably a push, or certainly one, done
 * inline; 0 for other calls. */
static unsigned int inline_push_size(const struct site *site, const struct callee *callee)
{
	const bool pic = site->flags & PCCE_SITE_PIC;
	const unsigned int direct = pic ? PCCE_SLOT_PUSH_PIC : PCCE_SLOT_PUSH_CLEAR;

	if (site->flags & PCCE_SITE_NORETURN || site->cold)
		return 0;
	if (site->flags & PCCE_SITE_INDIRECT)
		return pic					    ? PCCE_SLOT_INDIRECT_PIC
		       : site->type && site->freq >= PCCE_FREQ_LOOP ? PCCE_SLOT_TYPED
								    : PCCE_SLOT_PUSH;
	if (site->flags & PCCE_SITE_LEAF || !callee->decl)
		return 0;
	if (tail_out && bitmap_bit_p(tail_out, DECL_UID(callee->decl)))
		return direct;
	return recursion_closes_cycle(current_function_decl, callee->decl) ? direct : 0;
}

static void choose_sizes(struct site *site, const struct callee *callee)
{
	unsigned int push = inline_push_size(site, callee);
	bool pic = site->flags & PCCE_SITE_PIC;

	if (site->flags & PCCE_SITE_TAIL) {
		if (tail_slot_fits(cfun, site))
			site->after_len = PCCE_SLOT_TAIL;
		return;
	}
	site->before_len = site->after_len = pic ? PCCE_SLOT_DIRECT_PIC : PCCE_SLOT_DIRECT;
	if (push) {
		site->before_len = push;
		site->after_len = pic ? PCCE_SLOT_POP_PIC : PCCE_SLOT_POP;
	} else if (pic && (site->flags & PCCE_SITE_LEAF)) {
		site->before_len = PCCE_SLOT_LEAF_PIC_BEFORE;
	}
	if (site->flags & PCCE_SITE_SPILL_REGS)
		site->before_len += PCCE_SLOT_SPILL_REGS;
	if (room_for_hybrid) {
		site->before_len += PCCE_SLOT_HYBRID;
		site->after_len += PCCE_SLOT_HYBRID;
	}
	if (site->flags & PCCE_SITE_NORETURN)
		site->after_len = 0;
}

/* Returns the last insn that must stay directly after the call: notes about variables during the
 * call, and the endbr64 at which a second return arrives. */
static rtx_insn *last_of_call(rtx_insn *insn)
{
	rtx_insn *last = insn, *next;

	while ((next = NEXT_INSN(last)) && NOTE_P(next) && NOTE_DURING_CALL_P(next))
		last = next;
	next = next_nonnote_nondebug_insn(last);
	if (next && NONJUMP_INSN_P(next) && recog_memoized(next) == CODE_FOR_nop_endbr)
		last = next;
	return last;
}

static void emit_slots(rtx_insn *insn, const struct site *site)
{
	char text[SLOT_TEXT_BYTES(SLOT_BYTES_MAX)];

	slot_print(text, sizeof(text), 'b', site->label, site->before_len);
	asm_text_before(text, insn, INSN_LOCATION(insn));
	if (site->flags & PCCE_SITE_TAIL && site->after_len)
		tail_slot_print(text, sizeof(text), site->label);
	else
		slot_print(text, sizeof(text), 'a', site->label, site->after_len);
	rtx_insn *last = last_of_call(insn);
	rtx_insn *after = asm_text_after(text, last, INSN_LOCATION(insn));

	/* A jump arrives at the endbr64, if there is one. */
	if (site->flags & PCCE_SITE_RETURNS_TWICE)
		stale_start(NONJUMP_INSN_P(last) ? last : after, 0);
}

/* Does the unwinder always land at the pad? It searches the pad's region and those around it. */
static bool always_lands(eh_landing_pad pad)
{
	for (eh_region region = pad->region; region && region->type != ERT_MUST_NOT_THROW;
	     region = region->outer) {
		if (region->type == ERT_CLEANUP)
			return true;
		if (region->type != ERT_TRY)
			continue;
		for (eh_catch c = region->u.eh_try.first_catch; c; c = c->next_catch)
			if (!c->type_list)
				return true;
	}
	return false;
}

static void set_landing_pad(struct site *site, rtx_insn *insn)
{
	eh_landing_pad pad = get_eh_landing_pad_from_rtx(insn);

	if (!pad)
		return;
	site->pad = pad->index;
	site->flags |= PCCE_SITE_HAS_PAD | (always_lands(pad) ? PCCE_SITE_LANDS : 0);
}

static void add_site(rtx_insn *insn, const struct callee *callee, bool cold)
{
	struct site site;

	memset(&site, 0, sizeof(site));
	site.label = sites_new_label();
	site.cold = cold;
	site.flags = choose_flags(insn, callee);
	set_landing_pad(&site, insn);
	site.freq = freq_of(insn);
	site.location = INSN_LOCATION(insn);
	if (site.flags & PCCE_SITE_INDIRECT)
		site.type = types_of_call(site.location);
	site.callee = callee->decl ? (const void *)callee->decl : (const void *)callee->name;
	if (site.flags & PCCE_SITE_TAIL)
		note_tail_call(callee);
	choose_sizes(&site, callee);
	sites_add(&site);
	emit_slots(insn, &site);
}

static void handle_call(rtx_insn *insn, bool cold)
{
	struct callee callee;

	callee_of(insn, &callee);
	if (stale_is_restore(&callee) || (callee.name && startswith(callee.name, "__morestack")))
		return;
	add_site(insn, &callee, cold);
}

static void handle_asm(rtx_insn *insn, bool cold)
{
	struct callee callee;

	memset(&callee, 0, sizeof(callee));
	callee.indirect = true;
	add_site(insn, &callee, cold);
}

/* Is the call one of __morestack through a register, in the large code model? */
static bool is_morestack(rtx_insn *insn)
{
	rtx_insn *next = next_nonnote_nondebug_insn(insn);

	return flag_split_stack && next && NONJUMP_INSN_P(next) &&
	       recog_memoized(next) == CODE_FOR_split_stack_return;
}

/* Marks landing pads and the labels of non-local jumps as starts of stale code. */
static void start_at_labels(function *fun)
{
	eh_landing_pad pad;
	rtx_insn_list *handler;

	if (fun->eh)
		for (int i = 1; vec_safe_iterate(fun->eh->lp_array, i, &pad); i++)
			if (pad && pad->landing_pad && LABEL_P(pad->landing_pad)) {
				rtx_insn *mark = asm_text_after(".byte " AS_TEXT(PCCE_LANDING_MARK),
								pad->landing_pad, UNKNOWN_LOCATION);

				stale_start(mark, i);
			}
	for (handler = nonlocal_goto_handler_labels; handler; handler = handler->next())
		if (LABEL_P(handler->insn()))
			stale_start(handler->insn(), 0);
}

static unsigned int block_flags(tree decl)
{
	unsigned int flags = 0;

	if (TREE_PUBLIC(decl) && DECL_VISIBILITY(decl) != VISIBILITY_HIDDEN &&
	    DECL_VISIBILITY(decl) != VISIBILITY_INTERNAL)
		flags |= PCCE_BLOCK_PUBLIC;
	return flags;
}

static bool has_restore(void)
{
	struct callee callee;

	for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
		if (!CALL_P(insn) || pcce_fake_call_p(insn))
			continue;
		callee_of(insn, &callee);
		if (stale_is_restore(&callee))
			return true;
	}
	return false;
}

static void add_stale_code(rtx_insn *first, rtx_insn *last)
{
	struct site site;
	char text[32];

	memset(&site, 0, sizeof(site));
	site.label = sites_new_label();
	site.flags = PCCE_SITE_RESTORE;
	sites_add(&site);
	snprintf(text, sizeof(text), ".Lpcce_b%u:", site.label);
	asm_text_before(text, first, UNKNOWN_LOCATION);
	snprintf(text, sizeof(text), ".Lpcce_a%u:", site.label);
	asm_text_after(text, last, UNKNOWN_LOCATION);
}

static unsigned int slots_execute(function *fun)
{
	unsigned int flags = block_flags(fun->decl);
	bool cold = false, restores = has_restore();
	rtx_insn *insn, *next;

	if (asm_is_in_function())
		flags |= PCCE_BLOCK_ASM;

	sites_begin();
	if (split_stack_begin(&insn, &next))
		add_stale_code(insn, next);
	stale_begin();
	for (insn = get_insns(); insn; insn = next) {
		next = NEXT_INSN(insn);
		if (NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS)
			cold = true;
		if (CALL_P(insn) && !pcce_fake_call_p(insn) && !is_morestack(insn))
			handle_call(insn, cold);
		else if (asm_is_site(insn))
			handle_asm(insn, cold);
	}
	if (restores) {
		start_at_labels(fun);
		flags |= PCCE_BLOCK_RESTORES;
	}
	stale_finish(restores);
	gate_emit(fun, sites_finish(fun, flags));
	freq_forget();
	return 0;
}

PCCE_PASS(slots, rtl, "pcce_slots", scope_instrumented, slots_execute);
