/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * slots FILE PROFILE OBJECT [RECORDING]
 *
 * Adds up what the slots of one module executed, by kind of slot.
 *
 * FILE is the module before pcce-encode.  OBJECT is the path of the encoded module, as in PROFILE.
 * PROFILE is from a run of `valgrind --tool=callgrind --dump-instr=yes --skip-plt=no
 * --compress-pos=no --compress-strings=no`, which says how often each instruction was executed.  A
 * call counts as often as its call instruction was executed.  So calls of uninstrumented functions
 * count, too, and the module can be a shared library.
 *
 * With RECORDING, a recording of OBJECT, the module is encoded as `pcce-encode --profile` does. The
 * calls remain those of PROFILE.  Which of the calls through pointers would pass a guard is not
 * known, so they all count as pushes.
 *
 * Prints "kind,sites,by_helper,calls,calls_by_helper,instructions" for each kind.  Instructions are
 * those in slots; those of helpers are in the line `runtime`.  The lines `cut-N` and `add-beyond-N`
 * say what would be cut, and what would have a large value, if ids had at most N bits and no
 * function were made an anchor.  The lines `rare-N` have the calls that the compiler expects in at
 * most N of 1,024 entries of their function, those in its cold part, and those that do not return:
 * "rare-N,sites,bytes,calls".  `bytes` is what slots of SHORT_SLOT bytes would save there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/abi.h>
#include "bench/papers/program.h"
#include "elf/encoding_table.h"
#include "encode/encode.h"
#include "profile/call_counts_read.h"

#define SHORT_SLOT 5 /* bytes: a call of a helper that finds the site by its return address */

enum kind {
	ZERO,
	ADD,
	ADD_BEYOND, /* a value of 2^31 or more */
	EXT,
	PUSH_POINTER,
	PUSH_TAIL_OUT, /* the callee tail-calls through a pointer or out of the module */
	PUSH_CUT,      /* ids have no room */
	PUSH_CYCLE,
	PUSH_EXPORTED, /* of an exported function of this library, and not through a gate */
	PUSH_OUTSIDE,
	OTHER, /* no call: tail calls, landing pads */
	N_KINDS
};

static const char *const kind_names[] = {"zero",     "add",	 "add-beyond", "ext",
					 "pointer",  "tail-out", "cut",	       "cycle",
					 "exported", "outside",	 "other"};

struct sums {
	uint64_t sites, by_helper, calls, calls_by_helper, instructions;
};

struct module {
	struct program program;
	struct numbering numbering;
	struct encode_output encoded;
	struct encoding_table table;
	uint8_t *kinds;	 /* for each site of the table: enum kind */
	uint64_t *calls; /* for each site of the table */
	struct sums sums[N_KINDS], entries, runtime;
	uint64_t all; /* instructions of the whole process */
};

/* ---- the module ------------------------------------------------------------------ */

static enum kind push_kind(const struct module *m, const struct callgraph_site *s)
{
	if (s->flags & PCCE_SITE_INDIRECT || s->target == CALLGRAPH_UNKNOWN)
		return PUSH_POINTER;
	if (s->edge != NUMBERING_NO_CALLEE && m->numbering.cut[s->edge])
		return PUSH_CUT;
	if (s->target == CALLGRAPH_INSIDE)
		return m->numbering.tail_out[s->callee] ? PUSH_TAIL_OUT : PUSH_CYCLE;
	return s->link.own ? PUSH_EXPORTED : PUSH_OUTSIDE;
}

static enum kind kind_of(const struct module *m, const struct pcce_table_site *t)
{
	const struct callgraph_site *s;

	switch (t->kind) {
	case PCCE_KIND_NONE:
		return ZERO;
	case PCCE_KIND_ADD:
		return t->value >> 31 ? ADD_BEYOND : ADD;
	case PCCE_KIND_EXT:
		return EXT;
	case PCCE_KIND_PUSH:
		s = program_site(&m->program, t->key);
		return s ? push_kind(m, s) : OTHER;
	default:
		return OTHER;
	}
}

/* An inline push claims an entry before it has filled it. */
static bool is_by_helper(const struct pcce_table_site *t)
{
	return t->kind == PCCE_KIND_PUSH && t->claim == t->applied;
}

