/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gets a selection of samples from ClickHouse, which adds up those of one context, and makes a
 * recording of it. Each context, module and symbol comes once.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/id_map.h"
#include "store/module_id.h"
#include "store/packed.h"
#include "store/rebuild.h"
#include "store/schema.h"
#include "store/sql.h"
#include "store/sql_text.h"

struct get {
	struct engine *engine;
	const struct store_query *query;
	struct rebuild *rebuild;
	struct bytes samples; /* the reply */
	struct bytes *packed; /* replies: unpacked contexts point into them */
	size_t n_packed;
	struct unpacked *unpacked;
	size_t n_unpacked;
	struct id_map by_key;	   /* of unpacked */
	struct store_key *modules; /* that the contexts name */
	size_t n_modules;
	struct error *why;
};

static int fail_reply(const struct get *g)
{
	return error_set(g->why, -EPROTO,
			 "cannot read from %s: an answer ends in the middle of a row; try again",
			 g->engine->name);
}

static int fail_size(const struct get *g, const char *what, int r)
{
	return r == -E2BIG ? error_set(g->why, r,
				       "cannot read from %s: the selection has too many %s; "
				       "select less with --since or --where",
				       g->engine->name, what)
			   : r;
}

/* ---- selection ------------------------------------------------------------------- */

/* sql_put() refuses later times than the tables can hold. */
static void put_times(const struct get *g, struct bytes *sql)
{
	uint64_t since = g->query->since < UINT32_MAX ? g->query->since : UINT32_MAX;

	sql_format(sql, "time >= toDateTime(%" PRIu64 ")", since);
	if (g->query->until && g->query->until < UINT32_MAX)
		sql_format(sql, " AND time < toDateTime(%" PRIu64 ")", g->query->until);
}

/* The samples that are selected, of recordings that are complete. */
static void put_samples(const struct get *g, struct bytes *sql)
{
	sql_format(sql, "%s.%s FINAL WHERE ", g->engine->database, schema_table(STORE_SAMPLES));
	put_times(g, sql);
	if (g->query->where)
		sql_format(sql, " AND (%s\n)", g->query->where);
	sql_format(sql, " AND (time, host, run) IN (SELECT time, host, run FROM %s.%s WHERE ",
		   g->engine->database, schema_table(STORE_RECORDINGS));
	put_times(g, sql);
	sql_format(sql, ")");
}

/* ---- the recordings -------------------------------------------------------------- */

/* A column that is equal in all rows, or "several". */
static void put_only_one(struct bytes *sql, const char *column)
{
	sql_format(sql, ", if(min(%s) = max(%s), any(%s), 'several')", column, column, column);
}

static int get_event(struct get *g, struct cursor *c)
{
	struct recording_account account = {.any_due = true};
	struct recording_rate rate;
	char *name = cursor_text(c);
	uint64_t n;
	int r = -ENOMEM;

	rate.frequency = cursor_u64(c);
	rate.period = cursor_u64(c);
	n = cursor_count(c);
	for (uint64_t i = 0; i < n && !c->bad; i++)
		account.lost[i <= PCCE_LOSS_MAX ? i : 0] += cursor_u64(c);
	account.due.known = cursor_u8(c);
	account.due.due = cursor_u64(c);
	account.due.merged = cursor_u64(c);
	account.due.kernel = cursor_u64(c);
	if (c->bad)
		r = fail_reply(g);
	else if (name)
		r = rebuild_add_event(g->rebuild, name, &rate, &account);
	if (r == -EEXIST)
		r = error_set(g->why, -EINVAL,
			      "cannot add up samples of %s: some recordings have %" PRIu64
			      " %s, others another rate; select one kind with --where",
			      name, rate.frequency ? rate.frequency : rate.period,
			      rate.frequency ? "Hz" : "events a sample");
	free(name);
	return fail_size(g, "events", r);
}

/* Adds the condition that recordings have selected samples. */
static void put_recordings(const struct get *g, struct bytes *sql)
{
	sql_format(sql, " FROM %s.%s FINAL WHERE ", g->engine->database,
		   schema_table(STORE_RECORDINGS));
	put_times(g, sql);
	if (!g->query->where)
		return;
	sql_format(sql, " AND (time, host, run) IN (SELECT time, host, run FROM %s.%s WHERE ",
		   g->engine->database, schema_table(STORE_SAMPLES));
	put_times(g, sql);
	sql_format(sql, " AND (%s\n))", g->query->where);
}

