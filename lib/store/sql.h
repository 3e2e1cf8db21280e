/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A store in ClickHouse. */
#ifndef PCCE_STORE_SQL_H
#define PCCE_STORE_SQL_H

#include "store/engine.h"
#include "store/merged.h"
#include "store/store.h"

/* Both as those of store.h. */
int sql_put(struct engine *e, const struct merged *m, const char *service, struct error *why);
FILE *sql_get(struct engine *e, const struct store_query *q, void (*note)(const char *text),
	      struct error *why);

#endif
