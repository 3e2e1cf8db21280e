/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See rebuild.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/id_map.h"
#include "merge/sums.h"
#include "store/rebuild.h"
#include "store/merged.h"
#include "stream/kernel_stacks.h"
#include "stream/move_addresses.h"
#include "stream/writer.h"
#include "symbols/symbol_table.h"

/* Functions of the kernel get addresses from here on, this far apart. */
#define KERNEL_FIRST 0xffffffff80000000ULL
#define KERNEL_DISTANCE 16
#define MODULES_MOST ((uint32_t)(((1ULL << 47) - PACKED_PLACE(0)) / PACKED_DISTANCE))

struct rebuilt_module {
	char *build, *path;
	uint8_t *table;
	size_t n;
	uint64_t low, high;
	bool fixed;
	bool main; /* only main executables have such encoding tables */
};

struct rebuilt_event {
	char *name;
	struct recording_rate rate;
	struct recording_account account;
};

struct rebuilt_process {
	uint32_t name;
	uint32_t *modules; /* that it has mapped */
	size_t n_modules;
};

struct rebuilt_thread {
	uint32_t process, name;
};

struct rebuilt_symbol {
	uint32_t module;
	uint64_t address;
	uint8_t *frames;
	size_t n;
};

struct rebuild {
	struct merge_sums *sums;
	struct symbol_table *names;
	struct kernel_stacks *kernel;
	struct rebuild_info info; /* strings are of names */
	struct rebuilt_event *events;
	size_t n_events;
	struct rebuilt_module *modules;
	size_t n_modules;
	struct id_map by_id, by_process, by_thread, by_mapped, by_kernel, by_symbol;
	struct rebuilt_process *processes;
	size_t n_processes;
	struct rebuilt_thread *threads;
	size_t n_threads;
	struct rebuilt_symbol *symbols;
	size_t n_symbols;
	uint32_t *kernel_functions; /* strings of names */
	size_t n_kernel_functions;
	struct id_map unknown; /* modules */
	struct rebuild_missing missing;
	uint64_t samples, last;
};

struct rebuild *rebuild_new(void)
{
	struct rebuild *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->sums = merge_sums_new();
	b->names = symbol_table_new(SYMBOL_NAMES_RAW);
	b->kernel = kernel_stacks_new();
	if (b->sums && b->names && b->kernel)
		return b;
	rebuild_free(b);
	return NULL;
}

void rebuild_free(struct rebuild *b)
{
	if (!b)
		return;
	merge_sums_free(b->sums);
	symbol_table_free(b->names);
	kernel_stacks_free(b->kernel);
	for (size_t i = 0; i < b->n_events; i++)
		free(b->events[i].name);
	for (size_t i = 0; i < b->n_modules; i++) {
		free(b->modules[i].build);
		free(b->modules[i].path);
		free(b->modules[i].table);
	}
	for (size_t i = 0; i < b->n_processes; i++)
		free(b->processes[i].modules);
	for (size_t i = 0; i < b->n_symbols; i++)
		free(b->symbols[i].frames);
	free(b->events);
	free(b->modules);
	free(b->processes);
	free(b->threads);
	free(b->symbols);
	free(b->kernel_functions);
	id_map_free(&b->by_id);
	id_map_free(&b->by_process);
	id_map_free(&b->by_thread);
	id_map_free(&b->by_mapped);
	id_map_free(&b->by_kernel);
	id_map_free(&b->by_symbol);
	id_map_free(&b->unknown);
	free(b);
}

static const char *keep_text(struct rebuild *b, const char *text)
{
	uint32_t string = symbol_table_intern(b->names, text);

	return string == UINT32_MAX ? NULL : symbol_table_string(b->names, string);
}

int rebuild_set_info(struct rebuild *b, const struct rebuild_info *info)
{
	b->info = *info;
	b->info.sampler = keep_text(b, info->sampler);
	b->info.command = keep_text(b, info->command);
	b->info.host = keep_text(b, info->host);
	b->info.kernel = keep_text(b, info->kernel);
	b->last = info->start;
	return b->info.sampler && b->info.command && b->info.host && b->info.kernel ? 0 : -ENOMEM;
}

