/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fills slots: docs/slots.md. */
#ifndef PCCE_ENCODE_PATCH_H
#define PCCE_ENCODE_PATCH_H

#include <pcce/table.h>
#include "encode/callgraph.h"

/* How code of this module reaches the thread page and the helpers. */
struct patch_page {
	bool executable; /* by a constant offset from %fs */
	bool no_inline;	 /* all pushes and pops are calls of helpers: for bench/ */
	bool hidden;	 /* executable, and shared libraries cannot find its runtime */
	int32_t offset;
	uint64_t got; /* otherwise: address of the GOT slot that holds the offset */
	uint64_t push, pop, push_slow, pop_slow, leaf;
};

int patch_page_read(const struct elf_module *m, const struct pcce_helper_entries *e,
		    struct patch_page *out, struct error *why);

/* The new contents of the slots of one site; and of the jump of a tail call, if n_jump is not 0. */
struct patch_slots {
	uint8_t before[256], after[256];
	uint8_t jump[16];
	size_t n_jump;
};

/* Can the site's slots hold the ext form? ctx is a struct patch_page. */
bool patch_ext_fits(const struct callgraph_site *s, const void *ctx);

/*
 * Makes the slots of one site. value is used with PCCE_KIND_ADD. Sets the fields before, ret, key,
 * restore_len, claim, applied, undone and after_len of out.
 */
int patch_make(const struct patch_page *page, const struct callgraph_site *s, const char *func,
	       enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
	       struct pcce_table_site *out, struct error *why);

/*
 * Makes the after-slot only, and sets after_len and undone of out. Returns 0, -ENOSPC or -ERANGE.
 * need: NULL, or gets the bytes of the form.
 */
int patch_make_after(const struct patch_page *page, const struct callgraph_site *s,
		     enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
		     struct pcce_table_site *out, size_t *need);

/*
 * patch_entry() makes a function's entry slot set the id to start. patch_distance() makes a site
 * lead past the entry slot of its callee. Both write to a copy of the image.
 */
int patch_entry(const struct patch_page *page, const struct elf_module *m,
		const struct callgraph_func *f, uint32_t start, uint8_t *image, struct error *why);
int patch_distance(const struct elf_module *m, const struct callgraph_site *s,
		   const struct callgraph_func *callee, uint8_t *image, struct error *why);
/*
 * The code of a type, 1 to CALLGRAPH_TYPE_CODES, at the beginning of a member's entry slot in an
 * executable: a comparison with %r11, which has no value there. No compiler begins a function so.
 */
#define PATCH_TYPE_CODE 3 /* bytes */
void patch_type_code(uint32_t code, uint8_t bytes[PATCH_TYPE_CODE]);
/* The first address after the entry slot. */
uint64_t patch_behind_entry(const struct callgraph_func *f);

/* Writes both slots into a copy of the image. Refuses a slot that does not consist of nops. */
int patch_apply(const struct elf_module *m, const struct callgraph_site *s, const char *func,
		const struct patch_slots *patch, uint8_t *image, struct error *why);

#endif
