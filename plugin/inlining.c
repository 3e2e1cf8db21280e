/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Raises GCC's limits for inlining at -O2.
 *
 * With its slots a call costs more: 26 bytes at least, and their content is executed at each call.
 * So inlining pays for larger functions than without the plugin. GCC has limits for users who
 * prefer speed to small code, which -O3 sets. With the plugin -O2 has these limits, too. The plugin
 * enables nothing else of -O3. What the user has set stays, and other levels, -Os among them, are
 * unchanged.
 *
 * A profile (-fprofile-use) belongs to the flow graphs that early inlining leaves, and may come
 * from a build without the plugin. So early inlining stays as it is where a profile is made or
 * used.
 *
 * bench/README.md has figures. -fopt-info-inline shows what is inlined.
 */
#include "internal.h"

/* The values of -O3 in GCC's default_options_table (opts.cc), equal in GCC 11 to 16; the comments
 * have those of -O2. A fifth limit, inline-heuristics-hint-percent, brought nothing. */
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
	if (optimize == 2)
		warnings_keep();
	if (!profile_arc_flag && !flag_branch_probabilities)
		SET_OPTION_IF_UNSET(&global_options, &global_options_set,
				    param_early_inlining_insns, EARLY_INSNS);
}
