/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds a merged recording to ClickHouse.
 *
 * Modules, symbols and contexts are sent only if no machine has sent them before. The row of the
 * recording comes last: readers see the samples of those recordings only that have one. So a
 * recording is there as a whole, or not at all, and may be sent again after a failure.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/id_map.h"
#include "store/module_id.h"
#include "store/packed.h"
#include "store/schema.h"
#include "store/sql.h"
#include "store/sql_text.h"
#include "stream/recording.h"
#include "stream/threads.h"

/* Rows are sent when they are this large. */
#define BATCH_BYTES (8u << 20)

struct put_module {
	char build[65];
	char *path;
	struct module_facts facts;
};

struct put_symbol {
	uint32_t module;
	uint64_t vaddr;
	size_t at, size; /* in put.frames */
};

struct put_context {
	struct store_key key;
	size_t at, size; /* in put.packed */
};

/* A row of samples: the sum of all that are equal here, also if they were not in the recording: two
 * calls in one function of the kernel, for example. */
struct put_row {
	uint32_t context, process, thread, build, event; /* strings are of put.names */
	uint64_t samples, weight;
};

struct put {
	struct stream stream;
	struct engine *engine;
	const struct merged *merged;
	const char *service;
	struct recording *recording;
	struct symbol_table *names;
	struct threads *threads;
	struct stack_store *stacks;
	struct put_module *modules;
	struct store_key *ids; /* by module */
	size_t n_modules;
	struct put_symbol *symbols;
	size_t n_symbols;
	struct bytes frames;	    /* of symbols */
	uint32_t kernel;	    /* module; UINT32_MAX: none */
	struct id_map kernel_names; /* string of names, by address */
	struct packer packer;
	struct put_context *contexts;
	size_t n_contexts;
	struct id_map by_key;
	struct bytes packed;  /* of contexts */
	struct bytes context; /* that is being packed */
	struct put_row *rows;
	size_t n_rows;
	struct id_map by_row;
	uint32_t time;
	uint64_t event_samples[RECORDING_ACCOUNTS];
	struct error *why;
	char number[16];
};

/* ---- the first pass -------------------------------------------------------------- */

static struct put *put_of_stream(struct stream *s)
{
	return (struct put *)s;
}

static int list_module_facts(struct stream *s, const struct pcce_rec_module *rec, const char *path)
{
	struct put *p = put_of_stream(s);
	struct put_module *m;

	if (array_grow(&p->modules, p->n_modules, sizeof(*p->modules)))
		return -ENOMEM;
	m = &p->modules[p->n_modules];
	*m = (struct put_module){.path = strdup(path)};
	if (!m->path)
		return -ENOMEM;
	for (uint32_t i = 0; i < rec->build_id_size; i++)
		snprintf(m->build + 2 * i, 3, "%02x", rec->build_id[i]);
	if (!strcmp(path, PCCE_MODULE_KERNEL))
		p->kernel = (uint32_t)p->n_modules;
	p->n_modules++;
	return 0;
}

static int take_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		    const char *path)
{
	struct put *p = put_of_stream(s);
	struct module_facts *f;

	(void)pgoff;
	(void)path;
	if (rec->module == PCCE_MODULE_NONE || !rec->length)
		return 0;
	f = &p->modules[rec->module].facts;
	if (!f->high || rec->vaddr < f->low)
		f->low = rec->vaddr;
	if (rec->vaddr + rec->length > f->high)
		f->high = rec->vaddr + rec->length;
	f->fixed = rec->start == rec->vaddr;
	return 0;
}

static int name_kernel_address(struct put *p, uint64_t address, const char *function)
{
	uint64_t words[ID_MAP_WORDS] = {address};
	struct id_map_entry *e = id_map_find(&p->kernel_names, words);
	uint32_t name = symbol_table_intern(p->names, function);

	if (!e || name == UINT32_MAX)
		return -ENOMEM;
	if (!e->number)
		id_map_fill(&p->kernel_names, e, words, name);
	return 0;
}