static uint32_t find_event_named(const struct rebuild *b, const char *name)
{
	for (uint32_t i = 0; i < b->n_events; i++)
		if (!strcmp(b->events[i].name, name))
			return i;
	return UINT32_MAX;
}

int rebuild_add_event(struct rebuild *b, const char *name, const struct recording_rate *rate,
		      const struct recording_account *account)
{
	struct rebuilt_event *e;

	if (!*name || datafile_events(name) != 1)
		return 0;
	if (find_event_named(b, name) != UINT32_MAX)
		return -EEXIST;
	if (b->n_events == RECORDING_ACCOUNTS)
		return -E2BIG;
	if (array_grow(&b->events, b->n_events, sizeof(*b->events)))
		return -ENOMEM;
	e = &b->events[b->n_events];
	*e = (struct rebuilt_event){.name = strdup(name), .rate = *rate, .account = *account};
	b->n_events += !!e->name;
	return e->name ? 0 : -ENOMEM;
}

/* ---- modules and symbols --------------------------------------------------------- */

static void key_words(const struct store_key *key, uint64_t words[ID_MAP_WORDS])
{
	memset(words, 0, ID_MAP_WORDS * sizeof(*words));
	memcpy(words, key, sizeof(*key));
}

int rebuild_add_module(struct rebuild *b, const struct store_key *id, const struct module_facts *f)
{
	uint64_t words[ID_MAP_WORDS];
	struct rebuilt_module *m;
	struct id_map_entry *e;
	struct store_key real;
	bool is_main;

	if (module_identify(f, &real))
		return -ENOMEM;
	key_words(id, words);
	e = id_map_find(&b->by_id, words);
	if (!e)
		return -ENOMEM;
	if (e->number || memcmp(&real, id, sizeof(real)) != 0 || !module_is_usable(f, &is_main))
		return 0;
	if (b->n_modules == MODULES_MOST)
		return -E2BIG;
	if (array_grow(&b->modules, b->n_modules, sizeof(*b->modules)))
		return -ENOMEM;
	m = &b->modules[b->n_modules];
	*m = (struct rebuilt_module){
		.build = strdup(f->build),
		.path = strdup(f->path),
		.table = malloc(f->n + 1),
		.n = f->n,
		.low = f->low,
		.high = f->high,
		.fixed = f->fixed,
		.main = is_main,
	};
	id_map_fill(&b->by_id, e, words, (uint32_t)b->n_modules++);
	if (!m->build || !m->path || !m->table)
		return -ENOMEM;
	if (f->n)
		memcpy(m->table, f->table, f->n);
	return 0;
}

int rebuild_add_symbol(struct rebuild *b, const struct store_key *module, uint64_t address,
		       const void *frames, size_t size)
{
	uint64_t words[ID_MAP_WORDS];
	struct rebuilt_symbol *s;
	struct id_map_entry *e;

	key_words(module, words);
	e = id_map_find(&b->by_id, words);
	if (!e)
		return -ENOMEM;
	if (!e->number)
		return 0;
	if (array_grow(&b->symbols, b->n_symbols, sizeof(*b->symbols)))
		return -ENOMEM;
	s = &b->symbols[b->n_symbols];
	*s = (struct rebuilt_symbol){
		.module = e->number - 1, .address = address, .frames = malloc(size + 1), .n = size};
	if (!s->frames)
		return -ENOMEM;
	if (size)
		memcpy(s->frames, frames, size);
	words[2] = address;
	words[3] = 1;
	e = id_map_find(&b->by_symbol, words);
	if (!e || e->number) { /* the first machine decides */
		free(s->frames);
		return e ? 0 : -ENOMEM;
	}
	id_map_fill(&b->by_symbol, e, words, (uint32_t)b->n_symbols++);
	return 0;
}

/* ---- samples --------------------------------------------------------------------- */

