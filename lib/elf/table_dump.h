/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints what an encoding table says. */
#ifndef PCCE_ELF_TABLE_DUMP_H
#define PCCE_ELF_TABLE_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/error.h"

enum dump_format { DUMP_TEXT, DUMP_JSON };

/* encoded: is the file encoded, or was the table only computed? details: sites and edges, too (JSON always has them).
 */
int dump_table(const void *table, size_t size, bool encoded, enum dump_format format, bool details, FILE *out,
	       struct fail *why);

#endif