static int get_events(struct get *g)
{
	struct bytes sql = {0}, reply = {0};
	struct cursor c;
	int r;

	sql_format(&sql, "SELECT event, frequency, period, sumForEach(lost), min(due_known), "
			 "sum(due), sum(merged), sum(in_kernel)");
	put_recordings(g, &sql);
	sql_format(&sql, " GROUP BY event, frequency, period ORDER BY event != '" CALLS
			 "', min(number), event");
	r = sql_ask(g->engine, &sql, &reply, &c, g->why);
	while (!r && c.at < c.end)
		r = get_event(g, &c);
	bytes_free(&reply);
	return r;
}

static int get_info(struct get *g)
{
	struct bytes sql = {0}, reply = {0};
	struct rebuild_info info = {0};
	char *text[4] = {0};
	struct cursor c;
	uint64_t n;
	int r;

	sql_format(&sql, "SELECT count(), toUInt64(min(time)), groupBitOr(flags), sum(unwound), "
			 "sum(reused), sum(copied)");
	put_only_one(&sql, "sampler");
	put_only_one(&sql, "command");
	put_only_one(&sql, "host");
	put_only_one(&sql, "kernel");
	put_recordings(g, &sql);
	r = sql_ask(g->engine, &sql, &reply, &c, g->why);
	if (!r) {
		n = cursor_u64(&c);
		info.start = cursor_u64(&c) * 1000000000;
		info.flags = cursor_u32(&c);
		info.unwound = cursor_u64(&c);
		info.reused = cursor_u64(&c);
		info.copied = cursor_u64(&c);
		for (int i = 0; i < 4; i++)
			text[i] = cursor_text(&c);
		info.sampler = text[0];
		info.command = text[1];
		info.host = text[2];
		info.kernel = text[3];
		if (c.bad)
			r = fail_reply(g);
		else if (!n)
			r = error_set(g->why, -ENOENT,
				      "cannot read from %s: it has no recording of this time that "
				      "has such samples; change --since or --where",
				      g->engine->name);
		else if (!text[0] || !text[1] || !text[2] || !text[3])
			r = -ENOMEM;
		else
			r = rebuild_set_info(g->rebuild, &info);
	}
	for (int i = 0; i < 4; i++)
		free(text[i]);
	bytes_free(&reply);
	return r;
}

/* ---- contexts -------------------------------------------------------------------- */

/* Notes the modules that a context names. */
static int note_modules(struct get *g, const struct unpacked *u, struct id_map *noted)
{
	for (uint32_t i = 0; i < u->head.n_modules; i++) {
		uint64_t words[ID_MAP_WORDS] = {0};
		struct packed_module m;
		struct id_map_entry *e;

		memcpy(&m, u->modules + i * sizeof(m), sizeof(m));
		memcpy(words, &m.id, sizeof(m.id));
		e = id_map_find(noted, words);
		if (!e || array_grow(&g->modules, g->n_modules, sizeof(*g->modules)))
			return -ENOMEM;
		if (e->number)
			continue;
		id_map_fill(noted, e, words, (uint32_t)g->n_modules);
		g->modules[g->n_modules++] = m.id;
	}
	return 0;
}

static int get_context(struct get *g, struct cursor *c, struct id_map *noted)
{
	const void *key = cursor_get(c, STORE_KEY_SIZE);
	uint64_t words[ID_MAP_WORDS] = {0};
	struct id_map_entry *e;
	struct store_key real;
	struct unpacked *u;
	struct bytes packed = {0};

	packed.data = (uint8_t *)cursor_string(c, &packed.n);
	if (c->bad)
		return fail_reply(g);
	store_hash(&packed, &real);
	if (memcmp(&real, key, sizeof(real)) != 0)
		return 0;
	if (array_grow(&g->unpacked, g->n_unpacked, sizeof(*g->unpacked)))
		return -ENOMEM;
	u = &g->unpacked[g->n_unpacked];
	if (!unpack_context(packed.data, packed.n, u))
		return 0;
	memcpy(words, key, STORE_KEY_SIZE);
	e = id_map_find(&g->by_key, words);
	if (!e)
		return -ENOMEM;
	if (!e->number)
		id_map_fill(&g->by_key, e, words, (uint32_t)g->n_unpacked++);
	return note_modules(g, u, noted);
}

