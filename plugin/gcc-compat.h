/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Includes GCC's internals, and hides every difference between the GCC versions that it accepts
 * (those of build.mk, x86-64).
 */
#ifndef PCCE_GCC_COMPAT_H
#define PCCE_GCC_COMPAT_H

#include "gcc-plugin.h"
#include "plugin-version.h"

#if GCCPLUGIN_VERSION_MAJOR < PCCE_GCC_FIRST || GCCPLUGIN_VERSION_MAJOR > PCCE_GCC_LAST
#error "cannot build the pcce plugin: this GCC is not one of plugin/build.mk; name another with CC="
#endif

#include "tree.h"
#include "memmodel.h"
#include "tm_p.h"
#include "rtl.h"
#include "gimple.h"
#include "tree-pass.h"
#include "context.h"
#include "ssa.h"
#include "basic-block.h"
#include "cfghooks.h"
#include "cfganal.h"
#include "gimple-iterator.h"
#include "gimple-expr.h"
#include "gimplify.h"
#include "tree-cfg.h"
#include "tree-eh.h"
#include "tree-into-ssa.h"
#include "except.h"
#include "cgraph.h"
#include "graphds.h"
#include "varasm.h"
#include "output.h"
#include "debug.h"
#include "emit-rtl.h"
#include "rtl-iter.h"
#include "insn-config.h"
#include "recog.h"
#include "regs.h"
#include "function-abi.h"
#include "sreal.h"
#include "stringpool.h"
#include "attribs.h"
#include "diagnostic-core.h"
#include "diagnostic.h"
#include "toplev.h"
#include "target.h"
#include "options.h"
#include "opts.h"
#include "df.h"
#include "calls.h"
#include "expr.h"
#include "fold-const.h"
#include "builtins.h"

/* GCC 12 models vzeroupper as a call; GCC 11 does not. */
#ifdef FAKE_CALL_P
#define pcce_fake_call_p(insn) FAKE_CALL_P(insn)
#else
#define pcce_fake_call_p(insn) ((void)(insn), false)
#endif

#if GCCPLUGIN_VERSION_MAJOR < 12
static inline bool startswith(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}
#else
/* Headers of GCC 12 call copy_warning(), which GCC 11 lacks. It is weak, so that a GCC 11 that
 * loads this plugin reaches the version check and its message. */
__asm__(".weak _Z12copy_warningjj");
#endif

/* Keeps a warning a warning, also with -Werror. */
#if GCCPLUGIN_VERSION_MAJOR < 16
#define PCCE_KIND_OF_WARNING DK_WARNING
#else
#define PCCE_KIND_OF_WARNING diagnostics::kind::warning
#endif
#define pcce_not_an_error(option)                                                      \
	diagnostic_classify_diagnostic(global_dc, (int)(option), PCCE_KIND_OF_WARNING, \
				       UNKNOWN_LOCATION)

/*
 * A pass in C: PCCE_PASS(name, kind, "dump name", gate, execute) defines make_pass_<name>(). kind
 * is gimple or rtl. The functions are bool gate(function *) and unsigned int execute(function *).
 */
#define PCCE_PASS_TYPE_gimple GIMPLE_PASS
#define PCCE_PASS_TYPE_rtl RTL_PASS
#define PCCE_PASS(name, kind, dump_name, gate_fn, execute_fn)                            \
	static const pass_data name##_pass_data = {                                      \
		PCCE_PASS_TYPE_##kind, dump_name, OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0, \
	};                                                                               \
	namespace                                                                        \
	{                                                                                \
	class name##_pass : public kind##_opt_pass                                       \
	{                                                                                \
	      public:                                                                    \
		name##_pass() : kind##_opt_pass(name##_pass_data, g)                     \
		{                                                                        \
		}                                                                        \
		bool gate(function *fun) final override                                  \
		{                                                                        \
			return gate_fn(fun);                                             \
		}                                                                        \
		unsigned int execute(function *fun) final override                       \
		{                                                                        \
			return execute_fn(fun);                                          \
		}                                                                        \
	};                                                                               \
	}                                                                                \
	opt_pass *make_pass_##name(void)                                                 \
	{                                                                                \
		return new name##_pass();                                                \
	}                                                                                \
	struct pcce_pass_semicolon

#endif
