// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the comparison of captured contexts and of names; see captured.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "api/process.h"
#include "tests/oracle/captured.h"
#include "tests/oracle/names.h"

#define MISTAKE_PERIOD 97

void captured_init(struct captured *c, FILE *out)
{
	check_init(&c->contexts, out);
	c->out = out;
}

/* ---- the library --------------------------------------------------------------------- */

/* The library's view of the mappings of one generation. It numbers instrumented files in the order
 * in which they are added. */
static struct {
	uint64_t generation;
	struct pcce_decode_process *process;
	uint32_t *files; /* by the library's number */
	uint32_t n;
} view;

static void stop(const char *why)
{
	fprintf(stderr, "step: libpcce-decode: %s\n", why);
	exit(2);
}

static void add_file(uint32_t file)
{
	for (uint32_t i = 0; i < view.n; i++)
		if (view.files[i] == file)
			return;
	view.files = reallocarray(view.files, view.n + 1, sizeof(*view.files));
	if (!view.files)
		stop("no memory left");
	view.files[view.n++] = file;
}

static void make_view(const struct space *s)
{
	struct pcce_decode_error why;

	pcce_decode_process_free(view.process);
	view.generation = s->generation;
	view.n = 0;
	if (pcce_decode_process_new(0, &view.process, &why))
		stop(why.text);
	for (size_t i = 0; i < s->n; i++) {
		const struct decode_module *m = &s->maps[i];
		const struct file *f = space_file(m->module);
		char path[32];
		struct pcce_decode_module module = {
			.path = path, .start = m->start, .end = m->end, .vaddr = m->vaddr};

		if (!m->table)
			continue;
		/* Two files may have had one path. */
		snprintf(path, sizeof(path), "%" PRIu32, m->module);
		module.table = f->data;
		module.table_size = elf_module_table(&f->elf)->size;
		if (pcce_decode_process_add(view.process, &module, sizeof(module), &why) < 0)
			stop(why.text);
		add_file(m->module);
	}
}

/* What decode_copy() gets besides the sample. */
static struct capture_area *present;

static const struct decode_context *decode_copy(struct space *s, const struct sample *sample,
						struct stack_store_flat *flat)
{
	struct pcce_decode_state state = {
		.ip = sample->s.ip,
		.r11 = present->context.r11,
		.id = present->context.id,
		.ext = present->context.ext,
		.entries = present->entries,
		.n_entries = present->context.n_entries,
		.missing = present->context.missing,
	};
	const struct pcce_decode_context *context;
	struct pcce_decode_error why;
	struct decode_context *ctx;

	if (!view.process || view.generation != s->generation)
		make_view(s);
	if (pcce_decode_process_state(view.process, &state, sizeof(state), &context, &why))
		stop(why.text);
	ctx = &process_context(view.process)->decoded;
	for (size_t i = 0; i < ctx->n; i++)
		if (ctx->frames[i].module < view.n)
			ctx->frames[i].module = view.files[ctx->frames[i].module];
	/* For the report. */
	free(flat->entries);
	flat->n = flat->capacity = (uint32_t)state.n_entries;
	flat->entries = malloc((flat->n + 1) * sizeof(*flat->entries));
	if (!flat->entries)
		return NULL;
	memcpy(flat->entries, present->entries, flat->n * sizeof(*flat->entries));
	return ctx;
}

/* ---- contexts ------------------------------------------------------------------------ */

static bool is_time(const struct captured *c, uint64_t n, enum captured_mistake mistake)
{
	return c->mistake == mistake && n % MISTAKE_PERIOD == MISTAKE_PERIOD - 1;
}

static uint64_t hash_area(const struct capture_area *area)
{
	uint64_t h = 0x0ca9;

	for (uint64_t i = 0; i < area->context.n_entries; i++)
		h = (h ^ mix64(area->entries[i].id + mix64(area->entries[i].site))) *
		    0x7fb5d329728ea185ULL;
	h = mix64(h ^ area->context.id);
	h = mix64(h ^ area->context.ext);
	return mix64(h ^ mix64(area->context.n_entries) ^ area->context.missing);
}

enum outcome captured_context(struct captured *c, struct chain *chain, struct space *s, pid_t tid,
			      struct capture_area *area)
{
	static struct sample sample;
	uint64_t n = c->contexts.count[OUTCOME_EXACT];

