/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the code in which the state is stale: from where a non-local jump arrives up to the return
 * of __pcce_restore.
 *
 * The jump arrives at the code labels of landing pads and of receivers, and at the after-slots of
 * returns_twice calls. From there a search follows all code that can be reached before a call of
 * __pcce_restore, through jumps. Each contiguous stretch becomes a record with PCCE_SITE_RESTORE.
 * The call of __pcce_restore finds the stretch's beginning in r11, which no call keeps. So a
 * decoder knows whose state it restores.
 *
 * Code that only one landing pad leads to is another stretch than code that several lead to. In the
 * first kind the call that the exception came out of is known, even if the function is active more
 * than once.
 *
 * Not covered is the code that runs before that, in the unwinder or in longjmp. It is the library's
 * code, and is reported under the state of the function that was left.
 */
#include "internal.h"

#define OF_SEVERAL (-1)

struct start {
	rtx_insn *insn;
	int pad; /* or OF_SEVERAL */
};

static auto_vec<struct start> *to_visit;
/* By INSN_UID: the landing pad that leads there, OF_SEVERAL, or 0: none. */
static int *leads_to;
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

/* Follows code from insn on. Where two paths meet, it continues to the end of both. */
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
		/* lea .Lpcce_b(%rip), %r11, as bytes that work in either assembler syntax */
		snprintf(text, sizeof(text), ".byte 0x4c, 0x8d, 0x1d; .long .Lpcce_b%u - . - 4",
			 site.label);
		asm_text_before(text, last, INSN_LOCATION(last));
	}
	snprintf(text, sizeof(text), ".Lpcce_a%u:", site.label);
	asm_text_after(text, last, INSN_LOCATION(last));
}

/* Does insn, which follows a stretch that begins with first, begin another one? */
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
