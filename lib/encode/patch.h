/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The contents of slots: docs/slots.md. */
#ifndef PCCE_ENCODE_PATCH_H
#define PCCE_ENCODE_PATCH_H

#include <pcce/table.h>
#include "encode/callgraph.h"

/* How code of this module reaches the thread page and the helpers. */
struct patch_page {
	bool executable; /* by a constant offset from %fs */
	int32_t offset;
	uint64_t got; /* otherwise: vaddr of the GOT slot that holds the offset */
	uint64_t push, pop, push_slow, pop_slow, leaf;
};

int patch_page_read(const struct elf_module *m, const struct pcce_helper_entries *e,
		    struct patch_page *out, struct error *why);

/* What will be written around one site, and what the table says of it: before, ret, key,
 * restore_len, claim, applied, undone, after_len. */
struct patch_slots {
	uint8_t before[256], after[256];
};

/* Can the site's slots hold the ext form? ctx is a struct page_access. */
bool patch_ext_fits(const struct callgraph_site *s, const void *ctx);

/* kind: enum pcce_site_kind; value: with ADD. out->kind may differ from kind in nothing. */
int patch_make(const struct patch_page *page, const struct callgraph_site *s, const char *func,
	       enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
	       struct pcce_table_site *out, struct error *why);

/* Fills a function's entry slot so that it sets the id to start; makes what leads to the function
 * by this site lead behind the slot. In a copy of the image. */
int patch_entry(const struct patch_page *page, const struct elf_module *m,
		const struct callgraph_func *f, uint32_t start, uint8_t *image, struct error *why);
int patch_distance(const struct elf_module *m, const struct callgraph_site *s,
		   const struct callgraph_func *callee, uint8_t *image, struct error *why);
/* The first address behind the entry slot. */
uint64_t patch_behind_entry(const struct callgraph_func *f);

/* Writes both slots into a copy of the image. Refuses a slot that does not consist of nops. */
int patch_apply(const struct elf_module *m, const struct callgraph_site *s, const char *func,
		const struct patch_slots *patch, uint8_t *image, struct error *why);

#endif