/* Numbers things from 0 on. *is_new: the caller has to add it. UINT32_MAX: no memory. */
static uint32_t number_thing(struct id_map *map, uint64_t word, size_t n, bool *is_new)
{
	uint64_t words[ID_MAP_WORDS] = {word};
	struct id_map_entry *e = id_map_find(map, words);

	*is_new = e && !e->number;
	if (!e)
		return UINT32_MAX;
	if (!e->number) {
		id_map_fill(map, e, words, (uint32_t)n);
		return (uint32_t)n;
	}
	return e->number - 1;
}

/* main: its executable; UINT32_MAX: unknown. */
static uint32_t number_process(struct rebuild *b, uint32_t name, uint32_t main)
{
	bool is_new;
	uint32_t number;

	if (array_grow(&b->processes, b->n_processes, sizeof(*b->processes)))
		return UINT32_MAX;
	number = number_thing(&b->by_process, (uint64_t)name << 32 | main, b->n_processes, &is_new);
	if (is_new)
		b->processes[b->n_processes++] = (struct rebuilt_process){.name = name};
	return number;
}

static uint32_t number_of_thread(struct rebuild *b, uint32_t process, uint32_t name)
{
	bool is_new;
	uint32_t number;

	if (array_grow(&b->threads, b->n_threads, sizeof(*b->threads)))
		return UINT32_MAX;
	number = number_thing(&b->by_thread, (uint64_t)process << 32 | name, b->n_threads, &is_new);
	if (is_new)
		b->threads[b->n_threads++] = (struct rebuilt_thread){process, name};
	return number;
}

static uint32_t rebuilt_pid(uint32_t process)
{
	return process + 1;
}

static uint32_t rebuilt_tid(const struct rebuild *b, uint32_t thread)
{
	const struct rebuilt_thread *t = &b->threads[thread];

	return t->name == b->processes[t->process].name ? rebuilt_pid(t->process)
							: rebuilt_pid(UINT32_MAX / 2) + thread;
}

struct rebuilding {
	struct rebuild *b;
	const struct unpacked *context;
	uint32_t process;
	int error;
};

static uint64_t rebuilt_address(const struct rebuilt_module *m, uint32_t number, uint64_t vaddr)
{
	return m->fixed ? vaddr : PACKED_PLACE(number) + (vaddr - (m->low & ~(PACKED_ORIGIN - 1)));
}

/* Would a module be where another one is? All others have ranges of their own. */
static bool overlaps(const struct rebuild *b, const struct rebuilt_process *p, uint32_t module)
{
	const struct rebuilt_module *m = &b->modules[module];

	for (size_t i = 0; i < p->n_modules && m->fixed; i++) {
		const struct rebuilt_module *old = &b->modules[p->modules[i]];

		if (p->modules[i] != module && old->fixed && m->low < old->high &&
		    old->low < m->high)
			return true;
	}
	return false;
}

static int map_module(struct rebuild *b, uint32_t process, uint32_t module)
{
	struct rebuilt_process *p = &b->processes[process];
	bool is_new;

	if (array_grow(&p->modules, p->n_modules, sizeof(*p->modules)) ||
	    number_thing(&b->by_mapped, (uint64_t)process << 32 | module, 0, &is_new) == UINT32_MAX)
		return -ENOMEM;
	if (is_new)
		p->modules[p->n_modules++] = module;
	return 0;
}

/* Returns the number of a module of the context, which its process then has mapped. UINT32_MAX: it
 * is not known. */
static uint32_t use_module(struct rebuilding *v, uint32_t i, struct packed_module *packed)
{
	struct rebuild *b = v->b;
	uint64_t words[ID_MAP_WORDS];
	struct id_map_entry *e;

	memcpy(packed, v->context->modules + i * sizeof(*packed), sizeof(*packed));
	key_words(&packed->id, words);
	e = id_map_find(&b->by_id, words);
	/* The main executable was first. */
	if (e && e->number && !overlaps(b, &b->processes[v->process], e->number - 1)) {
		if (map_module(b, v->process, e->number - 1))
			v->error = -ENOMEM;
		return e->number - 1;
	}
	e = e ? id_map_find(&b->unknown, words) : NULL;
	if (!e)
		v->error = -ENOMEM;
	else if (!e->number)
		id_map_fill(&b->unknown, e, words, (uint32_t)b->missing.modules++);
	return UINT32_MAX;
}

