/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Puts SQL statements together. */
#ifndef PCCE_STORE_SQL_TEXT_H
#define PCCE_STORE_SQL_TEXT_H

#include "base/error.h"
#include "store/bytes.h"
#include "store/engine.h"
#include "store/packed.h"

/* Adds formatted text, without a NUL. */
void sql_format(struct bytes *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a list of keys for IN, in parentheses. Keys are stride bytes apart; n is at least 1. */
void sql_keys(struct bytes *sql, const void *keys, size_t n, size_t stride);
/* Adds the output format, asks, and frees the statement. *rows then reads the reply. As
 * engine_ask(). */
int sql_ask(struct engine *e, struct bytes *sql, struct bytes *reply, struct cursor *rows,
	    struct error *why);

/* Keys in one statement, which may have 256 KiB. */
#define SQL_KEYS 2000

#endif
