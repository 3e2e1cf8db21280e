/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the state is stale: from the points at which a non-local jump arrives up to
 * the return of __pcce_restore.
 *
 * The points are the code labels of landing pads and of receivers, and the
 * after-slots of returns_twice calls.  All code that can be reached from there
 * before a call of __pcce_restore is followed, through jumps, and each contiguous
 * stretch of it becomes a record with PCCE_SITE_RESTORE.  The call of __pcce_restore itself finds
 * the stretch's beginning in r11, which no call keeps, so that it is known for whom it works.
 *
 * Code that only one landing pad leads to is a stretch apart from what several lead to: there it is
 * known which call of the function the exception has come out of, though it may be under way more
 * than once.
 *
 * Not covered: what runs before the code gets there, in the unwinder or in
 * longjmp.  That is the library's code, and is reported under the state of the
 * function that was left.
 */
#include "internal.h"

#define OF_SEVERAL (-1)

struct start {
	rtx_insn *insn;
	int pad; /* or OF_SEVERAL */
};

static auto_vec<struct start> *to_visit;
static int *leads_to; /* by INSN_UID: the landing pad that leads there, OF_SEVERAL, or 0: nothing
			 does */
static sbitmap pad_starts; /* by INSN_UID */

bool stale_is_restore(const struct callee *callee)
{
	return callee->name && !strcmp(callee->name, PCCE_RESTORE_FUNCTION);
}

void stale_begin(void)
{
	to_visit = new auto_vec<struct start>();
}

void stale_start(rtx_insn *insn, int pad)
{
	struct start start = {insn, pad ? pad : OF_SEVERAL};

	to_visit->safe_push(start);
}

static bool is_restore_call(rtx_insn *insn)
{
	struct callee callee;

	if (!CALL_P(insn) || pcce_fake_call_p(insn))
		return false;
	callee_of(insn, &callee);
	return stale_is_restore(&callee);
}

static bool ends_stretch(rtx_insn *insn)
{
	return BARRIER_P(insn) || is_restore_call(insn) || (CALL_P(insn) && SIBLING_CALL_P(insn)) ||
	       (NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS);
}

/* Where one way meets another, it goes on to the end of both. */
static void follow_code(rtx_insn *insn, int pad)
{
	for (; insn; insn = NEXT_INSN(insn)) {
		int *now = &leads_to[INSN_UID(insn)];

		if (*now == pad || *now == OF_SEVERAL)
			return;
		*now = *now ? OF_SEVERAL : pad;
		if (JUMP_P(insn) && JUMP_LABEL(insn) && !ANY_RETURN_P(JUMP_LABEL(insn))) {
			struct start target = {JUMP_LABEL_AS_INSN(insn), pad};

			to_visit->safe_push(target);
		}
		if (ends_stretch(insn))
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
	site.pad = MAX(leads_to[INSN_UID(first)], 0);
	site.is_pad = bitmap_bit_p(pad_starts, INSN_UID(first));
	site.location = INSN_LOCATION(last);
	sites_add(&site);
	snprintf(text, sizeof(text), ".Lpcce_b%u:", site.label);
	asm_text_before(text, first, INSN_LOCATION(first));
	if (is_restore_call(last)) {
		/* lea .Lpcce_b(%rip), %r11, in whichever syntax the rest is */
		snprintf(text, sizeof(text), ".byte 0x4c, 0x8d, 0x1d; .long .Lpcce_b%u - . - 4",
			 site.label);
		asm_text_before(text, last, INSN_LOCATION(last));
	}
	snprintf(text, sizeof(text), ".Lpcce_a%u:", site.label);
	asm_text_after(text, last, INSN_LOCATION(last));
}

/* insn follows a stretch that begins with first. */
static bool begins_another(rtx_insn *first, rtx_insn *insn)
{
	return leads_to[INSN_UID(insn)] != leads_to[INSN_UID(first)] ||
	       bitmap_bit_p(pad_starts, INSN_UID(insn));
}

static void add_stretches(void)
{
	rtx_insn *first = NULL, *last = NULL, *next;
	bool cold = false;

	for (rtx_insn *insn = get_insns(); insn; insn = next) {
		bool is_switch = NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS;
		bool is_code = NONDEBUG_INSN_P(insn);

		next = NEXT_INSN(insn);
		if (is_code && leads_to[INSN_UID(insn)]) {
			if (first && begins_another(first, insn)) {
				add_stretch(first, last, cold);
				first = NULL;
			}
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
		unsigned int i;
		struct start *start;

		leads_to = XCNEWVEC(int, get_max_uid() + 1);
		pad_starts = sbitmap_alloc(get_max_uid() + 1);
		bitmap_clear(pad_starts);
		FOR_EACH_VEC_ELT(*to_visit, i, start)
		if (start->pad != OF_SEVERAL)
			bitmap_set_bit(pad_starts, INSN_UID(start->insn));
		while (!to_visit->is_empty()) {
			struct start next = to_visit->pop();

			follow_code(next.insn, next.pad);
		}
		add_stretches();
		sbitmap_free(pad_starts);
		free(leads_to);
	}
	delete to_visit;
	to_visit = NULL;
}