static uint64_t unpack_address(void *ctx, uint64_t address)
{
	struct rebuilding *v = ctx;
	uint64_t i = (address - PACKED_PLACE(0)) / PACKED_DISTANCE, vaddr;
	const struct rebuilt_module *m;
	struct packed_module packed;
	uint32_t number;

	if (address < PACKED_PLACE(0) || i >= v->context->head.n_modules)
		return 0;
	number = use_module(v, (uint32_t)i, &packed);
	if (number == UINT32_MAX)
		return 0;
	m = &v->b->modules[number];
	vaddr = packed.origin + (address - PACKED_PLACE(i));
	/* The end of a slot can be the end of the module. */
	if (vaddr < m->low || vaddr > m->high)
		return 0;
	return rebuilt_address(m, number, vaddr);
}

static void unpack_entries(const struct address_mover *by, const uint8_t *from, uint32_t n,
			   struct pcce_entry *to)
{
	for (uint32_t i = 0; i < n; i++) {
		struct pcce_entry e;

		memcpy(&e, from + i * sizeof(e), sizeof(e));
		to[i] = move_entry(by, e);
	}
}

/* Sets *below. 0 or -ENOMEM. */
static int unpack_segments(struct rebuilding *v, const struct address_mover *by,
			   const struct stack_node **below)
{
	struct pcce_entry entries[PCCE_SEGMENT_ENTRIES];

	*below = NULL;
	for (uint32_t i = 0; i < v->context->head.n_segments; i++) {
		unpack_entries(by, v->context->segments + i * sizeof(entries), PCCE_SEGMENT_ENTRIES,
			       entries);
		*below = stack_store_intern(merge_sums_segments(v->b->sums), *below, entries);
		if (!*below)
			return -ENOMEM;
	}
	return 0;
}

/* Returns the address of a function of the kernel, or the reason of a wait. 0: no memory. */
static uint64_t kernel_address(struct rebuild *b, const char *name)
{
	uint32_t string = symbol_table_intern(b->names, name), number;
	char *end;
	unsigned long wait = strtoul(name, &end, 10);
	bool is_new;

	if (*name >= '0' && *name <= '9' && !*end && wait && wait < PCCE_WAITS)
		return wait;
	if (string == UINT32_MAX ||
	    array_grow(&b->kernel_functions, b->n_kernel_functions, sizeof(*b->kernel_functions)))
		return 0;
	number = number_thing(&b->by_kernel, string, b->n_kernel_functions, &is_new);
	if (number == UINT32_MAX)
		return 0;
	if (is_new)
		b->kernel_functions[b->n_kernel_functions++] = string;
	return KERNEL_FIRST + (uint64_t)number * KERNEL_DISTANCE;
}

/* Sets kip, and *stack if the kernel's stack is known. */
static int unpack_kernel(struct rebuilding *v, struct pcce_sample *s,
			 const struct kernel_stack **stack)
{
	struct cursor c = v->context->kernel;
	uint64_t frames[PCCE_KERNEL_FRAMES];
	uint32_t n = v->context->head.n_kernel;

	*stack = NULL;
	for (uint32_t i = 0; i < n; i++) {
		char *name = cursor_text(&c);

		frames[i] = name ? kernel_address(v->b, name) : 0;
		free(name);
		if (!frames[i])
			return -ENOMEM;
	}
	if (n && s->flags & PCCE_SAMPLE_KERNEL_STACK)
		*stack = kernel_stacks_find(v->b->kernel, frames, n);
	if (!*stack)
		s->flags &= ~PCCE_SAMPLE_KERNEL_STACK;
	s->kip = n && !*stack ? frames[0] : 0;
	return 0;
}

