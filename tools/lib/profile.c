/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two passes: first the whole file is read, since mappings, tables and symbols may
 * stand behind the samples that need them; then every different sample is decoded
 * once for each address space in which it occurs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/address_space.h"
#include "tools/lib/datafile_read.h"
#include "tools/lib/profile.h"
#include "tools/lib/sample.h"
#include "tools/lib/samples.h"
#include "tools/lib/tree_build.h"
#include "tools/lib/verify.h"

/* What a raw sample means in one address space. */
struct decoded {
	struct decoded *next;
	const struct raw_sample *raw;
	uint64_t r11;
	uint32_t space;
	uint32_t node;
	uint32_t depth;			/* UINT32_MAX: that or more */
	uint8_t status, reason, verify; /* enum decode_status, decode_reason, verify_result */
	bool needs_r11;
};

struct loaded_table {
	void *data;
	struct table table;
	uint32_t module;
};

struct internals {
	struct spaces *spaces;
	struct samples samples;
	struct flat_stack stack; /* of the sample that is being decoded */
	struct loaded_table **tables;
	size_t n_tables, tables_capacity;
	struct decoded *decoded; /* in the order in which they were met */
	size_t n_decoded, decoded_capacity;
	uint64_t *seen; /* hashes of contexts; 0: free */
	size_t n_seen, n_slots;
};

static int fail(int code, char *why, size_t size, const char *format, ...) __attribute__((format(printf, 4, 5)));

static int fail(int code, char *why, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return code;
}

static const struct table *table_of(void *ctx, uint32_t module)
{
	const struct profile *p = ctx;

	return names_table(p->names, module);
}

/* ---- reading --------------------------------------------------------------------- */

