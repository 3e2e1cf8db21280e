/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All tables replace rows of equal sorting keys by one of them. Rows that are sent again therefore
 * count once, and readers ask for FINAL rows.
 *
 * Samples are sorted so that those of one context stand together: all columns except the time and
 * the weight then repeat from row to row, and take next to no room.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store/schema.h"
#include "store/sql_text.h"

#define SCHEMA_VERSION 1

/* The first version whose columns have codecs, and a dictionary for few different strings. */
#define WITH_CODECS 19

struct column {
	const char *name, *type, *codec; /* codec NULL: the engine's own */
};

#define WORD "LowCardinality(String)"
#define KEY "FixedString(16)"

static const struct column module_columns[] = {
	{"id", KEY, NULL},
	{"build", "String", NULL},
	{"path", "String", NULL},
	{"fixed", "UInt8", NULL},
	{"low", "UInt64", NULL},
	{"high", "UInt64", NULL},
	{"table", "String", "ZSTD(3)"},
	{NULL},
};

static const struct column symbol_columns[] = {
	{"module", KEY, "ZSTD"},
	{"address", "UInt64", "Delta, ZSTD"},
	{"frames", "String", "ZSTD(3)"},
	{NULL},
};

static const struct column context_columns[] = {
	{"key", KEY, NULL},
	{"packed", "String", "ZSTD(3)"},
	{NULL},
};

static const struct column sample_columns[] = {
	{"time", "DateTime", "Delta, ZSTD"},
	{"host", WORD, "ZSTD"},
	{"service", WORD, "ZSTD"},
	{"process", WORD, "ZSTD"},
	{"thread", WORD, "ZSTD"},
	{"build", WORD, "ZSTD"},
	{"event", WORD, "ZSTD"},
	{"context", KEY, "ZSTD"},
	{"run", "UInt32", "ZSTD"},
	{"samples", "UInt64", "ZSTD"},
	{"weight", "UInt64", "ZSTD"},
	{NULL},
};

static const struct column recording_columns[] = {
	{"time", "DateTime", NULL},
	{"host", WORD, NULL},
	{"run", "UInt32", NULL},
	{"number", "UInt8", NULL},
	{"event", WORD, NULL},
	{"frequency", "UInt64", NULL},
	{"period", "UInt64", NULL},
	{"sampler", WORD, NULL},
	{"command", "String", NULL},
	{"kernel", WORD, NULL},
	{"flags", "UInt32", NULL},
	{"samples", "UInt64", NULL},
	{"lost", "Array(UInt64)", NULL},
	{"due_known", "UInt8", NULL},
	{"due", "UInt64", NULL},
	{"merged", "UInt64", NULL},
	{"in_kernel", "UInt64", NULL},
	{"unwound", "UInt64", NULL},
	{"reused", "UInt64", NULL},
	{"copied", "UInt64", NULL},
	{NULL},
};

static const struct {
	const char *name;
	const struct column *columns;
	const char *partition, *order;
} tables[STORE_TABLES] = {
	[STORE_MODULES] = {"modules", module_columns, NULL, "id"},
	[STORE_SYMBOLS] = {"symbols", symbol_columns, NULL, "(module, address)"},
	[STORE_CONTEXTS] = {"contexts", context_columns, NULL, "key"},
	[STORE_SAMPLES] = {"samples", sample_columns, "toDate(time)",
			   "(service, process, build, thread, event, context, host, time, run)"},
	[STORE_RECORDINGS] = {"recordings", recording_columns, "toYYYYMM(time)",
			      "(time, host, run, number)"},
};

const char *schema_table(enum store_table t)
{
	return tables[t].name;
}

/* Runs a statement that was put together in *sql, and empties that. */
static int run_statement(struct engine *e, struct bytes *sql, struct error *why)
{
	int r;

	bytes_put_u8(sql, 0);
	r = sql->failed ? error_memory(why) : engine_change(e, (const char *)sql->data, why);
	bytes_free(sql);
	return r;
}

