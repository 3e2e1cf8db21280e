// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Counts entries into functions by context; see counts.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <pcce/sites.h>
#include "elf/x86.h"
#include "tests/oracle/counts.h"
#include "tests/oracle/walk.h"

struct row {
	char *frames;
	uint64_t count;
	UT_hash_handle hh;
};

static struct row *rows;

/* A guard's call counts as the call that it guards, which follows: while calls are counted, a guard
 * may fail that holds otherwise. */
void counts_frame(char *to, size_t size, const struct file *f, uint32_t func, uint32_t site)
{
	const struct encoding_table *t = &f->table;

	while (site != PCCE_NONE && t->sites[site].flags & PCCE_SITE_GUARD)
		site++;

	uint64_t key = site == PCCE_NONE ? 0 : t->sites[site_canonical(f, site)].key;

	snprintf(to, size, "%s:%" PRIx64 ";", encoding_table_string(t, t->funcs[func].name), key);
}

/* Does the instruction at `from` tail-call, and has it jumped? */
static bool is_tail_call(const struct encoding_table *t, uint64_t from, uint64_t to)
{
	uint32_t site = encoding_table_site_by_key(t, from);

	return site != PCCE_NONE && t->sites[site].kind == PCCE_KIND_TAIL &&
	       to != from + t->sites[site].ret;
}

static bool is_entry(struct space *s, enum insn insn, bool handler, uint64_t from, uint64_t ip)
{
	struct tree_place to = space_place(s, ip), came = space_place(s, from);
	const struct pcce_table_func *f;

	if (to.func == PCCE_NONE || !to.file || !(to.file->table.head->flags & PCCE_TABLE_EXEC))
		return false;
	f = &to.file->table.funcs[to.func];
	if (handler)
		return ip - to.bias == f->addr;
	/* The runtime calls a function that was called as a leaf again, inside its entry slot. */
	if (insn == INSN_CALL)
		return came.func != PCCE_NONE || ip - to.bias == f->addr;
	if (insn != INSN_JUMP && insn != INSN_JUMP_FAR && insn != INSN_RETURN)
		return false;
	if (came.func != PCCE_NONE && insn != INSN_RETURN && came.file == to.file &&
	    is_tail_call(&to.file->table, from - to.bias, ip - to.bias))
		return true;
	return came.func == PCCE_NONE && ip - to.bias == f->addr;
}

static char *name_context(const struct chain *c)
{
	struct seen_frame *frames = malloc((c->n + 1) * sizeof(*frames));
	char *text = malloc((c->n + 1) * 128), *end = text;
	struct walk_chain w;
	struct between b;
	size_t n = 0;

	if (!frames || !text)
		exit(2);
	walk_chain_begin(&w, c);
	while (walk_chain_next(&w, &b, &frames[n]))
		n++;
	*text = 0;
	while (n-- > 0) {
		const struct activation *a = frames[n].a;

		if (frames[n].signal)
			snprintf(end, 128, "[signal];");
		else
			counts_frame(end, 128, a->file, a->func,
				     a == &c->a[c->n - 1] ? PCCE_NONE : a->site);
		end += strlen(end);
	}
	free(frames);
	return text;
}

void counts_step(const struct chain *c, struct space *s, enum insn insn, bool handler,
		 uint64_t from, uint64_t ip)
{
	char *frames;
	struct row *r;

	if (!is_entry(s, insn, handler, from, ip))
		return;
	frames = name_context(c);
	HASH_FIND_STR(rows, frames, r);
	if (r) {
		free(frames);
	} else {
		r = calloc(1, sizeof(*r));
		if (!r)
			exit(2);
		r->frames = frames;
		HASH_ADD_KEYPTR(hh, rows, r->frames, strlen(r->frames), r);
	}
	r->count++;
}

void counts_write(FILE *out)
{
	for (const struct row *r = rows; r; r = r->hh.next)
		fprintf(out, "%" PRIu64 " %s\n", r->count, r->frames);
}
