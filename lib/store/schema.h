/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The tables of a store in ClickHouse. docs/fleet.md says what they hold. */
#ifndef PCCE_STORE_SCHEMA_H
#define PCCE_STORE_SCHEMA_H

#include "base/error.h"
#include "store/bytes.h"
#include "store/engine.h"

enum store_table {
	STORE_MODULES,
	STORE_SYMBOLS,
	STORE_CONTEXTS,
	STORE_SAMPLES,
	STORE_RECORDINGS,
	STORE_TABLES
};

/* Makes what is missing of database and tables. 0, or -errno with a whole sentence in why. */
int schema_create(struct engine *e, struct error *why);
/* Refuses a database without the tables, or with those of another version. */
int schema_check(struct engine *e, struct error *why);

const char *schema_table(enum store_table t);
/* Inserts rows that have all columns, in the order of schema.c. Empties them. */
int schema_insert(struct engine *e, enum store_table t, struct bytes *rows, struct error *why);

#endif