static int take_symbol(struct stream *s, const struct pcce_rec_symbol *rec, const char *function,
		       const char *file)
{
	struct put *p = put_of_stream(s);
	struct put_symbol *last = p->n_symbols ? &p->symbols[p->n_symbols - 1] : NULL;

	if (rec->module == p->kernel)
		return name_kernel_address(p, rec->vaddr, function);
	if (!last || last->module != rec->module || last->vaddr != rec->vaddr) {
		if (array_grow(&p->symbols, p->n_symbols, sizeof(*p->symbols)))
			return -ENOMEM;
		last = &p->symbols[p->n_symbols++];
		*last = (struct put_symbol){
			.module = rec->module, .vaddr = rec->vaddr, .at = p->frames.n};
	}
	bytes_put_u64(&p->frames, rec->symbol);
	bytes_put_u32(&p->frames, rec->line);
	bytes_put_u32(&p->frames, rec->flags);
	bytes_put_text(&p->frames, function);
	bytes_put_text(&p->frames, file);
	last->size = p->frames.n - last->at;
	return p->frames.failed ? -ENOMEM : 0;
}

static const struct stream_ops put_ops = {
	.map = take_map,
	.module = list_module_facts,
	.symbol = take_symbol,
};

/* What tables of samples cannot say. */
static int refuse_kinds(const struct put *p)
{
	const struct recording *r = p->recording;
	const char *option = r->hot.phi > 0 ? "hot" : r->only.expression ? "only" : NULL;

	return option ? error_set(p->why, -EINVAL,
				  "cannot store %s: it was recorded with --%s, and a store keeps "
				  "all samples; record without it",
				  p->merged->name, option)
		      : 0;
}

static int identify_modules(struct put *p)
{
	p->ids = calloc(p->n_modules + 1, sizeof(*p->ids));
	if (!p->ids)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_modules; i++) {
		struct put_module *m = &p->modules[i];

		m->facts.build = m->build;
		m->facts.path = m->path;
		m->facts.table = p->recording->modules[i].data;
		m->facts.n = p->recording->modules[i].size;
		if (module_identify(&m->facts, &p->ids[i]))
			return -ENOMEM;
	}
	return 0;
}

/* ---- samples --------------------------------------------------------------------- */

static const char *kernel_name(void *ctx, uint64_t address)
{
	struct put *p = ctx;
	uint64_t words[ID_MAP_WORDS] = {address};
	struct id_map_entry *e;

	if (address < PCCE_WAITS) {
		snprintf(p->number, sizeof(p->number), "%" PRIu64, address);
		return p->number;
	}
	e = id_map_find(&p->kernel_names, words);
	return e && e->number ? symbol_table_string(p->names, e->number - 1) : "[kernel]";
}

/* Keeps a packed context, once. Returns its number; UINT32_MAX: no memory. */
static uint32_t keep_context(struct put *p)
{
	uint64_t words[ID_MAP_WORDS] = {0};
	struct id_map_entry *e;
	struct store_key key;

	store_hash(&p->context, &key);
	memcpy(words, &key, sizeof(key));
	e = id_map_find(&p->by_key, words);
	if (!e)
		return UINT32_MAX;
	if (e->number)
		return e->number - 1;
	if (array_grow(&p->contexts, p->n_contexts, sizeof(*p->contexts)))
		return UINT32_MAX;
	p->contexts[p->n_contexts] =
		(struct put_context){.key = key, .at = p->packed.n, .size = p->context.n};
	bytes_put(&p->packed, p->context.data, p->context.n);
	if (p->packed.failed)
		return UINT32_MAX;
	id_map_fill(&p->by_key, e, words, (uint32_t)p->n_contexts);
	return (uint32_t)p->n_contexts++;
}

static void put_event_name(struct bytes *to, const struct recording *r, uint32_t event)
{
	size_t length;
	const char *name = datafile_event(r->event, event, &length);

	bytes_put_string(to, name, length);
}

static int add_to_row(struct put *p, const struct put_row *row)
{
	uint64_t words[ID_MAP_WORDS] = {(uint64_t)row->context << 32 | row->event,
					(uint64_t)row->process << 32 | row->thread, row->build};
	struct id_map_entry *e = id_map_find(&p->by_row, words);

	if (!e)
		return -ENOMEM;
	if (e->number) {
		p->rows[e->number - 1].samples += row->samples;
		p->rows[e->number - 1].weight += row->weight;
		return 0;
	}
	if (array_grow(&p->rows, p->n_rows, sizeof(*p->rows)))
		return -ENOMEM;
	p->rows[p->n_rows] = *row;
	id_map_fill(&p->by_row, e, words, (uint32_t)p->n_rows++);
	return 0;
}

