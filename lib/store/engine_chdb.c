/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ClickHouse as a library. It is large (560 MB) and not packaged, so it is loaded only when a user
 * names it: from $PCCE_CHDB, or from where the dynamic linker looks. The C interface is that of
 * chdb 2 and later.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/temp_file.h"
#include "store/engine.h"

typedef struct chdb_connection_ *chdb_connection;
struct chdb_result;

struct chdb {
	struct engine engine;
	void *library;
	chdb_connection *connection;
	chdb_connection *(*connect)(int argc, char **argv);
	void (*close_connection)(chdb_connection *c);
	struct chdb_result *(*query)(chdb_connection c, const char *sql, size_t n,
				     const char *format, size_t format_n);
	void (*destroy)(struct chdb_result *r);
	char *(*buffer)(struct chdb_result *r);
	size_t (*length)(struct chdb_result *r);
	const char *(*error)(struct chdb_result *r);
};

/* The query follows in further lines. */
static int fail_chdb(const char *text, struct error *why)
{
	return error_set(why, -EIO, "%.*s", (int)strcspn(text, "\n"), text);
}

static int chdb_run(struct engine *e, const char *sql, bool read_only, struct bytes *reply,
		    struct error *why)
{
	static const char format[] = "RowBinary";
	struct chdb *c = (struct chdb *)e;
	struct chdb_result *result;
	const char *error;
	int r;

	(void)read_only; /* the folder is the caller's own */
	result = c->query(*c->connection, sql, strlen(sql), format, strlen(format));
	if (!result)
		return error_set(why, -EIO, "libchdb gave no answer");
	error = c->error(result);
	if (!error)
		bytes_put(reply, c->buffer(result), c->length(result));
	r = error ? fail_chdb(error, why) : reply->failed ? -ENOMEM : 0;
	c->destroy(result);
	return r;
}

/* Rows behind a statement must not contain whatever the library takes for its end. So they are in a
 * file. */
static int chdb_insert(struct engine *e, const char *table, const char *columns,
		       const struct bytes *rows, struct error *why)
{
	FILE *file = temp_file_stream();
	struct bytes reply = {0};
	char *sql = NULL;
	int r;

	if (!file || fwrite(rows->data, 1, rows->n, file) != rows->n || fflush(file))
		r = error_set(why, -errno, "cannot write a temporary file: %s", strerror(errno));
	else if (asprintf(
			 &sql,
			 "INSERT INTO %s SELECT * FROM file('/proc/self/fd/%d', 'RowBinary', '%s')",
			 table, fileno(file), columns) < 0)
		r = -ENOMEM;
	else
		r = chdb_run(e, sql, false, &reply, why);
	free(sql);
	bytes_free(&reply);
	if (file)
		fclose(file);
	return r;
}

/* The library stays loaded: it has threads of its own. */
static void chdb_close(struct engine *e)
{
	struct chdb *c = (struct chdb *)e;

	if (c->connection)
		c->close_connection(c->connection);
	free(c);
}

static const struct engine_ops chdb_ops = {chdb_run, chdb_insert, chdb_close};

static int load_chdb(struct chdb *c, struct error *why)
{
	const char *path = getenv("PCCE_CHDB");
	void (*handlers)(int) = NULL;
	const struct {
		const char *name;
		void *at;
	} functions[] = {
		{"chdb_connect", &c->connect},	    {"chdb_close_conn", &c->close_connection},
		{"chdb_query_n", &c->query},	    {"chdb_destroy_query_result", &c->destroy},
		{"chdb_result_buffer", &c->buffer}, {"chdb_result_length", &c->length},
		{"chdb_result_error", &c->error},   {"chdb_set_signal_handlers_enabled", &handlers},
	};

	path = path && *path ? path : "libchdb.so";
	c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!c->library)
		return error_set(
			why, -ENOENT,
			"cannot load %s: %s; run `make chdb`, or set PCCE_CHDB to its path", path,
			dlerror());
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *at = dlsym(c->library, functions[i].name);

		if (!at && functions[i].at != &handlers)
			return error_set(
				why, -ENOENT,
				"cannot use %s: it has no function %s; use chdb 2 or later", path,
				functions[i].name);
		memcpy(functions[i].at, &at, sizeof(at));
	}
	if (handlers)
		handlers(0);
	return 0;
}

int engine_chdb_open(const char *folder, struct engine **out, struct error *why)
{
	struct chdb *c = calloc(1, sizeof(*c));
	char *option = NULL, program[] = "pcce";
	int r;

	if (!c)
		return error_memory(why);
	c->engine.ops = &chdb_ops;
	*out = &c->engine;
	c->engine.database = strdup("pcce");
	if (!*folder)
		return error_set(why, -EINVAL, "cannot open chdb: no folder follows the colon");
	if (asprintf(&c->engine.name, "chdb:%s", folder) < 0 || !c->engine.database ||
	    asprintf(&option, "--path=%s", folder) < 0)
		return error_memory(why);
	r = load_chdb(c, why);
	if (!r) {
		c->connection = c->connect(2, (char *[]){program, option});
		if (!c->connection || !*c->connection)
			r = error_set(why, -EIO,
				      "cannot open chdb in %s: another process uses the folder, or "
				      "it cannot be written",
				      folder);
	}
	free(option);
	return r;
}
