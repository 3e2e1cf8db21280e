/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the state is stale: from the points at which a non-local jump arrives up to
 * the return of __pcce_restore.
 *
 * The points are the code labels of landing pads and of receivers, and the
 * after-slots of returns_twice calls.  All code that can be reached from there
 * before a call of __pcce_restore is followed, through jumps, and each contiguous
 * stretch of it becomes a record with PCCE_SITE_RESTORE.  The call of __pcce_restore itself finds the stretch's
 * beginning in r11, which no call keeps, so that it is known for whom it works.
 *
 * Not covered: what runs before the code gets there, in the unwinder or in
 * longjmp.  That is the library's code, and is reported under the state of the
 * function that was left.
 */
#include "internal.h"

static sbitmap reached; /* by INSN_UID */
static auto_vec<rtx_insn *> *to_visit;

bool stale_is_restore(const struct callee *callee)
{
	return callee->name && !strcmp(callee->name, PCCE_RESTORE_FUNCTION);
}

void stale_begin(void)
{
	to_visit = new auto_vec<rtx_insn *>();
}

void stale_start(rtx_insn *insn)
{
	to_visit->safe_push(insn);
}

static bool is_restore_call(rtx_insn *insn)
{
	struct callee callee;

	if (!CALL_P(insn) || pcce_fake_call_p(insn))
		return false;
	callee_of(insn, &callee);
	return stale_is_restore(&callee);
}

static bool ends_here(rtx_insn *insn)
{
	return BARRIER_P(insn) || is_restore_call(insn) || (CALL_P(insn) && SIBLING_CALL_P(insn)) ||
	       (NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS);
}

static void follow(rtx_insn *insn)
{
	for (; insn && !bitmap_bit_p(reached, INSN_UID(insn)); insn = NEXT_INSN(insn)) {
		bitmap_set_bit(reached, INSN_UID(insn));
		if (JUMP_P(insn) && JUMP_LABEL(insn) && !ANY_RETURN_P(JUMP_LABEL(insn)))
			to_visit->safe_push(JUMP_LABEL_AS_INSN(insn));
		if (ends_here(insn))
			return;
	}
}

static void add_stretch(rtx_insn *first, rtx_insn *last, bool cold)
{
	struct site site;
	char text[64];

	memset(&site, 0, sizeof(site));
	site.label = sites_new_label();
	site.cold = cold;
	site.flags = PCCE_SITE_RESTORE;
	site.location = INSN_LOCATION(last);
	sites_add(&site);
	snprintf(text, sizeof(text), ".Lpcce_b%u:", site.label);
	asm_text_before(text, first, INSN_LOCATION(first));
	if (is_restore_call(last)) {
		/* lea .Lpcce_b(%rip), %r11, in whichever syntax the rest is */
		snprintf(text, sizeof(text), ".byte 0x4c, 0x8d, 0x1d; .long .Lpcce_b%u - . - 4", site.label);
		asm_text_before(text, last, INSN_LOCATION(last));
	}
	snprintf(text, sizeof(text), ".Lpcce_a%u:", site.label);
	asm_text_after(text, last, INSN_LOCATION(last));
}

static void add_stretches(void)
{
	rtx_insn *first = NULL, *last = NULL, *next;
	bool cold = false;

	for (rtx_insn *insn = get_insns(); insn; insn = next) {
		bool is_switch = NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS;
		bool is_code = NONDEBUG_INSN_P(insn);

		next = NEXT_INSN(insn);
		if (is_code && bitmap_bit_p(reached, INSN_UID(insn))) {
			first = first ? first : insn;
			last = insn;
			if (!is_restore_call(insn) && next)
				continue;
		} else if (!is_switch && !is_code && next) {
			continue;
		}
		if (first)
			add_stretch(first, last, cold);
		first = NULL;
		cold |= is_switch;
	}
}

void stale_finish(bool restores)
{
	if (restores && !to_visit->is_empty()) {
		reached = sbitmap_alloc(get_max_uid() + 1);
		bitmap_clear(reached);
		while (!to_visit->is_empty())
			follow(to_visit->pop());
		add_stretches();
		sbitmap_free(reached);
	}
	delete to_visit;
	to_visit = NULL;
}
