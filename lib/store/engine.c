/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See engine.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store/engine.h"

#define CHDB "chdb:"

/* Codecs of columns, and what else the schema needs, came with this version. */
#define OLDEST 18

bool engine_is_url(const char *url)
{
	return !strncmp(url, CHDB, strlen(CHDB)) || strstr(url, "://");
}

static int ask_version(struct engine *e, struct error *why)
{
	struct bytes reply = {0};
	int r = engine_ask(e,
			   "SELECT toUInt32OrZero(splitByChar('.', version())[1]) "
			   "FORMAT RowBinary",
			   &reply, why);
	struct cursor c = {.at = reply.data, .end = reply.data + reply.n};

	if (!r) {
		e->version = cursor_u32(&c);
		if (c.bad || e->version < OLDEST)
			r = error_set(why, -EPROTO,
				      "cannot use %s: it does not answer as ClickHouse %d or later "
				      "does; name a server's HTTP port",
				      e->name, OLDEST);
	}
	bytes_free(&reply);
	return r;
}

int engine_open(const char *url, bool patient, struct engine **out, struct error *why)
{
	int r;

	*out = NULL;
	if (!strncmp(url, CHDB, strlen(CHDB)))
		r = engine_chdb_open(url + strlen(CHDB), out, why);
	else
		r = engine_http_open(url, out, why);
	if (!r) {
		(*out)->patient = patient;
		r = ask_version(*out, why);
	}
	if (r) {
		engine_close(*out);
		*out = NULL;
	}
	return r;
}

void engine_close(struct engine *e)
{
	if (!e)
		return;
	free(e->name);
	free(e->database);
	e->ops->close(e);
}

static int say_engine(const struct engine *e, int r, const struct error *reason, struct error *why)
{
	if (r == -ENOMEM && !*reason->text)
		return error_memory(why);
	return r ? error_set(why, r, "cannot use %s: %.900s", e->name, reason->text) : 0;
}

static int run_sql(struct engine *e, const char *sql, bool read_only, struct bytes *reply,
		   struct error *why)
{
	struct error reason = {0};

	reply->n = 0;
	return say_engine(e, e->ops->run(e, sql, read_only, reply, &reason), &reason, why);
}

int engine_change(struct engine *e, const char *sql, struct error *why)
{
	struct bytes reply = {0};
	int r = run_sql(e, sql, false, &reply, why);

	bytes_free(&reply);
	return r;
}

int engine_insert(struct engine *e, const char *table, const char *columns,
		  const struct bytes *rows, struct error *why)
{
	struct error reason = {0};

	return say_engine(e, e->ops->insert(e, table, columns, rows, &reason), &reason, why);
}

int engine_ask(struct engine *e, const char *sql, struct bytes *reply, struct error *why)
{
	return run_sql(e, sql, true, reply, why);
}
