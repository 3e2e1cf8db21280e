/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the modules of a set of contexts, and finds the special functions: see set_modules.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "api/set_modules.h"
#include "elf/encoding_note.h"
#include "elf/module.h"

#define TAIL_PATH_MAX 64

static int read_set_table(const char *path, int fd, const struct elf_module *elf,
			  struct set_module *m, struct error *why)
{
	const struct elf_section *s = elf_module_table(elf);
	struct error reason = {0};
	uint8_t hash[16];
	int r;

	if (!s)
		return error_set(why, -EINVAL,
				 "cannot select contexts of %s: it is not encoded; link it with "
				 "the flags of pcce-config",
				 path);
	m->data = elf_section_read(fd, s, &reason);
	r = m->data ? encoding_table_open(m->data, s->size, &m->table, &reason) : -EINVAL;
	if (r)
		return error_set(why, r, "cannot select contexts of %s: its encoding table %s",
				 path, reason.text);
	if (m->table.head->flags & PCCE_TABLE_HYBRID)
		return error_set(
			why, -EINVAL,
			"cannot select contexts of %s: it has hybrid encoding; link it again",
			path);
	encoding_note_hash(m->data, s->size, hash);
	m->name = pcce_name_of_module(elf->build_id, elf->build_id_size, hash);
	return 0;
}

static int read_set_module(const char *path, struct set_module *m, struct error *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
	struct error reason = {0};
	struct elf_module elf;

	if (fd < 0)
		return error_set(why, -errno, "cannot open %s: %s", path, strerror(errno));
	r = elf_module_open_fd(fd, &elf, &reason);
	if (r) {
		error_set(why, r, "cannot select contexts of %s: it %s", path, reason.text);
	} else {
		r = read_set_table(path, fd, &elf, m, why);
		elf_module_close(&elf);
	}
	close(fd);
	return r;
}

/*
 * A function is special if a segment that begins there can leave a state that the next frame
 * changes, if a function in a part can lead to it by tail calls, or if tail calls lead from it out
 * of the module.
 */
static int find_special(const struct expression *e, struct set_module *m)
{
	const struct encoding_table *t = &m->table;
	uint64_t n = t->head->funcs.count, n_tails = t->head->tails.count;
	bool *reached = calloc(n + 1, 1), more = true;
	uint8_t next = 0;

	if (!reached)
		return -ENOMEM;
	for (unsigned int i = 0; i + 1 < e->n; i++)
		next |= (uint8_t)(!e->any[i] << i);
	while (more) {
		more = false;
		for (uint64_t i = 0; i < n_tails; i++) {
			uint32_t from = t->tails[i].from, to = t->tails[i].to;

			if (!reached[to] && (reached[from] || m->parts[from]))
				more = reached[to] = true;
		}
	}
	for (uint64_t i = 0; i < n; i++)
		m->special[i] =
			reached[i] || m->parts[i] & next || t->funcs[i].flags & PCCE_FUNC_TAIL_OUT;
	free(reached);
	return 0;
}

static int find_parts(const struct expression *e, struct set_module *m, uint8_t *found)
{
	uint64_t n = m->table.head->funcs.count;

	m->parts = calloc(n + 1, 1);
	m->special = calloc(n + 1, sizeof(*m->special));
	if (!m->parts || !m->special)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		m->parts[i] = expression_match(e, set_module_symbol(m, i));
		*found |= m->parts[i];
	}
	return find_special(e, m);
}

int set_modules_read(struct set_modules *m, const struct expression *e, const char *const *files,
		     size_t n, struct error *why)
{
	uint64_t n_funcs = 0;
	uint8_t found = 0;

	*m = (struct set_modules){.all = calloc(n + 1, sizeof(*m->all))};
	if (!m->all)
		return error_memory(why);
	for (; m->n < n; m->n++) {
		struct set_module *at = &m->all[m->n];
		int r = read_set_module(files[m->n], at, why);

		if (r)
			return r;
		at->first_func = (uint32_t)n_funcs;
		n_funcs += at->table.head->funcs.count;
		if (n_funcs > PCCE_SET_FUNCS_MAX)
			return error_set(why, -E2BIG,
					 "cannot select contexts: %s has too many "
					 "functions",
					 files[m->n]);
		if (find_parts(e, at, &found))
			return error_memory(why);
	}
	m->n_funcs = (uint32_t)n_funcs;
	for (unsigned int i = 0; i < e->n; i++)
		if (!(found & 1u << i))
			return error_set(why, -ENOENT,
					 "cannot select contexts: no function is called '%s'; it "
					 "may have been inlined everywhere, or not be instrumented",
					 e->name[i]);
	return 0;
}

void set_modules_free(struct set_modules *m)
{
	for (size_t i = 0; m->all && i <= m->n; i++) {
		encoding_table_close(&m->all[i].table);
		free(m->all[i].data);
		free(m->all[i].parts);
		free(m->all[i].special);
	}
	free(m->all);
	*m = (struct set_modules){.n = 0};
}

uint64_t set_tail_step(const struct expression *e, const struct set_module *m, uint32_t from,
		       uint32_t to)
{
	uint32_t path[TAIL_PATH_MAX];
	int n = encoding_table_tail_path(&m->table, from, to, path, TAIL_PATH_MAX);
	uint64_t step = PCCE_SET_IDENTITY;

	if (n < 0)
		return PCCE_SET_UNKNOWN;
	while (n--)
		step = pcce_set_product(step, expression_frame(e, m->parts[path[n]]));
	return pcce_set_product(step, expression_frame(e, m->parts[from]));
}
