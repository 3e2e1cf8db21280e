/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes tail calls to leaf functions of the C library ordinary calls.
 *
 *	size_t f(const char *s)           size_t f(const char *s)
 *	{                                 {
 *		return strlen(s); // jmp          return strlen(s); // call, ret
 *	}                                 }
 *
 * A jump has no slots, so every call of f would have to be a push; with a call the site can be
 * "ext". A leaf function cannot come back to f. So the stack grows by one frame at most, and no
 * recursion that relies on tail calls makes it grow without limit. All other tail calls stay as
 * they are, as does one that must be a tail call.
 */
#include "internal.h"

static unsigned int tailcalls_execute(function *fun)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun)
	{
		for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			gcall *call = dyn_cast<gcall *>(gsi_stmt(gsi));
			tree decl;

			if (!call || !gimple_call_tail_p(call) || gimple_call_must_tail_p(call))
				continue;
			decl = gimple_call_fndecl(call);
			if (decl && callee_is_leaf(decl, callee_assembler_name(decl)))
				gimple_call_set_tail(call, false);
		}
	}
	return 0;
}

PCCE_PASS(tailcalls, gimple, "pcce_tailcalls", scope_instrumented, tailcalls_execute);
