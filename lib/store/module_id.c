/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See module_id.h. */
#include <errno.h>
#include "store/module_id.h"

int module_identify(const struct module_facts *m, struct store_key *id)
{
	struct bytes all = {0};
	int r;

	bytes_put_text(&all, m->build);
	bytes_put_text(&all, *m->build ? "" : m->path);
	bytes_put_u8(&all, m->fixed);
	bytes_put_u64(&all, m->low);
	bytes_put_u64(&all, m->high);
	bytes_put_string(&all, m->table, m->n);
	r = all.failed ? -ENOMEM : 0;
	if (!r)
		store_hash(&all, id);
	bytes_free(&all);
	return r;
}