static int classify_sites(struct module *m, struct error *why)
{
	uint64_t n = m->table.head->sites.count;

	m->kinds = malloc(n + 1);
	m->calls = calloc(n + 1, sizeof(*m->calls));
	if (!m->kinds || !m->calls)
		return error_memory(why);
	for (uint64_t i = 0; i < n; i++) {
		const struct pcce_table_site *t = &m->table.sites[i];
		struct sums *s = &m->sums[m->kinds[i] = kind_of(m, t)];

		s->sites++;
		s->by_helper += is_by_helper(t);
	}
	for (uint64_t i = 0; i < m->table.head->funcs.count; i++)
		m->entries.sites += m->table.funcs[i].entry != 0;
	return 0;
}

/* Encodes the module and numbers it a second time, since the table does not tell which pushes are
 * cuts. */
static int open_module(struct module *m, const char *path, const struct call_counts *counts,
		       struct error *why)
{
	int err = program_open(path, &m->program, why);

	if (!err)
		err = program_as_encoded(&m->program, why);
	if (!err && counts)
		err = callgraph_add_guards(&m->program.graph, &m->program.module, counts, why);
	if (!err && counts)
		err = callgraph_count(&m->program.graph, counts, why);
	if (!err && numbering_compute(&m->program.graph.graph, NULL, &m->numbering))
		err = error_memory(why);
	if (err)
		return err;
	err = encode_image(m->program.image, m->program.size,
			   &(struct encode_options){.counts = counts}, &m->encoded, why);
	if (!err)
		err = encoding_table_open(m->encoded.table, m->encoded.table_size, &m->table, why);
	return err ? err : classify_sites(m, why);
}

static void close_module(struct module *m)
{
	free(m->calls);
	free(m->kinds);
	encoding_table_close(&m->table);
	encode_output_free(&m->encoded);
	numbering_free(&m->numbering);
	program_close(&m->program);
}

/* ---- the profile ----------------------------------------------------------------- */

static void add_instruction(struct module *m, uint64_t at, uint64_t count)
{
	const struct pcce_helper_entries *e = &m->program.records.entries;
	uint32_t site, func;
	const struct pcce_table_site *t;
	struct sums *s;

	if (at >= e->text && at < e->text_end) {
		m->runtime.instructions += count;
		m->runtime.calls += at == e->push ? count : 0;
		return;
	}
	site = encoding_table_site_around(&m->table, at);
	if (site == PCCE_NONE) {
		func = encoding_table_func_at(&m->table, at);
		if (func != PCCE_NONE && encoding_table_in_entry(&m->table, func, at))
			m->entries.instructions += count;
		return;
	}
	t = &m->table.sites[site];
	s = &m->sums[m->kinds[site]];
	if (m->kinds[site] == OTHER)
		return;
	if (at < t->key + t->restore_len || at >= t->key + t->ret) {
		s->instructions += count;
	} else if (at == t->key + t->restore_len) {
		s->calls += count;
		m->calls[site] += count;
		s->calls_by_helper += is_by_helper(t) ? count : 0;
	}
}

/* Lines "ob=" name the object of the lines that follow.  The line after "calls=" has the cost of
 * the callee. */
static int read_profile(struct module *m, const char *path, const char *object, struct error *why)
{
	bool ours = false, of_callee = false;
	size_t capacity = 0;
	char *line = NULL;
	FILE *f = fopen(path, "re");
	uint64_t n = 0;

	if (!f)
		return error_set(why, -errno, "cannot be opened: %s", strerror(errno));
	while (getline(&line, &capacity, f) > 0) {
		uint64_t at, count;

		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "ob=", 3))
			ours = !strcmp(line + 3, object);
		else if (!strncmp(line, "calls=", 6))
			of_callee = true;
		else if (sscanf(line, "0x%" SCNx64 " %*s %" SCNu64, &at, &count) == 2) {
			if (ours && !of_callee) {
				add_instruction(m, at, count);
				n++;
			}
			of_callee = false;
		} else
			sscanf(line, "totals: %" SCNu64, &m->all);
	}
	free(line);
	fclose(f);
	return n ? 0 : error_set(why, -EINVAL, "has no instruction of %s", object);
}

