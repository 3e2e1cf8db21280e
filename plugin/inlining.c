/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far GCC inlines.
 *
 * With its slots a call costs more: 26 bytes at least, and what is in them is executed at each
 * call.  So inlining pays for larger functions than without the plugin.  GCC has limits for those
 * who would rather have speed than small code, which -O3 sets; with the plugin -O2 has them, too.
 * Nothing else of -O3 is switched on, what the user has set stays, and other levels, -Os among
 * them, are as they were.
 *
 * A profile (-fprofile-use) belongs to the flow graphs that early inlining leaves.  It may come
 * from a build without the plugin, so there, and where one is made, early inlining is left alone.
 *
 * Figures: bench/README.md.  To see what is inlined: -fopt-info-inline.
 */
#include "internal.h"

/* What GCC's own default_options_table (opts.cc) has for -O3; the same in GCC 11 and 12. It has a
 * fifth limit, inline-heuristics-hint-percent, which brought nothing. */
#define AUTO_INSNS 30	 /* 15 */
#define SINGLE_INSNS 200 /* 70 */
#define EARLY_INSNS 14	 /* 6 */
#define MIN_SPEEDUP 15	 /* 30 */

void inlining_raise_limits(void)
{
	if (optimize < 2 || optimize_size)
		return;
	SET_OPTION_IF_UNSET(&global_options, &global_options_set, param_max_inline_insns_auto,
			    AUTO_INSNS);
	SET_OPTION_IF_UNSET(&global_options, &global_options_set, param_max_inline_insns_single,
			    SINGLE_INSNS);
	SET_OPTION_IF_UNSET(&global_options, &global_options_set, param_inline_min_speedup,
			    MIN_SPEEDUP);
	if (!profile_arc_flag && !flag_branch_probabilities)
		SET_OPTION_IF_UNSET(&global_options, &global_options_set,
				    param_early_inlining_insns, EARLY_INSNS);
}