static int add_unpacked(struct rebuilding *v, const struct rebuild_sample *from, uint32_t thread,
			uint32_t event)
{
	const struct packed_head *head = &v->context->head;
	const struct address_mover by = {unpack_address, v};
	struct pcce_entry entries[PCCE_SEGMENT_ENTRIES];
	const struct kernel_stack *kernel = NULL;
	const struct stack_node *below = NULL;
	uint64_t *stack = calloc(head->n_stack + 1, sizeof(*stack));
	struct packed_module first;
	struct pcce_sample s = {
		.time = from->time,
		.pid = rebuilt_pid(v->process),
		.tid = rebuilt_tid(v->b, thread),
		.ip = unpack_address(v, head->ip),
		.r11 = head->r11 ? unpack_address(v, head->r11) : 0,
		.id = head->id,
		.ext = move_ext(&by, head->ext),
		.flags = head->flags,
		.n_entries = head->n_entries,
		.n_below = head->n_below,
		.n_stack = head->n_stack,
		.event = event,
	};
	const struct merge_context add = {.samples = from->samples, .weight = from->weight};
	int r = stack ? 0 : -ENOMEM;

	if (head->n_modules)
		use_module(v, 0, &first);
	unpack_entries(&by, v->context->entries, head->n_entries, entries);
	for (uint32_t i = 0; i < head->n_stack && !r; i++) {
		memcpy(&stack[i], v->context->stack + i * sizeof(*stack), sizeof(*stack));
		stack[i] = unpack_address(v, stack[i] - 1) + 1;
	}
	r = r ? r : unpack_segments(v, &by, &below);
	r = r ? r : unpack_kernel(v, &s, &kernel);
	r = r ? r : v->error;
	r = r ? r : merge_sums_add(v->b->sums, &s, entries, below, stack, kernel, &add);
	free(stack);
	return r;
}

/* The number of the main executable; UINT32_MAX: unknown. */
static uint32_t find_main(struct rebuild *b, const struct unpacked *context)
{
	struct packed_module first;
	uint64_t words[ID_MAP_WORDS];
	struct id_map_entry *e;

	if (!context->head.n_modules)
		return UINT32_MAX;
	memcpy(&first, context->modules, sizeof(first));
	key_words(&first.id, words);
	e = id_map_find(&b->by_id, words);
	return e && e->number && b->modules[e->number - 1].main ? e->number - 1 : UINT32_MAX;
}

int rebuild_add_sample(struct rebuild *b, const struct rebuild_sample *s,
		       const struct unpacked *context)
{
	uint32_t event = find_event_named(b, s->event);
	uint32_t process = symbol_table_intern(b->names, s->process);
	uint32_t name = symbol_table_intern(b->names, s->thread);
	uint32_t thread;
	struct rebuilding v = {.b = b, .context = context};

	if (event == UINT32_MAX || !s->samples)
		return 0;
	if (!context) {
		b->missing.contexts += s->samples;
		b->events[event].account.lost[PCCE_LOSS_SHAPE] += s->samples;
		return 0;
	}
	if (process == UINT32_MAX || name == UINT32_MAX)
		return -ENOMEM;
	v.process = number_process(b, process, find_main(b, context));
	thread = v.process == UINT32_MAX ? UINT32_MAX : number_of_thread(b, v.process, name);
	if (thread == UINT32_MAX)
		return -ENOMEM;
	b->samples += s->samples;
	if (s->time > b->last)
		b->last = s->time;
	return add_unpacked(&v, s, thread, event);
}

struct rebuild_missing rebuild_missing(const struct rebuild *b)
{
	return b->missing;
}

/* ---- writing --------------------------------------------------------------------- */

static int write_rebuilt_info(const struct rebuild *b, struct datafile_writer *w)
{
	bool calls = b->info.flags & PCCE_INFO_CALLS && b->n_events == 2 &&
		     !strcmp(b->events[0].name, CALLS);
	/* If the first event are calls, it has no rate. */
	size_t first = calls ? 1 : 0;
	const struct recording_rate none = {0},
				    *rate = first < b->n_events ? &b->events[first].rate : &none;
	struct pcce_rec_info rec = {
		.start_time = b->info.start,
		.wall_time = b->info.start,
		.frequency = rate->frequency,
		.period = rate->period,
		.flags = (b->info.flags & PCCE_INFO_FRAMES) | (calls ? PCCE_INFO_CALLS : 0),
	};
	struct bytes names = {0};
	int r;

	for (size_t i = 0; i < b->n_events; i++) {
		bytes_put(&names, ",", i ? 1 : 0);
		bytes_put(&names, b->events[i].name, strlen(b->events[i].name));
	}
	bytes_put_u8(&names, 0);
	r = names.failed ? -ENOMEM
			 : datafile_put_strings(w, PCCE_REC_INFO, &rec, sizeof(rec),
						(const char *const[]){
							b->info.sampler,
							(const char *)names.data,
							b->info.command,
							b->info.host,
							b->info.kernel,
						},
						5);
	bytes_free(&names);
	for (size_t i = 0; i < b->n_events && b->n_events > 1 && !r; i++) {
		const struct pcce_rec_event event = {
			.frequency = b->events[i].rate.frequency,
			.period = b->events[i].rate.period,
			.event = (uint32_t)i,
		};

		r = datafile_put(w, PCCE_REC_EVENT, &event, sizeof(event), NULL, 0);
	}
	return r;
}