static void print_sums(const char *name, const struct sums *s)
{
	printf("%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", name, s->sites,
	       s->by_helper, s->calls, s->calls_by_helper, s->instructions);
}

/* Numbers the module with another limit of ids, and adds up the same calls. */
static int print_limited(const struct module *m, uint64_t limit, int bits, struct error *why)
{
	const struct numbering_options options = {.limit = limit};
	char name[32];
	struct sums cut = {0}, beyond = {0};
	struct numbering n;

	if (numbering_compute(&m->program.graph.graph, &options, &n))
		return error_memory(why);
	for (uint64_t i = 0; i < m->table.head->sites.count; i++) {
		const struct callgraph_site *s = program_site(&m->program, m->table.sites[i].key);

		if (!s || s->ext || m->kinds[i] == OTHER || s->edge == NUMBERING_NO_CALLEE)
			continue;
		if (n.cut[s->edge]) {
			cut.sites++;
			cut.calls += m->calls[i];
		} else if (n.kind[s->edge] == NUMBERED_VALUE && n.value[s->edge] >> 31) {
			beyond.sites++;
			beyond.calls += m->calls[i];
		}
	}
	snprintf(name, sizeof(name), "cut-%d", bits);
	print_sums(name, &cut);
	snprintf(name, sizeof(name), "add-beyond-%d", bits);
	print_sums(name, &beyond);
	numbering_free(&n);
	return 0;
}

/* ---- rare calls ------------------------------------------------------------------ */

static bool is_rare(const struct callgraph *g, const struct callgraph_site *s, uint32_t limit)
{
	uint32_t part = callgraph_part_at(g, s->before);

	return s->freq <= limit || s->flags & PCCE_SITE_NORETURN ||
	       g->parts[part].addr != g->funcs[s->func].addr;
}

static uint64_t short_slots_save(const struct callgraph_site *s)
{
	uint32_t kept = s->flags & PCCE_SITE_SPILL_REGS ? PCCE_SLOT_SPILL_REGS : 0;

	kept += (s->before_len ? SHORT_SLOT : 0) + (s->after_len ? SHORT_SLOT : 0);
	return s->before_len + s->after_len - kept;
}

static void print_rare(const struct module *m, uint32_t limit)
{
	uint64_t sites = 0, bytes = 0, calls = 0;

	for (uint64_t i = 0; i < m->table.head->sites.count; i++) {
		const struct callgraph_site *s = program_site(&m->program, m->table.sites[i].key);

		if (!s || m->kinds[i] == OTHER || !is_rare(&m->program.graph, s, limit))
			continue;
		sites++;
		bytes += short_slots_save(s);
		calls += m->calls[i];
	}
	printf("rare-%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", limit, sites, bytes,
	       calls);
}

int main(int argc, char **argv)
{
	struct call_counts counts = {0};
	struct module m = {0};
	struct error why;
	int at = 1;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: slots FILE PROFILE OBJECT [RECORDING]\n");
		return 2;
	}
	if (argc == 5 && call_counts_read(argv[4], argv[1], &counts, &why)) {
		fprintf(stderr, "slots: %s\n", why.text);
		return EXIT_FAILURE;
	}
	if (open_module(&m, argv[1], argc == 5 ? &counts : NULL, &why) ||
	    read_profile(&m, argv[at = 2], argv[3], &why)) {
		fprintf(stderr, "slots: '%s' %s\n", argv[at], why.text);
		return EXIT_FAILURE;
	}
	for (int k = 0; k < OTHER; k++)
		print_sums(kind_names[k], &m.sums[k]);
	print_sums("entries", &m.entries);
	print_sums("runtime", &m.runtime);
	printf("all,,,,,%" PRIu64 "\n", m.all);
	if (print_limited(&m, 1ull << 31, 31, &why) || print_limited(&m, PCCE_ID_LIMIT, 62, &why)) {
		fprintf(stderr, "slots: '%s' %s\n", argv[1], why.text);
		return EXIT_FAILURE;
	}
	print_rare(&m, 1);
	print_rare(&m, 16);
	print_rare(&m, 64);
	close_module(&m);
	call_counts_free(&counts);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
