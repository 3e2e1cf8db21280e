/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See module_id.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "elf/encoding_table.h"
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

bool module_is_usable(const struct module_facts *f, bool *is_main)
{
	struct encoding_table table;
	struct error why;
	void *copy; /* aligned */
	bool good;

	*is_main = false;
	if (f->low > f->high || f->high - f->low > PACKED_DISTANCE - PACKED_ORIGIN ||
	    (f->fixed && f->high > PACKED_PLACE(0)))
		return false;
	if (!f->n)
		return true;
	copy = malloc(f->n);
	if (!copy)
		return false;
	memcpy(copy, f->table, f->n);
	good = !encoding_table_open(copy, f->n, &table, &why);
	if (good) {
		*is_main = table.head->flags & PCCE_TABLE_EXEC;
		encoding_table_close(&table);
	}
	free(copy);
	return good;
}
