/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads what the plugin and the runtime left in a linked module for pcce-encode: the site records
 * (include/pcce/sites.h) and the descriptions of the helpers (include/pcce/table.h).
 */
#ifndef PCCE_ELF_SITE_RECORDS_H
#define PCCE_ELF_SITE_RECORDS_H

#include <pcce/sites.h>
#include <pcce/table.h>
#include "elf/module.h"

struct site_block {
	struct pcce_site_block head;
	const uint8_t *sites; /* head.n_sites records, not necessarily aligned */
	const char *name;
};

struct site_records {
	struct site_block *blocks; /* ordered by start; each start once */
	size_t n_blocks;
	bool has_entries;
	struct pcce_helper_entries entries;
	struct pcce_table_helper *helpers; /* ordered by address */
	size_t n_helpers;
};

/* Reads all records. A module without any is not an error: see n_blocks and has_entries. */
int site_records_read(const struct elf_module *m, struct site_records *out, struct error *why);
void site_records_free(struct site_records *r);
struct pcce_site_record site_records_site(const struct site_block *b, uint32_t i);

#endif