/* A row of the reply to ask_samples(). */
struct sample_row {
	const uint8_t *text[3]; /* process, thread, event: n bytes each */
	size_t n[3];
	const void *key;
	uint64_t samples, weight, time;
};

static int read_row(const struct get *g, struct cursor *c, struct sample_row *row)
{
	for (int i = 0; i < 3; i++)
		row->text[i] = cursor_string(c, &row->n[i]);
	row->key = cursor_get(c, STORE_KEY_SIZE);
	row->samples = cursor_u64(c);
	row->weight = cursor_u64(c);
	row->time = cursor_u64(c) * 1000000000;
	return c->bad ? fail_reply(g) : 0;
}

static struct cursor rows_of_samples(const struct get *g)
{
	return (struct cursor){.at = g->samples.data, .end = g->samples.data + g->samples.n};
}

/* Lists the keys of the samples. */
static int list_keys(const struct get *g, struct store_key **keys, size_t *n)
{
	struct cursor c = rows_of_samples(g);
	struct id_map seen = {0};
	struct sample_row row;
	int r = 0;

	while (!r && c.at < c.end) {
		uint64_t words[ID_MAP_WORDS] = {0};
		struct id_map_entry *e;

		r = read_row(g, &c, &row);
		if (r)
			break;
		memcpy(words, row.key, STORE_KEY_SIZE);
		e = id_map_find(&seen, words);
		if (!e || array_grow(keys, *n, sizeof(**keys))) {
			r = -ENOMEM;
		} else if (!e->number) {
			id_map_fill(&seen, e, words, 0);
			memcpy(&(*keys)[(*n)++], row.key, STORE_KEY_SIZE);
		}
	}
	id_map_free(&seen);
	return r;
}

/* Asks by keys: to ask for the contexts of the samples would look for the samples again. */
static int get_contexts(struct get *g)
{
	struct store_key *keys = NULL;
	struct id_map noted = {0};
	size_t n = 0;
	int r = list_keys(g, &keys, &n);

	for (size_t i = 0; i < n && !r; i += SQL_KEYS) {
		size_t some = n - i < SQL_KEYS ? n - i : SQL_KEYS;
		struct bytes sql = {0};
		struct cursor c;

		if (array_grow(&g->packed, g->n_packed, sizeof(*g->packed))) {
			r = -ENOMEM;
			break;
		}
		g->packed[g->n_packed] = (struct bytes){0};
		sql_format(&sql, "SELECT key, packed FROM %s.%s WHERE key IN ", g->engine->database,
			   schema_table(STORE_CONTEXTS));
		sql_keys(&sql, keys + i, some, sizeof(*keys));
		r = sql_ask(g->engine, &sql, &g->packed[g->n_packed++], &c, g->why);
		while (!r && c.at < c.end)
			r = get_context(g, &c, &noted);
	}
	free(keys);
	id_map_free(&noted);
	return r;
}

/* ---- modules and symbols --------------------------------------------------------- */

static int get_module(struct get *g, struct cursor *c)
{
	const void *id = cursor_get(c, STORE_KEY_SIZE);
	char *build = cursor_text(c), *path = cursor_text(c);
	struct module_facts f = {.build = build, .path = path};
	int r;

	f.fixed = cursor_u8(c);
	f.low = cursor_u64(c);
	f.high = cursor_u64(c);
	f.table = cursor_string(c, &f.n);
	r = c->bad	      ? fail_reply(g)
	    : !build || !path ? -ENOMEM
			      : fail_size(g, "programs and libraries",
					  rebuild_add_module(g->rebuild, id, &f));
	free(build);
	free(path);
	return r;
}

static int get_symbol(struct get *g, struct cursor *c)
{
	const void *module = cursor_get(c, STORE_KEY_SIZE);
	uint64_t address = cursor_u64(c);
	size_t n;
	const uint8_t *frames = cursor_string(c, &n);

	return c->bad ? fail_reply(g) : rebuild_add_symbol(g->rebuild, module, address, frames, n);
}

