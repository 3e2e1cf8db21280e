/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints what an encoding table says. */
#ifndef PCCE_ELF_TABLE_DUMP_H
#define PCCE_ELF_TABLE_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/error.h"

enum table_dump_format { TABLE_DUMP_TEXT, TABLE_DUMP_JSON };

/* encoded: is the file encoded, or was the table only computed? details: sites and edges, too (JSON
 * always has them).
 */
int table_dump(const void *table, size_t size, bool encoded, enum table_dump_format format,
	       bool details, FILE *out, struct error *why);

#endif