static int put_one_sample(void *ctx, const struct stream_event *of)
{
	struct put *p = ctx;
	const struct pcce_sample *s = of->sample;
	uint32_t space = address_spaces_at(p->recording->spaces, s->pid, s->time);
	uint32_t number = threads_number(p->threads, s->pid, s->tid);
	struct put_row row = {.event = s->event, .samples = of->samples, .weight = of->weight};
	const struct decode_module *main;
	const struct decode_space *as;
	const struct thread *t;
	int r;

	t = number == UINT32_MAX ? NULL : threads_get(p->threads, number);
	if (space == UINT32_MAX || !t)
		return -ENOMEM;
	as = address_spaces_get(p->recording->spaces, space);
	main = as->main_module(as);
	r = pack_context(&p->packer, as, of, &p->context);
	if (r)
		return r == -E2BIG ? error_set(p->why, r,
					       "cannot store %s: a context has functions of more "
					       "than %u programs and libraries",
					       p->merged->name, PACKED_MODULES)
				   : r;
	row.context = keep_context(p);
	row.process = t->process;
	row.thread = t->name;
	row.build = symbol_table_intern(p->names, main ? p->modules[main->module].build : "");
	if (row.context == UINT32_MAX || row.build == UINT32_MAX)
		return -ENOMEM;
	p->event_samples[recording_account_of(s->event)] += of->samples;
	return add_to_row(p, &row);
}

static int read_merged(struct put *p)
{
	struct stream *to;
	int r;

	p->names = symbol_table_new(SYMBOL_NAMES_RAW);
	p->threads = p->names ? threads_new(p->names) : NULL;
	p->stacks = stack_store_new();
	if (!p->threads || !p->stacks)
		return -ENOMEM;
	to = threads_stage(p->threads, &p->stream);
	r = recording_open(p->merged->path, NULL, to, &p->recording, p->why);
	r = r ? r : refuse_kinds(p);
	r = r ? r : identify_modules(p);
	if (r)
		return r;
	threads_finish(p->threads);
	if (p->recording->info.wall_time / 1000000000 >= UINT32_MAX)
		return error_set(p->why, -EOVERFLOW,
				 "cannot store %s: it began after the year 2105; set the clock of "
				 "its machine, and record again",
				 p->merged->name);
	p->time = (uint32_t)(p->recording->info.wall_time / 1000000000);
	p->packer.ids = p->ids;
	p->packer.kernel_name = kernel_name;
	p->packer.ctx = p;
	return recording_samples(p->recording, p->merged->path, p->stacks, put_one_sample, p,
				 p->why);
}

/* ---- rows ------------------------------------------------------------------------ */

/* Notes a row that is there already. */
static int note_key(struct id_map *there, const void *key, uint64_t address)
{
	uint64_t words[ID_MAP_WORDS] = {0, 0, address};
	struct id_map_entry *e;

	memcpy(words, key, STORE_KEY_SIZE);
	e = id_map_find(there, words);
	if (!e)
		return -ENOMEM;
	if (!e->number)
		id_map_fill(there, e, words, 0);
	return 0;
}

static bool is_there(struct id_map *there, const struct store_key *key, uint64_t address)
{
	uint64_t words[ID_MAP_WORDS] = {0, 0, address};
	struct id_map_entry *e;

	memcpy(words, key, sizeof(*key));
	e = id_map_find(there, words);
	return e && e->number;
}