static int create_table(struct engine *e, enum store_table t, struct error *why)
{
	bool old = e->version < WITH_CODECS;
	struct bytes sql = {0};

	sql_format(&sql, "CREATE TABLE IF NOT EXISTS %s.%s", e->database, tables[t].name);
	for (const struct column *c = tables[t].columns; c->name; c++) {
		sql_format(&sql, "%s%s %s", c == tables[t].columns ? " (" : ", ", c->name,
			   old && !strcmp(c->type, WORD) ? "String" : c->type);
		if (c->codec && !old)
			sql_format(&sql, " CODEC(%s)", c->codec);
	}
	sql_format(&sql, ") ENGINE = ReplacingMergeTree");
	if (tables[t].partition)
		sql_format(&sql, " PARTITION BY %s", tables[t].partition);
	sql_format(&sql, " ORDER BY %s", tables[t].order);
	return run_statement(e, &sql, why);
}

int schema_insert(struct engine *e, enum store_table t, struct bytes *rows, struct error *why)
{
	struct bytes table = {0}, columns = {0};
	int r;

	if (rows->failed)
		return error_memory(why);
	if (!rows->n)
		return 0;
	sql_format(&table, "%s.%s", e->database, tables[t].name);
	for (const struct column *c = tables[t].columns; c->name; c++) {
		bool first = c == tables[t].columns;

		sql_format(&table, "%s%s", first ? " (" : ", ", c->name);
		sql_format(&columns, "%s%s %s", first ? "" : ", ", c->name,
			   strcmp(c->type, WORD) != 0 ? c->type : "String");
	}
	sql_format(&table, ")%c", 0);
	sql_format(&columns, "%c", 0);
	r = table.failed || columns.failed ? error_memory(why)
					   : engine_insert(e, (const char *)table.data,
							   (const char *)columns.data, rows, why);
	bytes_free(&table);
	bytes_free(&columns);
	rows->n = 0;
	return r;
}

/* ---- the version ----------------------------------------------------------------- */

/* Reads the version of the tables: 0 if there is none. */
static int read_version(struct engine *e, uint32_t *version, struct error *why)
{
	struct bytes reply = {0};
	struct cursor c;
	char sql[512];
	int r;

	*version = 0;
	snprintf(sql, sizeof(sql),
		 "SELECT toUInt32(count()) FROM system.tables WHERE database = '%s' AND "
		 "name = 'schema_version' FORMAT RowBinary",
		 e->database);
	r = engine_ask(e, sql, &reply, why);
	c = (struct cursor){.at = reply.data, .end = reply.data + reply.n};
	if (!r && cursor_u32(&c)) {
		snprintf(sql, sizeof(sql),
			 "SELECT toUInt32(max(version)) FROM %s.schema_version FORMAT RowBinary",
			 e->database);
		r = engine_ask(e, sql, &reply, why);
		c = (struct cursor){.at = reply.data, .end = reply.data + reply.n};
		*version = cursor_u32(&c);
	}
	bytes_free(&reply);
	return r;
}

static int refuse_version(const struct engine *e, uint32_t version, struct error *why)
{
	return error_set(why, -EPROTO,
			 "cannot use %s: its tables have version %u, and this pcce knows version "
			 "%u; use the pcce that made them, or a later one",
			 e->name, version, SCHEMA_VERSION);
}

int schema_check(struct engine *e, struct error *why)
{
	uint32_t version;
	int r = read_version(e, &version, why);

	if (!r && !version)
		r = error_set(why, -ENOENT,
			      "cannot read from %s: it has no recordings; send some with pcce push",
			      e->name);
	return r ? r : version == SCHEMA_VERSION ? 0 : refuse_version(e, version, why);
}

int schema_create(struct engine *e, struct error *why)
{
	uint32_t version;
	char sql[512];
	int r = read_version(e, &version, why);

	if (r || version == SCHEMA_VERSION)
		return r;
	if (version)
		return refuse_version(e, version, why);
	snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS %s", e->database);
	r = engine_change(e, sql, why);
	for (enum store_table t = 0; t < STORE_TABLES && !r; t++)
		r = create_table(e, t, why);
	snprintf(sql, sizeof(sql),
		 "CREATE TABLE IF NOT EXISTS %s.schema_version (version UInt32) "
		 "ENGINE = ReplacingMergeTree ORDER BY version",
		 e->database);
	r = r ? r : engine_change(e, sql, why);
	snprintf(sql, sizeof(sql), "INSERT INTO %s.schema_version VALUES (%u)", e->database,
		 SCHEMA_VERSION);
	return r ? r : engine_change(e, sql, why);
}
