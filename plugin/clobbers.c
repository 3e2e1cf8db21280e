/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marks each function as changing r10 and r11.
 *
 * Slots change these two, and what slots call keeps all other registers. With -fipa-ra a caller
 * relies on what the compiler has seen of a callee of the same unit: that it leaves some of the
 * registers alone that calls may change. The compiler looks at the callee's instructions when it
 * prints them (collect_fn_hard_reg_usage() in GCC's final.c). Slots are only text among these. So
 * this pass adds two clobbers, which produce no code. It does so in all functions of the unit, also
 * in those that are not instrumented, since the caller has the slots around a call.
 *
 * The calls themselves are not marked, before registers are allocated. A register that a call names
 * is not available for any value that lives across it. A register that calls change by convention
 * can be saved around rare calls. Lua's interpreter keeps its stack's base in this way.
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