/* Asks which of n keys a table has. address: another column of their rows, or "toUInt64(0)". */
static int ask_keys(struct put *p, enum store_table t, const char *column, const char *address,
		    const void *keys, size_t n, size_t stride, struct id_map *there)
{
	struct bytes reply = {0};
	int r = 0;

	for (size_t i = 0; i < n && !r; i += SQL_KEYS) {
		size_t some = n - i < SQL_KEYS ? n - i : SQL_KEYS;
		struct bytes sql = {0};
		struct cursor c;

		sql_format(&sql, "SELECT DISTINCT %s, %s FROM %s.%s WHERE %s IN ", column, address,
			   p->engine->database, schema_table(t), column);
		sql_keys(&sql, (const char *)keys + i * stride, some, stride);
		r = sql_ask(p->engine, &sql, &reply, &c, p->why);
		while (!r && c.at < c.end) {
			const void *key = cursor_get(&c, STORE_KEY_SIZE);
			uint64_t number = cursor_u64(&c);

			r = c.bad ? 0 : note_key(there, key, number);
		}
	}
	bytes_free(&reply);
	return r;
}

static int send_batch(struct put *p, enum store_table t, struct bytes *rows, bool last)
{
	return last || rows->n >= BATCH_BYTES || rows->failed
		       ? schema_insert(p->engine, t, rows, p->why)
		       : 0;
}

static int send_modules(struct put *p, struct id_map *there)
{
	struct bytes rows = {0};
	int r = ask_keys(p, STORE_MODULES, "id", "toUInt64(0)", p->ids, p->n_modules,
			 sizeof(*p->ids), there);

	for (size_t i = 0; i < p->n_modules && !r; i++) {
		const struct module_facts *f = &p->modules[i].facts;

		if (is_there(there, &p->ids[i], 0))
			continue;
		bytes_put(&rows, &p->ids[i], sizeof(*p->ids));
		bytes_put_text(&rows, f->build);
		bytes_put_text(&rows, f->path);
		bytes_put_u8(&rows, f->fixed);
		bytes_put_u64(&rows, f->low);
		bytes_put_u64(&rows, f->high);
		bytes_put_string(&rows, f->table, f->n);
		r = send_batch(p, STORE_MODULES, &rows, false);
	}
	r = r ? r : send_batch(p, STORE_MODULES, &rows, true);
	bytes_free(&rows);
	return r;
}

static int send_symbols(struct put *p, struct id_map *there)
{
	struct bytes rows = {0};
	int r = p->n_symbols ? ask_keys(p, STORE_SYMBOLS, "module", "address", p->ids, p->n_modules,
					sizeof(*p->ids), there)
			     : 0;

	for (size_t i = 0; i < p->n_symbols && !r; i++) {
		const struct put_symbol *s = &p->symbols[i];

		if (is_there(there, &p->ids[s->module], s->vaddr))
			continue;
		bytes_put(&rows, &p->ids[s->module], sizeof(*p->ids));
		bytes_put_u64(&rows, s->vaddr);
		bytes_put_string(&rows, p->frames.data + s->at, s->size);
		r = send_batch(p, STORE_SYMBOLS, &rows, false);
	}
	r = r ? r : send_batch(p, STORE_SYMBOLS, &rows, true);
	bytes_free(&rows);
	return r;
}

static int send_contexts(struct put *p, struct id_map *there)
{
	struct bytes rows = {0};
	int r = ask_keys(p, STORE_CONTEXTS, "key", "toUInt64(0)", p->contexts, p->n_contexts,
			 sizeof(*p->contexts), there);

	for (size_t i = 0; i < p->n_contexts && !r; i++) {
		const struct put_context *c = &p->contexts[i];

		if (is_there(there, &c->key, 0))
			continue;
		bytes_put(&rows, &c->key, sizeof(c->key));
		bytes_put_string(&rows, p->packed.data + c->at, c->size);
		r = send_batch(p, STORE_CONTEXTS, &rows, false);
	}
	r = r ? r : send_batch(p, STORE_CONTEXTS, &rows, true);
	bytes_free(&rows);
	return r;
}

