/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decides which functions are instrumented.
 *
 * These get no slots and no block:
 *
 *  - functions with __attribute__((no_instrument_function)): the user said so;
 *  - naked functions: every byte of their code is the user's;
 *  - IFUNC resolvers: in a static program they run before the thread pointer is set, and a slot
 *    would access memory through it;
 *  - interrupt handlers and functions without caller-saved registers: a slot may change r10 and
 *    r11, which these functions must keep;
 *  - all functions of a unit in which the compiler may not use r10 or r11 freely (global register
 *    variables, -ffixed-r11 and similar).
 */
#include "internal.h"

static bool has_attribute(tree decl, const char *name)
{
	return lookup_attribute(name, DECL_ATTRIBUTES(decl)) ||
	       lookup_attribute(name, TYPE_ATTRIBUTES(TREE_TYPE(decl)));
}

static bool is_ifunc_resolver(tree decl)
{
	cgraph_node *node = cgraph_node::get(decl);
	ipa_ref *ref;

	if (!node)
		return false;
	if (node->ifunc_resolver)
		return true;
	FOR_EACH_ALIAS(node, ref)
	{
		if (ref->referring->ifunc_resolver)
			return true;
	}
	return false;
}

/* Slots may change r10 and r11 before a call that does not use them, and after every call. */
static bool scratch_registers_taken(void)
{
	static bool warned;
	unsigned int regs[] = {R10_REG, R11_REG};

	for (unsigned int i = 0; i < ARRAY_SIZE(regs); i++) {
		if (!global_regs[regs[i]] && !fixed_regs[regs[i]] &&
		    default_function_abi.clobbers_full_reg_p(regs[i]))
			continue;
		if (!warned)
			inform(UNKNOWN_LOCATION,
			       "pcce: cannot instrument this unit: register %qs is reserved in it, "
			       "and slots use that register; leave the register to the compiler",
			       reg_names[regs[i]]);
		warned = true;
		return true;
	}
	return false;
}

bool scope_instrumented(function *fun)
{
	tree decl = fun->decl;

	/* DECL_NO_INSTRUMENT_FUNCTION_ENTRY_EXIT does not help: GCC sets it on all functions unless
	 * -pg or similar is given. */
	if (has_attribute(decl, "no_instrument_function") || has_attribute(decl, "naked") ||
	    has_attribute(decl, "interrupt") || has_attribute(decl, "no_caller_saved_registers"))
		return false;
	if (is_ifunc_resolver(decl))
		return false;
	return !scratch_registers_taken();
}
