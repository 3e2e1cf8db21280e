/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registers the passes of pcce_plugin.so, which makes GCC reserve room around each call and
 * describe it.
 *
 *	gcc -fplugin=.../pcce_plugin.so -c file.c
 *
 * The object file then also contains a slot of nops before and after each call. For each function
 * it has a block in the section .pcce_sites (include/pcce/sites.h). The block says where the slots
 * are and what the compiler knew of the calls. The object runs like any other: the slots do
 * nothing. pcce-encode, which sees the whole linked file, decides the numbers.
 *
 * The plugin has no arguments, and no option changes what it does. It changes how far GCC inlines
 * (inlining.c). With -flto it must be on the command lines of both compiler and linker.
 */
#include "internal.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int plugin_is_GPL_compatible;

static struct plugin_info info = {
	"1",
	"pcce: reserves a slot before and after each call, and describes the call in the "
	"section .pcce_sites.\n"
	"It takes no arguments.\n",
};

static bool check_version(const char *name, struct plugin_gcc_version *gcc)
{
	if (plugin_default_version_check(gcc, &gcc_version))
		return true;
	error("cannot load %s in GCC %s: it was built for GCC %s; build pcce with this compiler",
	      name, gcc->basever, gcc_version.basever);
	if (!strcmp(gcc->basever, gcc_version.basever))
		inform(UNKNOWN_LOCATION,
		       "the two compilers have one version number but are different builds");
	return false;
}

static bool check_arguments(const struct plugin_name_args *plugin)
{
	bool good = true;

	for (int i = 0; i < plugin->argc; i++) {
		if (!strcmp(plugin->argv[i].key, "hybrid") && !plugin->argv[i].value) {
			room_for_hybrid = true;
			continue;
		}
		error("cannot use the unknown argument %<-fplugin-arg-%s-%s%>: %s knows only "
		      "%<hybrid%>, without a value; remove it",
		      plugin->base_name, plugin->argv[i].key, plugin->base_name);
		good = false;
	}
	return good;
}

/* The options are known from here on. */
static void start_unit(void *, void *)
{
	if (!TARGET_64BIT || TARGET_X32)
		fatal_error(UNKNOWN_LOCATION,
			    "pcce: cannot instrument code of %qs: the plugin supports only x86-64; "
			    "remove the option or the plugin",
			    TARGET_X32 ? "-mx32" : "-m32");
}

/*
 * Makes GCC ignore -mtls-dialect=gnu2. The access through a TLS descriptor is an instruction that
 * keeps nearly all registers, r10 and r11 too, so there is no room for slots around it. But it
 * calls the dynamic linker, and through that a malloc of the program. __tls_get_addr, which
 * replaces it, has slots. The choice is a part of each function's options, which GCC has restored
 * when it compiles the function; with -flto they come from the object file.
 */
static void avoid_tls_descriptors(void *, void *)
{
	if (TARGET_GNU2_TLS)
		ix86_tls_dialect = TLS_DIALECT_GNU;
}

static void add_pass(const char *plugin, opt_pass *pass, const char *reference,
		     enum pass_positioning_ops where)
{
	struct register_pass_info pass_info = {pass, reference, 1, where};

	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass_info);
}

extern "C" EXPORTED int plugin_init(struct plugin_name_args *plugin, struct plugin_gcc_version *gcc)
{
	const char *name = plugin->base_name;

	if (!check_version(name, gcc) || !check_arguments(plugin))
		return 1;

	/* GCC copies the limits for each function right after it has loaded plugins. */
	inlining_raise_limits();

	register_callback(name, PLUGIN_INFO, NULL, &info);
	register_callback(name, PLUGIN_START_UNIT, start_unit, NULL);
	register_callback(name, PLUGIN_ALL_PASSES_START, recursion_find, NULL);
	register_callback(name, PLUGIN_ALL_PASSES_START, avoid_tls_descriptors, NULL);
	restore_register(name);

	/* "tailc" marks tail calls; later passes only obey the marks. */
	add_pass(name, make_pass_tailcalls(), "tailc", PASS_POS_INSERT_AFTER);

	/* "optimized" is the last clean-up of the flow graph before "expand": unreachable and
	 * merged landing pads are gone, and none will be added. */
	add_pass(name, make_pass_restore(), "optimized", PASS_POS_INSERT_AFTER);

	/* Types need this place, too: no later pass makes a call direct that was not, or the
	 * reverse. */
	add_pass(name, make_pass_types(), "optimized", PASS_POS_INSERT_AFTER);

	/* Before any pass asks whether the function is a leaf. */
	add_pass(name, make_pass_asm(), "vregs", PASS_POS_INSERT_BEFORE);

	/* The last point with a flow graph that has counts. From here on calls are neither copied
	 * nor moved. */
	add_pass(name, make_pass_freq(), "*free_cfg", PASS_POS_INSERT_BEFORE);

	/* After the machine-dependent reorganisation, variable tracking, and the conversion of
	 * exception regions to ranges, nothing separates a slot from its call. "shorten" must see
	 * all bytes. */
	add_pass(name, make_pass_slots(), "shorten", PASS_POS_INSERT_BEFORE);

	/* After slots, which looks for the function's first instruction. */
	add_pass(name, make_pass_clobbers(), "shorten", PASS_POS_INSERT_BEFORE);
	return 0;
}
