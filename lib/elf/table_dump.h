/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints an encoding table. */
#ifndef PCCE_ELF_TABLE_DUMP_H
#define PCCE_ELF_TABLE_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/error.h"

enum table_dump_format { TABLE_DUMP_TEXT, TABLE_DUMP_JSON };

/*
 * Prints a table to out. encoded: the file is encoded; else the table was only computed. details:
 * also print sites and edges, which JSON always contains.
 */
int table_dump(const void *table, size_t size, bool encoded, enum table_dump_format format,
	       bool details, FILE *out, struct error *why);

#endif