static int write_rebuilt_module(const struct rebuilt_module *m, uint32_t number,
				struct datafile_writer *w)
{
	struct pcce_rec_module rec = {.module = number};
	size_t digits = strlen(m->build);

	for (size_t i = 0; i < digits / 2 && i < sizeof(rec.build_id); i++) {
		char byte[3] = {m->build[2 * i], m->build[2 * i + 1], 0};

		rec.build_id[i] = (uint8_t)strtoul(byte, NULL, 16);
		rec.build_id_size++;
	}
	return datafile_put_strings(w, PCCE_REC_MODULE, &rec, sizeof(rec),
				    (const char *const[]){m->path}, 1);
}

/* The kernel is the last module. */
static int write_rebuilt_modules(const struct rebuild *b, struct datafile_writer *w)
{
	const struct rebuilt_module kernel = {.build = "", .path = PCCE_MODULE_KERNEL};
	int r = 0;

	for (size_t i = 0; i < b->n_modules && !r; i++)
		r = write_rebuilt_module(&b->modules[i], (uint32_t)i, w);
	r = r ? r : write_rebuilt_module(&kernel, (uint32_t)b->n_modules, w);
	for (size_t i = 0; i < b->n_modules && !r; i++) {
		struct pcce_rec_table rec = {.module = (uint32_t)i};
		struct iovec part = {b->modules[i].table, b->modules[i].n};

		if (b->modules[i].n)
			r = datafile_put(w, PCCE_REC_TABLE, &rec, sizeof(rec), &part, 1);
	}
	return r;
}

static int write_rebuilt_map(const struct rebuilt_module *m, uint32_t number, uint32_t pid,
			     struct datafile_writer *w)
{
	struct pcce_rec_map rec = {
		.start = rebuilt_address(m, number, m->low),
		.length = m->high - m->low,
		.vaddr = m->low,
		.pid = pid,
		.module = number,
	};

	return m->high > m->low ? datafile_put(w, PCCE_REC_MAP, &rec, sizeof(rec), NULL, 0) : 0;
}

static int write_rebuilt_processes(const struct rebuild *b, struct datafile_writer *w)
{
	int r = 0;

	for (size_t i = 0; i < b->n_processes && !r; i++) {
		const struct rebuilt_process *p = &b->processes[i];
		struct pcce_rec_process rec = {.pid = rebuilt_pid((uint32_t)i)};
		const char *name = symbol_table_string(b->names, p->name);

		r = datafile_put_strings(w, PCCE_REC_PROCESS, &rec, sizeof(rec), &name, 1);
		for (size_t j = 0; j < p->n_modules && !r; j++)
			r = write_rebuilt_map(&b->modules[p->modules[j]], p->modules[j], rec.pid,
					      w);
	}
	for (size_t i = 0; i < b->n_threads && !r; i++) {
		struct pcce_rec_thread rec = {.pid = rebuilt_pid(b->threads[i].process),
					      .tid = rebuilt_tid(b, (uint32_t)i)};
		const char *name = symbol_table_string(b->names, b->threads[i].name);

		if (rec.tid != rec.pid)
			r = datafile_put_strings(w, PCCE_REC_THREAD, &rec, sizeof(rec), &name, 1);
	}
	return r;
}

