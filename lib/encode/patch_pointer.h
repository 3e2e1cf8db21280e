/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fills the slots of calls through pointers that have a guard: docs/slots.md. */
#ifndef PCCE_ENCODE_PATCH_POINTER_H
#define PCCE_ENCODE_PATCH_POINTER_H

#include "encode/patch.h"

/*
 * Makes the slots of a call through a pointer and of its guard, which calls the function at target.
 * kind and value are the guard's. The guard's code is in the before-slot of s, and always fits.
 */
int patch_make_guarded(const struct patch_page *page, const struct elf_module *m,
		       const struct callgraph_site *s, const char *func, uint64_t pointer,
		       uint64_t target, enum pcce_site_kind kind, uint64_t value,
		       struct patch_slots *patch, struct pcce_table_site *out,
		       struct pcce_table_site *guard, struct error *why);

/*
 * Makes the slots of a call through a pointer whose guard is the call of a type. guard->code and
 * code_at say how to know a member of the type. The value is 0 for an edge without an addition.
 */
int patch_make_typed(const struct patch_page *page, const struct elf_module *m,
		     const struct callgraph_site *s, const struct callgraph_site *guard,
		     const char *func, uint64_t value, struct patch_slots *patch,
		     struct pcce_table_site *out, struct pcce_table_site *guard_out,
		     struct error *why);
/* What is in the slot of a tail call. */
struct patch_tail {
	/* The guard jumps to target if the pointer leads to the function at `pointer`; 0: none. */
	uint64_t pointer, target;
	struct pcce_table_site *guard; /* the guard's site, to be set; NULL: none */
	struct pcce_table_site *call;  /* the call's */
};

/* Makes the slot of a tail call: a guard, and the call for other functions. */
int patch_make_tail(const struct patch_page *page, const struct elf_module *m,
		    const struct callgraph_site *s, const char *func, const struct patch_tail *tail,
		    struct patch_slots *patch, struct pcce_table_site *out, struct error *why);
/* Can the slot hold that? */
bool patch_tail_fits(const struct elf_module *m, const struct callgraph_site *s);
/* Can the slots of a call hold the guard of a type? */
bool patch_typed_fits(const struct elf_module *m, const struct callgraph_site *s, uint32_t code_at);

#endif
