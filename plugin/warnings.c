/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps -Werror from failing on what the raised limits for inlining bring (inlining.c).
 *
 * Some warnings follow the flow of values, and see more of it after inlining. At -O3 GCC warns of
 * more correct code than at -O2, and with the plugin -O2 inlines as far. So with -Werror these
 * warnings stay warnings: what the user sees is all there, and a build that passed passes. If he
 * names one (-Werror=array-bounds), it is an error as without the plugin.
 */
#include "internal.h"

static const char *const flow_warnings[] = {
	"Walloc-size-larger-than=",
	"Walloca-larger-than=",
	"Warray-bounds=",
	"Wdangling-pointer=",
	"Wformat-overflow=",
	"Wformat-truncation=",
	"Wfree-nonheap-object",
	"Winfinite-recursion",
	"Wmaybe-uninitialized",
	"Wmismatched-new-delete",
	"Wnonnull",
	"Wnull-dereference",
	"Wrestrict",
	"Wreturn-local-addr",
	"Wstringop-overflow=",
	"Wstringop-overread",
	"Wstringop-truncation",
	"Wuninitialized",
	"Wuse-after-free=",
	"Wvla-larger-than=",
	"Wzero-length-bounds",
	"Waggressive-loop-optimizations",
};

/* Did the user decide whether this warning is an error? */
static bool is_decided(const char *warning)
{
	size_t length = strcspn(warning, "=");

	for (unsigned int i = 1; i < save_decoded_options_count; i++) {
		const struct cl_decoded_option *o = &save_decoded_options[i];

		if (o->opt_index == OPT_Werror_ && o->arg &&
		    !strncmp(o->arg, warning + 1, length - 1) &&
		    (!o->arg[length - 1] || o->arg[length - 1] == '='))
			return true;
	}
	return false;
}

void warnings_keep(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(flow_warnings); i++) {
		/* An older GCC does not have all of them. */
		size_t option = find_opt(flow_warnings[i], CL_COMMON | CL_C | CL_CXX);

		if (option < cl_options_count && !is_decided(flow_warnings[i]))
			pcce_not_an_error(option);
	}
}