/* Asks for the rows of all modules, and hands out one after the other. */
static int get_of_modules(struct get *g, enum store_table t, const char *columns, const char *key,
			  int (*each)(struct get *g, struct cursor *c))
{
	int r = 0;

	for (size_t i = 0; i < g->n_modules && !r; i += SQL_KEYS) {
		size_t some = g->n_modules - i < SQL_KEYS ? g->n_modules - i : SQL_KEYS;
		struct bytes sql = {0}, reply = {0};
		struct cursor c;

		sql_format(&sql, "SELECT %s FROM %s.%s WHERE %s IN ", columns, g->engine->database,
			   schema_table(t), key);
		sql_keys(&sql, g->modules + i, some, sizeof(*g->modules));
		r = sql_ask(g->engine, &sql, &reply, &c, g->why);
		while (!r && c.at < c.end)
			r = each(g, &c);
		bytes_free(&reply);
	}
	return r;
}

/* ---- samples --------------------------------------------------------------------- */

static int get_sample(struct get *g, const struct sample_row *row)
{
	uint64_t words[ID_MAP_WORDS] = {0};
	struct id_map_entry *e;
	char *text[3];
	int r = -ENOMEM;

	for (int i = 0; i < 3; i++)
		text[i] = strndup((const char *)row->text[i], row->n[i]);
	memcpy(words, row->key, STORE_KEY_SIZE);
	e = id_map_find(&g->by_key, words);
	if (e && text[0] && text[1] && text[2]) {
		const struct rebuild_sample s = {text[0],      text[1],	    text[2],
						 row->samples, row->weight, row->time};

		r = rebuild_add_sample(g->rebuild, &s,
				       e->number ? &g->unpacked[e->number - 1] : NULL);
	}
	for (int i = 0; i < 3; i++)
		free(text[i]);
	return r;
}

static int get_samples(struct get *g)
{
	struct cursor c = rows_of_samples(g);
	struct sample_row row;
	int r = 0;

	while (!r && c.at < c.end) {
		r = read_row(g, &c, &row);
		r = r ? r : get_sample(g, &row);
	}
	return r;
}

/* Asks before all else: of recordings that come in the meantime, there are no samples that lack
 * their contexts. */
static int ask_samples(struct get *g)
{
	struct bytes sql = {0};
	struct cursor c;

	sql_format(&sql, "SELECT process, thread, event, context, sum(samples), sum(weight), "
			 "toUInt64(min(time)) FROM ");
	put_samples(g, &sql);
	sql_format(&sql, " GROUP BY process, thread, event, context "
			 "ORDER BY process, thread, event, context");
	return sql_ask(g->engine, &sql, &g->samples, &c, g->why);
}

FILE *sql_get(struct engine *e, const struct store_query *q, void (*note)(const char *text),
	      struct error *why)
{
	struct get g = {.engine = e, .query = q, .rebuild = rebuild_new(), .why = why};
	struct rebuild_missing missing;
	FILE *file = NULL;
	char text[256];
	int r = g.rebuild ? schema_check(e, why) : -ENOMEM;

	r = r ? r : ask_samples(&g);
	r = r ? r : get_info(&g);
	r = r ? r : get_events(&g);
	r = r ? r : get_contexts(&g);
	r = r ? r
	      : get_of_modules(&g, STORE_MODULES, "id, build, path, fixed, low, high, table", "id",
			       get_module);
	r = r ? r
	      : get_of_modules(&g, STORE_SYMBOLS, "module, address, frames", "module", get_symbol);
	r = r ? r : get_samples(&g);
	if (!r) {
		missing = rebuild_missing(g.rebuild);
		if (missing.contexts || missing.modules) {
			snprintf(text, sizeof(text),
				 "%s lacks the contexts of %" PRIu64 " samples, and %" PRIu64
				 " programs and libraries that contexts name",
				 e->name, missing.contexts, missing.modules);
			note(text);
		}
		file = rebuild_write(g.rebuild, why);
	} else if (r == -ENOMEM && !*why->text) {
		error_memory(why);
	}
	rebuild_free(g.rebuild);
	bytes_free(&g.samples);
	for (size_t i = 0; i < g.n_packed; i++)
		bytes_free(&g.packed[i]);
	free(g.packed);
	free(g.unpacked);
	id_map_free(&g.by_key);
	free(g.modules);
	return file;
}
