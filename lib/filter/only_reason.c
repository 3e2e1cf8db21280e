/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See only_reason.h. */
#include <stdio.h>
#include <string.h>
#include "base/similar.h"
#include "filter/only_reason.h"
#include "symbols/find_function.h"

struct wanted {
	const struct expression *e;
	unsigned int part;
};

static bool is_wanted(void *ctx, const char *name)
{
	const struct wanted *w = ctx;

	return expression_match(w->e, name) >> w->part & 1;
}

/* Returns the first module in which a search finds the function, or NULL. */
static const struct record_module *module_that_has(const struct record_modules *m, struct wanted *w,
						   bool (*search)(int, find_function_name *,
								  void *))
{
	for (uint32_t i = 0; i < record_modules_count(m); i++) {
		const struct record_module *module = record_modules_get(m, i);

		if (module->elf && module->fd >= 0 && search(module->fd, is_wanted, w))
			return module;
	}
	return NULL;
}

static void add_similar(const struct record_modules *m, const char *name, char *list, size_t size)
{
	*list = 0;
	for (uint32_t i = 0; i < record_modules_count(m); i++) {
		const struct record_module *module = record_modules_get(m, i);
		const struct encoding_table *t = &module->table;

		for (uint64_t k = 0; module->instrumented && k < t->head->funcs.count; k++)
			if (strlen(list) < size / 2)
				similar_add(list, size, name,
					    encoding_table_string(t, t->funcs[k].name));
	}
}

/* No instrumented function has this name. */
static void explain_unknown(const struct record_modules *m, struct wanted *w, char *text,
			    size_t size)
{
	const char *name = w->e->name[w->part];
	const struct record_module *module = module_that_has(m, w, find_function_inlined);
	char list[128];

	if (module && module->instrumented) {
		snprintf(text, size,
			 "'%s' was inlined into its callers everywhere in %s; name a caller, or "
			 "build it with __attribute__((noinline))",
			 name, module->path);
		return;
	}
	module = module_that_has(m, w, find_function_symbol);
	if (module) {
		snprintf(text, size, "'%s' is a function of %s, %s", name, module->path,
			 module->instrumented ? "but is not instrumented itself"
					      : "which was not built with pcce; name its caller");
		return;
	}
	add_similar(m, name, list, sizeof(list));
	snprintf(text, size, "no function is called '%s'%s%s%s", name,
		 *list ? "; similar names are: " : "", list,
		 strchr(name, '<') ? "; spaces around < may be missing" : "");
}

/* The expression that also continues in creation contexts. */
static void write_crossing(const struct expression *e, char *text, size_t size)
{
	size_t at = 0;

	for (unsigned int i = 0; i < e->n && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%s", e->name[i],
				       i + 1 == e->n ? ""
				       : e->any[i]   ? " <<< "
						     : " < ");
}

/* Instrumented functions have this name. No context of a sample has one of them. */
static void explain_unseen(const struct record_modules *m, struct wanted *w, char *text,
			   size_t size)
{
	const struct record_module *module = module_that_has(m, w, find_function_inlined);

	snprintf(text, size, "no sample was in '%s' or in what it calls%s%s", w->e->name[w->part],
		 module ? "; it was also inlined in " : "", module ? module->path : "");
}

void only_reason(const struct record_modules *m, const struct expression *e,
		 const struct only_facts *facts, bool kept, char *text, size_t size)
{
	struct wanted w = {.e = e};
	char crossing[512];

	*text = 0;
	for (w.part = 0; w.part < e->n && !facts->any_known; w.part++)
		if (!(facts->known >> w.part & 1)) {
			explain_unknown(m, &w, text, size);
			return;
		}
	if (kept)
		return;
	if (facts->crosses) {
		write_crossing(e, crossing, sizeof(crossing));
		snprintf(text, size,
			 "the callers are in the thread that created the sample's; write '%s'",
			 crossing);
		return;
	}
	for (w.part = 0; w.part < e->n; w.part++)
		if (!(facts->seen >> w.part & 1)) {
			explain_unseen(m, &w, text, size);
			return;
		}
	snprintf(text, size,
		 "samples were in all of its functions, but none of them called the "
		 "others like that; callees come first, and << allows calls between");
}
