/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See store.h. */
#include <errno.h>
#include "store/directory.h"
#include "store/engine.h"
#include "store/sql.h"
#include "store/store.h"

/* Says in *folder that a store is one, and where. */
static int open_store(const char *store, bool patient, const char **folder, struct engine **engine,
		      struct error *why)
{
	*engine = NULL;
	*folder = store;
	if (!engine_is_url(store))
		return 0;
	*folder = NULL;
	return engine_open(store, patient, engine, why);
}

int store_put(const char *store, const char *recording, const char *service,
	      void (*note)(const char *text), struct error *why)
{
	struct engine *engine;
	const char *folder;
	struct merged m;
	/* A folder does not keep services. */
	int r = merged_make(&m, recording, engine_is_url(store) ? service : NULL, note, why);

	if (r)
		return r;
	r = open_store(store, true, &folder, &engine, why);
	r = r ? r : folder ? directory_put(folder, &m, why) : sql_put(engine, &m, service, why);
	engine_close(engine);
	merged_free(&m);
	return r;
}

FILE *store_get(const char *store, const struct store_query *q, void (*note)(const char *text),
		struct error *why)
{
	struct engine *engine;
	const char *folder;
	FILE *file = NULL;

	if (!open_store(store, false, &folder, &engine, why))
		file = folder ? directory_get(folder, q, note, why) : sql_get(engine, q, note, why);
	engine_close(engine);
	return file;
}
