/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps recordings of many machines, and gives a selection of them back as one recording.
 *
 * A store is a folder of recordings (directory.c), or tables in ClickHouse (sql_put.c, sql_get.c).
 * Both keep aggregated samples: pcce-merge does so, too.
 */
#ifndef PCCE_STORE_STORE_H
#define PCCE_STORE_STORE_H

#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

/* What to get. Times are of the beginnings of recordings. */
struct store_query {
	uint64_t since, until; /* seconds since 1970; until 0: now */
	const char *where;     /* an SQL condition over the columns of samples; NULL: none */
};

/* Adds a recording. service: the name of what the machine runs; NULL: that of each process. 0, or
 * -errno with a whole sentence in why: then nobody sees a part of the recording. */
int store_put(const char *store, const char *recording, const char *service,
	      void (*note)(const char *text), struct error *why);

/* Writes a recording of all that the query selects, and returns it, for reading from its beginning.
 * NULL: why has a whole sentence. */
FILE *store_get(const char *store, const struct store_query *q, void (*note)(const char *text),
		struct error *why);

#endif