/* Adds to *all_lost. */
static int write_rebuilt_account(const struct rebuild *b, uint32_t event, struct datafile_writer *w,
				 __u64 *all_lost)
{
	const struct recording_account *a = &b->events[event].account;
	const struct pcce_rec_due due = {
		.time = b->last,
		.due = a->due.known ? a->due.due : 0,
		.merged = a->due.merged,
		.kernel = a->due.kernel,
		.flags = a->due.known ? 0 : PCCE_DUE_UNKNOWN,
		.event = event,
	};
	int r = 0;

	for (uint32_t i = 0; i <= PCCE_LOSS_MAX && !r; i++) {
		struct pcce_rec_lost lost = {
			.time = b->last, .count = a->lost[i], .reason = i, .event = event};

		*all_lost += lost.count;
		if (lost.count)
			r = datafile_put(w, PCCE_REC_LOST, &lost, sizeof(lost), NULL, 0);
	}
	return r ? r : datafile_put(w, PCCE_REC_DUE, &due, sizeof(due), NULL, 0);
}

static int write_rebuilt_frames(const struct rebuild *b, struct datafile_writer *w)
{
	const struct pcce_rec_frames rec = {
		.time = b->last,
		.unwound = b->info.unwound,
		.reused = b->info.reused,
		.copied = b->info.copied,
	};

	return b->info.flags & PCCE_INFO_FRAMES
		       ? datafile_put(w, PCCE_REC_FRAMES, &rec, sizeof(rec), NULL, 0)
		       : 0;
}

static int write_rebuilt_symbol(const struct rebuilt_symbol *s, struct datafile_writer *w)
{
	struct cursor c = {.at = s->frames, .end = s->frames + s->n};
	int r = 0;

	for (uint32_t depth = 0; c.at < c.end && !r; depth++) {
		struct pcce_rec_symbol rec = {
			.vaddr = s->address,
			.symbol = cursor_u64(&c),
			.module = s->module,
			.line = cursor_u32(&c),
			.depth = depth,
			.flags = cursor_u32(&c) & PCCE_SYMBOL_INLINED,
		};
		char *function = cursor_text(&c), *file = function ? cursor_text(&c) : NULL;

		if (file)
			r = datafile_put_strings(w, PCCE_REC_SYMBOL, &rec, sizeof(rec),
						 (const char *const[]){function, file}, 2);
		free(function);
		free(file);
		if (c.bad)
			break;
	}
	return r;
}

static int write_rebuilt_symbols(const struct rebuild *b, struct datafile_writer *w)
{
	int r = 0;

	for (size_t i = 0; i < b->n_symbols && !r; i++)
		r = write_rebuilt_symbol(&b->symbols[i], w);
	for (size_t i = 0; i < b->n_kernel_functions && !r; i++) {
		struct pcce_rec_symbol rec = {
			.vaddr = KERNEL_FIRST + i * KERNEL_DISTANCE,
			.symbol = KERNEL_FIRST + i * KERNEL_DISTANCE,
			.module = (uint32_t)b->n_modules,
		};
		const char *name = symbol_table_string(b->names, b->kernel_functions[i]);

		r = datafile_put_strings(w, PCCE_REC_SYMBOL, &rec, sizeof(rec),
					 (const char *const[]){name, ""}, 2);
	}
	return r;
}

static int write_rebuilt(const void *of, struct datafile_writer *w)
{
	const struct rebuild *b = of;
	struct pcce_rec_end end = {.time = b->last, .samples = b->samples, .exit_status = -1};
	int r = write_rebuilt_info(b, w);

	r = r ? r : write_rebuilt_modules(b, w);
	r = r ? r : write_rebuilt_processes(b, w);
	r = r ? r : merge_sums_write(b->sums, w, NULL, NULL);
	for (uint32_t i = 0; i < b->n_events && !r; i++)
		r = write_rebuilt_account(b, i, w, &end.lost);
	r = r ? r : write_rebuilt_frames(b, w);
	r = r ? r : write_rebuilt_symbols(b, w);
	return r ? r : datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0);
}

FILE *rebuild_write(const struct rebuild *b, struct error *why)
{
	return merged_file(write_rebuilt, b, why);
}
