/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records how often each call is executed per entry of its function.
 *
 * The compiler estimates this, or a profile tells it. With a profile, the pass also records how
 * often the function was entered. The slots are made after the control flow graph, which holds
 * these counts, has been dropped. So this pass runs just before that, and stores the numbers by the
 * calls' UIDs.
 */
#include "internal.h"

#define ONCE 1024
/* The value for a guess of 0: such a guess results from paths that were joined or copied, and has
 * no meaning. */
#define UNKNOWN 64

static unsigned int *freqs;
static int n_freqs;
static uint64_t entry_count; /* 0: not known; else 1 more than the count */
static tree freqs_of;

static unsigned int relative_count(profile_count count, profile_count entry)
{
	bool known;
	sreal scale = count.to_sreal_scale(entry, &known);

	if (!known)
		return ONCE;
	scale *= ONCE;
	if (scale >= sreal(0x7fffffff))
		return 0xffffffffu;
	if (!scale.to_int() && !count.reliable_p())
		return UNKNOWN;
	/* What a profile has executed, however seldom, differs from what it has not. */
	if (!scale.to_int() && count.nonzero_p())
		return 1;
	return (unsigned int)scale.to_int();
}

void freq_forget(void)
{
	free(freqs);
	freqs = NULL;
	n_freqs = 0;
	entry_count = 0;
	freqs_of = NULL_TREE;
}

unsigned int freq_of(const rtx_insn *call)
{
	if (freqs_of != current_function_decl || INSN_UID(call) >= n_freqs)
		return ONCE;
	return freqs[INSN_UID(call)];
}

uint64_t freq_entry_count(void)
{
	return freqs_of == current_function_decl ? entry_count : 0;
}

static unsigned int freq_execute(function *fun)
{
	profile_count entry = ENTRY_BLOCK_PTR_FOR_FN(fun)->count;
	basic_block bb;
	rtx_insn *insn;

	freq_forget();
	n_freqs = get_max_uid() + 1;
	freqs = XCNEWVEC(unsigned int, n_freqs);
	freqs_of = fun->decl;
	/* A function that a profile has never entered has guesses, and 0 between functions. */
	if (entry.ipa().reliable_p())
		entry_count = 1 + (uint64_t)entry.ipa().to_gcov_type();
	FOR_EACH_BB_FN(bb, fun)
	{
		FOR_BB_INSNS(bb, insn)
		{
			if (CALL_P(insn) || asm_is_site(insn))
				freqs[INSN_UID(insn)] = relative_count(bb->count, entry);
		}
	}
	return 0;
}

PCCE_PASS(freq, rtl, "pcce_freq", scope_instrumented, freq_execute);
