/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each function says that it changes r10 and r11.
 *
 * Slots do, and what they call keeps all other registers.  With -fipa-ra a caller relies on what
 * the compiler has seen of a callee of the same unit: that it leaves alone some of the registers
 * that calls may change.  It looks at the callee's instructions when it prints them
 * (collect_fn_hard_reg_usage() in GCC's final.c), among which slots are only text; so here are two
 * that stand for no code.  In all functions of the unit, also those that are not instrumented,
 * since it is the caller that has the slots around a call.
 *
 * Not at the calls, before registers are allocated: what a call names is closed to all that lives
 * across it, while what calls change by convention can be saved around those that are rare.  Lua's
 * interpreter keeps its stack's base so.
 */
#include "internal.h"

static bool any_function(function *)
{
	return true;
}

static unsigned int clobbers_execute(function *)
{
	rtx_insn *first = get_insns();

	emit_insn_after(gen_rtx_CLOBBER(VOIDmode, gen_rtx_REG(DImode, R10_REG)), first);
	emit_insn_after(gen_rtx_CLOBBER(VOIDmode, gen_rtx_REG(DImode, R11_REG)), first);
	return 0;
}

PCCE_PASS(clobbers, rtl, "pcce_clobbers", any_function, clobbers_execute);
