/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs SQL in ClickHouse: in a server (engine_http.c), or in the library libchdb inside this
 * process (engine_chdb.c). All of lib/store that knows SQL uses this one interface.
 */
#ifndef PCCE_STORE_ENGINE_H
#define PCCE_STORE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "store/bytes.h"

struct engine;

struct engine_ops {
	/* Runs a statement. reply: replaced by what it returns. 0, or -errno with a fragment in
	 * why, which says what the engine answered. */
	int (*run)(struct engine *e, const char *sql, bool read_only, struct bytes *reply,
		   struct error *why);
	/* Inserts rows into a table: "TABLE (COLUMN, ...)". columns: the same with their types. */
	int (*insert)(struct engine *e, const char *table, const char *columns,
		      const struct bytes *rows, struct error *why);
	void (*close)(struct engine *e);
};

struct engine {
	const struct engine_ops *ops;
	char *name;	      /* for messages, without a password */
	char *database;	      /* quoted with ` where it must be */
	bool patient;	      /* waits for a server that is away for a moment */
	unsigned int version; /* major; set by engine_open() */
};

/*
 * url: clickhouse://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE], clickhouses:// for TLS, or
 * chdb:FOLDER. The environment variables CLICKHOUSE_USER and CLICKHOUSE_PASSWORD hold what the URL
 * leaves out. patient: of the engine. 0, or -errno with a whole sentence in why.
 */
int engine_open(const char *url, bool patient, struct engine **out, struct error *why);
void engine_close(struct engine *e); /* NULL: does nothing */
/* Is this the URL of an engine? */
bool engine_is_url(const char *url);

/* Changes something. 0, or -errno with a whole sentence in why. */
int engine_change(struct engine *e, const char *sql, struct error *why);
/* table, columns: as in struct engine_ops. */
int engine_insert(struct engine *e, const char *table, const char *columns,
		  const struct bytes *rows, struct error *why);
/* Asks, without the right to change anything. */
int engine_ask(struct engine *e, const char *sql, struct bytes *reply, struct error *why);

/* The two kinds. They set ops and name. */
int engine_http_open(const char *url, struct engine **out, struct error *why);
int engine_chdb_open(const char *folder, struct engine **out, struct error *why);

#endif
