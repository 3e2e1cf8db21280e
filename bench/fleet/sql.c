/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sql STORE STATEMENT...: runs statements in the ClickHouse of a store, and prints what they
 * return. A SELECT says itself which FORMAT it wants. */
#include <stdio.h>
#include "store/engine.h"

int main(int argc, char **argv)
{
	struct engine *e = NULL;
	struct error why = {0};
	struct bytes reply = {0};
	int r = argc > 2 ? engine_open(argv[1], true, &e, &why) : error_set(&why, -1, "usage");

	for (int i = 2; i < argc && !r; i++) {
		r = e->ops->run(e, argv[i], false, &reply, &why);
		fwrite(reply.data, 1, reply.n, stdout);
		reply.n = 0;
	}
	if (r)
		fprintf(stderr, "sql: %s\n", why.text);
	bytes_free(&reply);
	engine_close(e);
	return r ? 1 : 0;
}