static int add_table(struct profile *p, const struct pcce_rec_table *rec, const char *name, char *why, size_t why_size)
{
	struct internals *in = p->in;
	struct loaded_table *t, **more;
	const char *reason = "";
	const void *data;
	size_t size;
	int r;

	data = datafile_table(rec, &size);
	if (in->n_tables == in->tables_capacity) {
		size_t want = in->tables_capacity ? in->tables_capacity * 2 : 16;

		more = reallocarray(in->tables, want, sizeof(struct loaded_table *));
		if (!more)
			return -ENOMEM;
		in->tables = more;
		in->tables_capacity = want;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->module = rec->module;
	t->data = malloc(size + 1);
	if (!t->data) {
		free(t);
		return -ENOMEM;
	}
	memcpy(t->data, data, size);
	r = table_open(t->data, size, &t->table, &reason);
	if (!r)
		r = names_set_table(p->names, rec->module, &t->table);
	if (r) {
		free(t->data);
		free(t);
		if (r == -EINVAL)
			return fail(r, why, why_size,
				    "%s: the encoding table of %s in it %s; record again with a pcce of one version",
				    name,
				    *names_path(p->names, rec->module) ? names_path(p->names, rec->module) : "a module",
				    reason);
		return r;
	}
	in->tables[in->n_tables++] = t;
	return 0;
}

static void add_lost(struct profile_stats *s, const struct pcce_rec_lost *rec)
{
	s->lost += rec->count;
	s->lost_reasons[rec->reason <= PCCE_LOSS_SHAPE ? rec->reason : 0] += rec->count;
}

static int copy_string(char **to, const char *from)
{
	free(*to);
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

static int read_record(struct profile *p, const struct pcce_record *rec, const char *name, char *why, size_t why_size)
{
	struct internals *in = p->in;

	switch (rec->type) {
	case PCCE_REC_INFO: {
		const struct pcce_rec_info *r = (const void *)rec;

		p->frequency = r->frequency;
		p->start_time = r->start_time;
		p->wall_time = r->wall_time;
		p->stats.verify = r->flags & PCCE_INFO_VERIFY;
		if (copy_string(&p->sampler, datafile_string(rec, 0)) ||
		    copy_string(&p->event, datafile_string(rec, 1)) ||
		    copy_string(&p->command, datafile_string(rec, 2)) ||
		    copy_string(&p->host, datafile_string(rec, 3)) || copy_string(&p->kernel, datafile_string(rec, 4)))
			return -ENOMEM;
		return 0;
	}
	case PCCE_REC_PROCESS: {
		const struct pcce_rec_process *r = (const void *)rec;

		if (threads_name(&p->threads, r->pid, r->pid, datafile_string(rec, 0)))
			return -ENOMEM;
		return spaces_add_process(in->spaces, r);
	}
	case PCCE_REC_THREAD: {
		const struct pcce_rec_thread *r = (const void *)rec;

		return threads_name(&p->threads, r->pid, r->tid, datafile_string(rec, 0));
	}
	case PCCE_REC_MAP:
		return spaces_add_map(in->spaces, (const void *)rec);
	case PCCE_REC_MODULE:
		return names_add_module(p->names, (const void *)rec, datafile_string(rec, 0));
	case PCCE_REC_SYMBOL:
		return names_add_symbol(p->names, (const void *)rec, datafile_string(rec, 0), datafile_string(rec, 1));
	case PCCE_REC_TABLE:
		return add_table(p, (const void *)rec, name, why, why_size);
	case PCCE_REC_SAMPLE: {
		const struct pcce_sample *s = &((const struct pcce_rec_sample *)rec)->sample;
		uint32_t thread = threads_number(&p->threads, s->pid, s->tid);

		p->stats.sample_bytes += rec->size;
		return thread == UINT32_MAX ? -ENOMEM : samples_add(&in->samples, s, thread);
	}
	case PCCE_REC_LOST:
		add_lost(&p->stats, (const void *)rec);
		return 0;
	default:
		return 0;
	}
}

static int read_all(struct profile *p, struct datafile_reader *reader, const char *name, char *why, size_t why_size)
{
	const struct pcce_record *rec;
	int r;

	while ((r = datafile_next(reader, &rec)) > 0) {
		r = read_record(p, rec, name, why, why_size);
		if (r)
			return r;
	}
	if (r < 0)
		return fail(r, why, why_size, "%s", datafile_error(reader));
	p->complete = datafile_complete(reader);
	p->cut_off = datafile_dropped(reader);
	p->unknown = datafile_unknown(reader);
	return 0;
}

/* ---- decoding -------------------------------------------------------------------- */

/* Is this chain of calls new? Contexts are told apart by 64 bits of hash. */
static int count_unique(struct profile *p, const struct context *ctx)
{
	struct internals *in = p->in;
	uint64_t h = 0x9e3779b97f4a7c15ULL, *more;
	size_t at;

	for (size_t i = 0; i < ctx->n; i++) {
		const struct frame *f = &ctx->frames[i];
		uint64_t words[3] = {(uint64_t)f->kind << 32 | f->module, (uint64_t)f->func << 32 | f->site,
				     (uint64_t)f->span << 32 | f->repeat};

		for (int j = 0; j < 3; j++) {
			h = (h ^ words[j]) * 0xff51afd7ed558ccdULL;
			h ^= h >> 32;
		}
	}
	h += !h;
	if (in->n_seen * 2 >= in->n_slots) {
		size_t want = in->n_slots ? in->n_slots * 2 : 4096;

		more = calloc(want, sizeof(*more));
		if (!more)
			return -ENOMEM;
		for (size_t i = 0; i < in->n_slots; i++) {
			if (!in->seen[i])
				continue;
			for (at = in->seen[i] & (want - 1); more[at]; at = (at + 1) & (want - 1))
				;
			more[at] = in->seen[i];
		}
		free(in->seen);
		in->seen = more;
		in->n_slots = want;
	}
	for (at = h & (in->n_slots - 1); in->seen[at]; at = (at + 1) & (in->n_slots - 1))
		if (in->seen[at] == h)
			return 0;
	in->seen[at] = h;
	in->n_seen++;
	p->stats.unique_contexts++;
	return 0;
}

static int decode_raw(const struct profile *p, const struct raw_sample *raw, uint64_t r11, uint32_t space,
		      struct context *ctx)
{
	struct pcce_sample s = raw->sample;

	struct flat_stack *stack = &p->in->stack;
	int err = segments_flatten(raw->below, &raw->sample, stack);

	s.r11 = r11;
	return err ? err : decode_context(spaces_get(p->in->spaces, space), &s, stack->entries, stack->n, false, ctx);
}

/* On the encoding stack, also those that the sampler could not bring. */
static uint64_t stack_entries(const struct raw_sample *raw)
{
	return (uint64_t)raw->sample.n_below * PCCE_SEGMENT_ENTRIES + raw->sample.n_entries;
}

/* Decodes a raw sample in a space in which it was not met before. */
static int meet(struct profile *p, struct tree_builder *b, struct context *ctx, const struct sample *s, uint32_t space)
{
	struct internals *in = p->in;
	uint64_t entries;
	const struct address_space *as = spaces_get(in->spaces, space);
	struct decoded *d = &in->decoded[in->n_decoded];
	int r = decode_raw(p, s->raw, s->r11, space, ctx);

	if (r)
		return r;
	*d = (struct decoded){
		.depth = ctx->depth < UINT32_MAX ? ctx->depth : UINT32_MAX,
		.next = s->raw->decoded,
		.raw = s->raw,
		.r11 = s->r11,
		.space = space,
		.status = ctx->status,
		.reason = ctx->reason,
		.verify = verify_context(as, &s->raw->sample, sample_stack(&s->raw->sample), ctx),
		.needs_r11 = decode_needs_r11(as, s->raw->sample.ip),
	};
	if (b)
		d->node = tree_builder_add(b, as, ctx, s->raw->sample.flags & PCCE_SAMPLE_KERNEL);
	if (d->node == UINT32_MAX)
		return -ENOMEM;
	in->n_decoded++;
	s->raw->decoded = d;
	if (ctx->status == DECODE_OUTSIDE)
		return 0;
	if (ctx->depth > p->stats.max_depth)
		p->stats.max_depth = ctx->depth;
	entries = stack_entries(s->raw);
	if (entries > p->stats.max_encoding_stack)
		p->stats.max_encoding_stack = entries;
	return ctx->status == DECODE_UNDECODABLE ? 0 : count_unique(p, ctx);
}

static void count(struct profile *p, const struct decoded *d, uint32_t weight)
{
	struct cct_node *node = &p->tree.nodes[d->node];

	node->self += weight;
	node->samples++;
	p->stats.samples++;
	switch ((enum decode_status)d->status) {
	case DECODE_EXACT:
		p->stats.exact++;
		break;
	case DECODE_TRUNCATED:
		p->stats.truncated++;
		break;
	case DECODE_OUTSIDE:
		p->stats.outside++;
		break;
	case DECODE_UNDECODABLE:
		p->stats.undecodable++;
		p->stats.reasons[d->reason]++;
		break;
	}
	p->stats.verified += d->verify == VERIFY_AGREES;
	p->stats.mismatches += d->verify == VERIFY_MISMATCH;
	p->stats.unverifiable += d->verify == VERIFY_UNVERIFIABLE;
}

static int decode_all(struct profile *p, const struct profile_options *o)
{
	struct internals *in = p->in;
	struct tree_builder *b = o->tree ? tree_builder_new(&p->tree, p->names, o->inlining) : NULL;
	struct context ctx = {0};
	int r = 0;

	/* At most one each, and then nothing ever moves. */
	in->decoded = calloc(in->samples.n + 1, sizeof(*in->decoded));
	if ((!b && o->tree) || !in->decoded)
		r = -ENOMEM;
	for (size_t i = 0; i < in->samples.n && !r; i++) {
		struct sample *s = &in->samples.list[i];
		uint32_t space = spaces_at(in->spaces, p->threads.list[s->thread].pid, s->time);
		struct decoded *d;

		if (space == UINT32_MAX) {
			r = -ENOMEM;
			break;
		}
		for (d = s->raw->decoded; d; d = d->next)
			if (d->space == space && (!d->needs_r11 || d->r11 == s->r11))
				break;
		if (!d) {
			r = meet(p, b, &ctx, s, space);
			d = s->raw->decoded;
		}
		if (!r) {
			count(p, d, s->weight);
			s->decoded = d;
		}
	}
	context_free(&ctx);
	tree_builder_free(b);
	return r;
}

size_t profile_samples(const struct profile *p)
{
	return p->in->samples.n;
}

struct profile_sample profile_sample(const struct profile *p, size_t i)
{
	const struct sample *s = &p->in->samples.list[i];
	const struct decoded *d = s->decoded;
	uint64_t entries = stack_entries(d->raw);

	return (struct profile_sample){
		.time = s->time,
		.depth = d->depth,
		.thread = s->thread,
		.node = d->node,
		.weight = s->weight,
		.entries = entries < UINT32_MAX ? entries : UINT32_MAX,
		.status = d->status,
		.reason = d->reason,
	};
}

/* ---- all together ---------------------------------------------------------------- */

static int load(struct profile *p, struct datafile_reader *reader, const char *name, const struct profile_options *o,
		char *why, size_t why_size)
{
	int r;

	p->in = calloc(1, sizeof(*p->in));
	p->names = names_new();
	p->sampler = strdup("");
	p->event = strdup("");
	p->command = strdup("");
	p->host = strdup("");
	p->kernel = strdup("");
	if (!p->in || !p->names || !p->sampler || !p->event || !p->command || !p->host || !p->kernel ||
	    cct_init(&p->tree))
		return -ENOMEM;
	p->in->spaces = spaces_new(table_of, p);
	if (!p->in->spaces)
		return -ENOMEM;
	r = read_all(p, reader, name, why, why_size);
	if (r)
		return r;
	if (names_finish(p->names) || spaces_finish(p->in->spaces) || threads_finish(&p->threads))
		return -ENOMEM;
	r = decode_all(p, o);
	return r ? r : cct_finish(&p->tree, p->names);
}

static int load_and_close(struct datafile_reader *reader, const char *name, const struct profile_options *o,
			  struct profile **out, char *why, size_t why_size)
{
	struct profile *p = calloc(1, sizeof(*p));
	int r;

	*why = 0;
	r = p ? load(p, reader, name, o, why, why_size) : -ENOMEM;
	datafile_close(reader);
	if (r) {
		profile_free(p);
		if (r == -ENOMEM)
			fail(r, why, why_size, "%s: out of memory while reading it", name);
		return r;
	}
	*out = p;
	return 0;
}

int profile_load(const char *path, const struct profile_options *o, struct profile **out, char *why, size_t why_size)
{
	struct datafile_reader *reader;
	int r = datafile_open(path, &reader, why, why_size);

	return r ? r : load_and_close(reader, path, o, out, why, why_size);
}

int profile_load_memory(const void *data, size_t size, const char *name, const struct profile_options *o,
			struct profile **out, char *why, size_t why_size)
{
	struct datafile_reader *reader;
	int r = datafile_open_memory(data, size, name, &reader, why, why_size);

	return r ? r : load_and_close(reader, name, o, out, why, why_size);
}

void profile_free(struct profile *p)
{
	struct internals *in;

	if (!p)
		return;
	in = p->in;
	if (in) {
		for (size_t i = 0; i < in->n_tables; i++) {
			table_close(&in->tables[i]->table);
			free(in->tables[i]->data);
			free(in->tables[i]);
		}
		spaces_free(in->spaces);
		samples_free(&in->samples);
		free(in->stack.entries);
		free(in->tables);
		free(in->decoded);
		free(in->seen);
	}
	free(in);
	names_free(p->names);
	threads_free(&p->threads);
	cct_free(&p->tree);
	free(p->sampler);
	free(p->event);
	free(p->command);
	free(p->host);
	free(p->kernel);
	free(p);
}

/* ---- what went wrong, in full ---------------------------------------------------- */

static void print_address(const struct profile *p, const struct address_space *as, uint64_t address, FILE *out)
{
	const struct mapped_module *m = as->find(as, address);
	uint64_t vaddr;
	uint32_t func = PCCE_NONE;

	fprintf(out, "%#18llx", (unsigned long long)address);
	if (!m) {
		fprintf(out, "  not mapped\n");
		return;
	}
	vaddr = address - m->start + m->vaddr;
	fprintf(out, "  %s+%#llx", names_base(p->names, m->module), (unsigned long long)vaddr);
	if (m->table)
		func = table_func_at(m->table, vaddr);
	if (func != PCCE_NONE)
		fprintf(out, "  %s%+lld", names_string(p->names, names_function(p->names, m->module, func)),
			(long long)(vaddr - m->table->funcs[func].addr));
	else if (m->table && table_helper_at(m->table, vaddr))
		fprintf(out, "  push or pop helper");
	if (func != PCCE_NONE) {
		static const char *const kinds[] = {"none", "add", "ext", "push", "tail", "restore"};
		uint32_t site = table_site_around(m->table, vaddr);

		if (site != PCCE_NONE && m->table->sites[site].kind < 6)
			fprintf(out, "  in the slots of %s site %#llx", kinds[m->table->sites[site].kind],
				(unsigned long long)m->table->sites[site].key);
	}
	fputc('\n', out);
}

static void print_decoded(const struct profile *p, const struct address_space *as, const struct context *ctx, FILE *out)
{
	static const char *const kinds[] = {
		[FRAME_CALL] = "call", [FRAME_TAIL] = "tail",	  [FRAME_FOREIGN] = "foreign",
		[FRAME_GAP] = "gap",   [FRAME_SIGNAL] = "signal",
	};

	for (size_t i = 0; i < ctx->n; i++) {
		const struct frame *f = &ctx->frames[i];

		fprintf(out, "    %-7s ", kinds[f->kind]);
		if (f->address)
			print_address(p, as, f->address, out);
		else if (f->func != PCCE_NONE)
			fprintf(out, "%18s  %s\n", "",
				names_string(p->names, names_function(p->names, f->module, f->func)));
		else
			fputc('\n', out);
		if (f->repeat)
			fprintf(out, "            (the last %u frames %u times more)\n", f->span, f->repeat);
	}
}

void profile_print_failures(const struct profile *p, FILE *out, size_t max)
{
	size_t mismatches = 0, undecodable = 0;
	struct context ctx = {0};

	for (size_t i = 0; i < p->in->n_decoded; i++) {
		const struct decoded *d = &p->in->decoded[i];
		const struct pcce_sample *s = &d->raw->sample;
		const struct address_space *as = spaces_get(p->in->spaces, d->space);

		if (d->verify == VERIFY_MISMATCH && mismatches < max)
			fprintf(out, "mismatch %zu:", ++mismatches);
		else if (d->status == DECODE_UNDECODABLE && undecodable < max)
			fprintf(out, "undecodable %zu (%s):", ++undecodable, decode_reason_name(d->reason));
		else
			continue;
		if (decode_raw(p, d->raw, d->r11, d->space, &ctx))
			break;
		fprintf(out, " id %#llx ext %#llx r11 %#llx flags %#x entries %u and %u segments below\n  ip ",
			(unsigned long long)s->id, (unsigned long long)s->ext, (unsigned long long)d->r11, s->flags,
			s->n_entries, s->n_below);
		print_address(p, as, s->ip, out);
		fprintf(out, "  decoded:\n");
		print_decoded(p, as, &ctx, out);
		fprintf(out, "  entries, newest first:\n");
		for (uint32_t j = s->n_entries; j-- > 0;) {
			const struct pcce_entry *e = &sample_entries(s)[j];

			fprintf(out, "    id %#llx count %llu site ", (unsigned long long)e->id,
				(unsigned long long)(e->site >> PCCE_SITE_BITS));
			print_address(p, as, e->site & PCCE_SITE_MASK, out);
		}
		if (s->flags & PCCE_SAMPLE_STACK)
			fprintf(out, "  real stack%s:\n",
				s->flags & PCCE_SAMPLE_UNWIND_BAD ? " (the unwinder gave up)" : "");
		for (uint32_t j = 0; s->flags & PCCE_SAMPLE_STACK && j < s->n_stack; j++) {
			fprintf(out, "    ");
			print_address(p, as, sample_stack(s)[j], out);
		}
	}
	context_free(&ctx);
}