	if ((int)area->result < 0) {
		c->refused++;
		return OUTCOME_OUTSIDE;
	}
	if (is_time(c, n, MISTAKE_ID))
		area->context.id ^= 1;
	if (is_time(c, n, MISTAKE_ENTRY) && area->context.n_entries > 2)
		area->entries[area->context.n_entries - 3].site++;
	sample.s = (struct pcce_sample){
		.pid = (uint32_t)s->pid,
		.tid = (uint32_t)tid,
		.ip = area->context.ip,
		.id = area->context.id,
		.ext = area->context.ext,
	};
	present = area;
	return check_state(&c->contexts, chain, s, &sample, hash_area(area), decode_copy);
}

/* ---- names --------------------------------------------------------------------------- */

/* Does the stack have the record of a longjmp that is under way?  It says where to. */
static bool jumps(const struct capture_area *area)
{
	for (uint64_t i = 0; i < area->context.n_entries; i++)
		if (area->entries[i].site >> PCCE_SITE_BITS == PCCE_COUNT_JUMP)
			return true;
	return false;
}

static void report_name(struct captured *c, const struct chain *chain, struct space *s,
			const char *what, const struct capture_area *area)
{
	if (c->reports++ >= c->contexts.reports_max)
		return;
	fprintf(c->out, "name: %s, innermost entries:\n  name ", what);
	for (size_t i = 0; i < sizeof(area->name.bytes); i++)
		fprintf(c->out, "%02x", area->name.bytes[i]);
	fprintf(c->out, " ip %s id %llu ext %s\n", space_name(s, area->context.ip),
		area->context.id, space_name(s, area->context.ext));
	for (uint64_t i = 0; i < area->context.n_entries && i < 12; i++) {
		const struct pcce_entry *e = &area->entries[area->context.n_entries - 1 - i];

		fprintf(c->out, "    id 0x%llx count 0x%llx site %s\n", e->id,
			e->site >> PCCE_SITE_BITS, space_name(s, e->site & PCCE_SITE_MASK));
	}
	fprintf(c->out, "  seen, innermost first:\n");
	for (size_t i = 0; i < chain->n && i < 24; i++) {
		const struct activation *a = &chain->a[chain->n - 1 - i];

		fprintf(c->out, "    %s %s\n",
			a->kind == ACTIVATION_SIGNAL ? "signal"
			: a->func == PCCE_NONE	     ? "foreign"
						     : "call",
			space_name(s, a->calls));
	}
	fflush(c->out);
}

void captured_name(struct captured *c, struct chain *chain, struct space *s,
		   const struct capture_area *area, enum outcome context)
{
	struct chain_keys keys = chain_keys(chain, s, (struct moment){.ip = area->context.ip});
	static const struct pcce_id none;
	struct pcce_id name = area->name;

	if (context >= OUTCOME_MARKED || context == OUTCOME_MISMATCH ||
	    context == OUTCOME_OUTSIDE) {
		c->names_marked++;
		return;
	}
	if (chain_unfilled(chain) || jumps(area)) {
		c->names_unfilled++;
		return;
	}
	/* The runtime has not begun. */
	if (!c->names && !memcmp(&name, &none, sizeof(name))) {
		c->names_unfilled++;
		return;
	}
	c->names++;
	if (is_time(c, c->names, MISTAKE_NAME))
		name.bytes[c->names % sizeof(name.bytes)] ^= 1;
	if (!memcmp(&name, &none, sizeof(name))) {
		c->names_wrong++;
		report_name(c, chain, s, "there is none", area);
		return;
	}
	switch (names_add(keys, &name)) {
	case NAMES_NEW:
		c->names_distinct++;
		break;
	case NAMES_KNOWN:
		break;
	case NAMES_OTHER_NAME:
		c->names_wrong++;
		report_name(c, chain, s, "the chain had another one before", area);
		break;
	case NAMES_OTHER_CHAIN:
		c->names_wrong++;
		report_name(c, chain, s, "another chain has the same", area);
		break;
	}
}

bool captured_failed(const struct captured *c)
{
	return check_failed(&c->contexts) || c->names_wrong || !c->names || c->refused;
}

void captured_print(const struct captured *c)
{
	check_print(&c->contexts, "captured_");
	fprintf(c->out, "captured_refused: %" PRIu64 "\n", c->refused);
	fprintf(c->out,
		"names: %" PRIu64 "\nnames_distinct: %" PRIu64 "\nnames_wrong: %" PRIu64 "\n",
		c->names, c->names_distinct, c->names_wrong);
	fprintf(c->out, "names_of_marked: %" PRIu64 "\nnames_unfilled: %" PRIu64 "\n",
		c->names_marked, c->names_unfilled);
}