static int send_samples(struct put *p)
{
	struct bytes rows = {0};
	int r = 0;

	for (size_t i = 0; i < p->n_rows && !r; i++) {
		const struct put_row *row = &p->rows[i];
		const char *process = symbol_table_string(p->names, row->process);

		bytes_put_u32(&rows, p->time);
		bytes_put_text(&rows, p->recording->host);
		bytes_put_text(&rows, p->service ? p->service : process);
		bytes_put_text(&rows, process);
		bytes_put_text(&rows, symbol_table_string(p->names, row->thread));
		bytes_put_text(&rows, symbol_table_string(p->names, row->build));
		put_event_name(&rows, p->recording, row->event);
		bytes_put(&rows, &p->contexts[row->context].key, STORE_KEY_SIZE);
		bytes_put_u32(&rows, p->merged->run);
		bytes_put_u64(&rows, row->samples);
		bytes_put_u64(&rows, row->weight);
		r = send_batch(p, STORE_SAMPLES, &rows, false);
	}
	r = r ? r : send_batch(p, STORE_SAMPLES, &rows, true);
	bytes_free(&rows);
	return r;
}

/* One row for each event. */
static int send_recording(struct put *p)
{
	const struct recording *rec = p->recording;
	uint32_t n = datafile_events(rec->event);
	struct bytes rows = {0};
	int r;

	for (uint32_t i = 0; i < n; i++) {
		const struct recording_account *a = &rec->accounts[recording_account_of(i)];
		const struct recording_rate *rate = &rec->rates[recording_account_of(i)];

		bytes_put_u32(&rows, p->time);
		bytes_put_text(&rows, rec->host);
		bytes_put_u32(&rows, p->merged->run);
		bytes_put_u8(&rows, (uint8_t)i);
		put_event_name(&rows, rec, i);
		bytes_put_u64(&rows, rate->frequency);
		bytes_put_u64(&rows, rate->period);
		bytes_put_text(&rows, rec->sampler);
		bytes_put_text(&rows, rec->command);
		bytes_put_text(&rows, rec->kernel);
		bytes_put_u32(&rows, rec->info.flags);
		bytes_put_u64(&rows, p->event_samples[recording_account_of(i)]);
		bytes_put_count(&rows, PCCE_LOSS_MAX + 1);
		for (uint32_t j = 0; j <= PCCE_LOSS_MAX; j++)
			bytes_put_u64(&rows, a->lost[j]);
		bytes_put_u8(&rows, a->due.known);
		bytes_put_u64(&rows, a->due.due);
		bytes_put_u64(&rows, a->due.merged);
		bytes_put_u64(&rows, a->due.kernel);
		bytes_put_u64(&rows, i ? 0 : rec->frames_unwound);
		bytes_put_u64(&rows, i ? 0 : rec->frames_reused);
		bytes_put_u64(&rows, i ? 0 : rec->stack_bytes);
	}
	r = schema_insert(p->engine, STORE_RECORDINGS, &rows, p->why);
	bytes_free(&rows);
	return r;
}

/* Calls send() with an empty list of rows that are there. */
static int send_new(struct put *p, int (*send)(struct put *p, struct id_map *there))
{
	struct id_map there = {0};
	int r = send(p, &there);

	id_map_free(&there);
	return r;
}

static int send_all(struct put *p)
{
	int r = schema_create(p->engine, p->why);

	r = r ? r : send_new(p, send_modules);
	r = r ? r : send_new(p, send_symbols);
	r = r ? r : send_new(p, send_contexts);
	r = r ? r : send_samples(p);
	return r ? r : send_recording(p);
}

static void free_put(struct put *p)
{
	recording_close(p->recording);
	threads_free(p->threads);
	stack_store_free(p->stacks);
	symbol_table_free(p->names);
	for (size_t i = 0; i < p->n_modules; i++)
		free(p->modules[i].path);
	free(p->modules);
	free(p->ids);
	free(p->symbols);
	free(p->contexts);
	bytes_free(&p->frames);
	bytes_free(&p->packed);
	bytes_free(&p->context);
	free(p->rows);
	id_map_free(&p->kernel_names);
	id_map_free(&p->by_key);
	id_map_free(&p->by_row);
	free(p);
}

int sql_put(struct engine *e, const struct merged *m, const char *service, struct error *why)
{
	struct put *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return error_memory(why);
	p->stream.ops = &put_ops;
	p->engine = e;
	p->merged = m;
	p->service = service;
	p->kernel = UINT32_MAX;
	p->why = why;
	r = read_merged(p);
	r = r ? r : send_all(p);
	if (r == -ENOMEM && !*why->text)
		error_memory(why);
	free_put(p);
	return r;
}
