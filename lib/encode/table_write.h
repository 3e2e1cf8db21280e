/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes the encoding table of a module. */
#ifndef PCCE_ENCODE_TABLE_WRITE_H
#define PCCE_ENCODE_TABLE_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/table.h>
#include "encode/callgraph.h"
#include "encode/hybrid.h"
#include "base/error.h"
#include "numbering/numbering.h"
#include "encode/patch.h"

/*
 * Writes the table to *table, which is malloc'ed. sites has one element for each site of the call
 * graph, in its order, with key, before, ret, kind, value and slot offsets. The function sorts it
 * into the table's order. hybrid: NULL without hybrid encoding.
 */
int table_write(const struct elf_module *m, const struct callgraph *cg, const struct numbering *n,
		const struct hybrid *hybrid, const struct site_records *r,
		const struct patch_page *page, struct pcce_table_site *sites, void **table,
		size_t *size, struct error *why);

#endif
