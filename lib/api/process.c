/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decodes contexts that the caller of libpcce-decode has captured: no recording is needed. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcce/page_reader.h>
#include <pcce/sample.h>
#include "api/context.h"
#include "api/process.h"
#include "base/array.h"
#include "decode/decode.h"
#include "decode/maps.h"
#include "elf/encoding_table.h"
#include "elf/module.h"
#include "stream/stack_store.h"

#define MODULE_SIZE_MIN 56 /* of the first versions of the structs */
#define STATE_SIZE_MIN 56
#define ENTRIES_MAX (UINT64_C(1) << 34) /* while a stack is lost, about 2^33 are missing */

_Static_assert(sizeof(struct pcce_decode_module) == MODULE_SIZE_MIN, "struct pcce_decode_module");
_Static_assert(sizeof(struct pcce_decode_state) == STATE_SIZE_MIN, "struct pcce_decode_state");

/* An ELF file, at all its places. Its number is its index. */
struct process_module {
	char *path;
	void *data; /* of the table; NULL: not instrumented */
	uint64_t size;
	uint8_t build_id[32];
	uint32_t build_id_size;
	struct encoding_table table;
};

struct pcce_decode_process {
	struct pcce_decode_context context;
	struct decode_maps maps;
	struct process_module **modules;
	size_t n_modules;
	struct stack_store *segments; /* of samples */
	struct stack_store_flat stack;
};

int pcce_decode_process_new(uint64_t flags, struct pcce_decode_process **process,
			    struct pcce_decode_error *why)
{
	struct pcce_decode_process *p = calloc(1, sizeof(*p));
	struct error reason = {0};
	int r = p ? api_context_new(&p->context, flags, &reason) : error_memory(&reason);

	if (!r) {
		decode_maps_set(&p->maps, NULL, 0);
		p->segments = stack_store_new();
		r = p->segments ? 0 : error_memory(&reason);
	}
	if (r) {
		pcce_decode_process_free(p);
		p = NULL;
	}
	*process = p;
	return r ? api_error(why, &reason, r) : 0;
}

struct pcce_decode_context *process_context(struct pcce_decode_process *p)
{
	return &p->context;
}

static void free_module(struct process_module *m)
{
	if (!m)
		return;
	encoding_table_close(&m->table);
	free(m->path);
	free(m->data);
	free(m);
}

void pcce_decode_process_free(struct pcce_decode_process *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_modules; i++)
		free_module(p->modules[i]);
	free(p->modules);
	free(p->maps.list);
	stack_store_free(p->segments);
	free(p->stack.entries);
	api_context_free(&p->context);
	free(p);
}

/* ---- modules --------------------------------------------------------------------- */

static int copy_process_table(const struct pcce_decode_module *from, struct process_module *m,
			      struct error *why)
{
	if (from->table_size > SIZE_MAX / 2)
		return error_set(why, -EINVAL, "is larger than memory");
	m->data = malloc(from->table_size + 1);
	if (!m->data)
		return -ENOMEM;
	memcpy(m->data, from->table, from->table_size);
	m->size = from->table_size;
	return 0;
}

/* The table, the build id and the link-time address of the file's offset. */
static int read_module(const char *path, uint64_t offset, struct process_module *m, uint64_t *vaddr,
		       struct error *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	const struct elf_section *table;
	struct elf_module file;

	if (fd < 0)
		return error_set(why, -errno, "cannot open %s: %s", path, strerror(errno));
	r = elf_module_open_fd(fd, &file, why);
	if (r) {
		struct error reason = *why;

		close(fd);
		return error_set(why, r, "cannot add %s: it %s", path, reason.text);
	}
	m->build_id_size = file.build_id_size;
	memcpy(m->build_id, file.build_id, sizeof(m->build_id));
	table = elf_module_table(&file);
	if (!elf_module_vaddr(&file, offset, vaddr)) {
		r = error_set(why, -EINVAL,
			      "cannot add %s: no executable segment holds the offset %#llx; give "
			      "the offset in the file, in bytes",
			      path, (unsigned long long)offset);
	} else if (table) {
		struct error reason = {0};

		m->data = elf_section_read(fd, table, &reason);
		m->size = table->size;
		if (!m->data)
			r = error_set(why, -EINVAL, "cannot add %s: its encoding table %s", path,
				      reason.text);
	}
	elf_module_close(&file);
	close(fd);
	return r;
}

/* Takes m over: its number, or that of an equal one; or -errno. */
static int64_t number_module(struct pcce_decode_process *p, struct process_module *m,
			     struct error *why)
{
	struct pcce_rec_module rec = {.module = (uint32_t)p->n_modules,
				      .build_id_size = m->build_id_size};
	struct error reason = {0};
	int r;

	for (size_t i = 0; i < p->n_modules; i++) {
		const struct process_module *known = p->modules[i];

		if (strcmp(known->path, m->path) || known->build_id_size != m->build_id_size ||
		    memcmp(known->build_id, m->build_id, m->build_id_size) ||
		    known->size != m->size ||
		    (m->size && memcmp(known->data, m->data, m->size) != 0))
			continue;
		free_module(m);
		return (int64_t)i;
	}
	r = m->data ? encoding_table_open(m->data, m->size, &m->table, &reason) : 0;
	if (r == -EINVAL)
		error_set(why, r, "cannot add %s: its encoding table %s", m->path, reason.text);
	memcpy(rec.build_id, m->build_id, sizeof(rec.build_id));
	if (!r)
		r = array_grow(&p->modules, p->n_modules, sizeof(struct process_module *));
	if (!r)
		r = symbol_table_add_module(p->context.names, &rec, m->path);
	if (!r && m->data)
		r = symbol_table_set_table(p->context.names, rec.module, &m->table);
	if (r) {
		free_module(m);
		return r;
	}
	p->modules[p->n_modules++] = m;
	return rec.module;
}

static int64_t take_process_module(struct pcce_decode_process *p,
				   const struct pcce_decode_module *from, uint64_t *vaddr,
				   struct error *why)
{
	struct process_module *m = calloc(1, sizeof(*m));
	struct error reason = {0};
	int r;

	if (!m)
		return -ENOMEM;
	m->path = strdup(from->path ? from->path : "");
	if (!m->path) {
		r = -ENOMEM;
	} else if (from->table) {
		*vaddr = from->vaddr;
		r = copy_process_table(from, m, &reason);
		if (r == -EINVAL)
			error_set(why, r, "cannot add %s: its encoding table %s", m->path,
				  reason.text);
	} else {
		r = read_module(m->path, from->offset, m, vaddr, why);
	}
	if (r) {
		free_module(m);
		return r;
	}
	return number_module(p, m, why);
}

static int insert_map(struct pcce_decode_process *p, const struct decode_module *map)
{
	size_t at = decode_maps_behind(&p->maps, map->start), n = p->maps.n;
	struct decode_module *list = p->maps.list;

	if (array_grow(&list, n, sizeof(*list)))
		return -ENOMEM;
	memmove(&list[at + 1], &list[at], (n - at) * sizeof(*list));
	list[at] = *map;
	decode_maps_set(&p->maps, list, n + 1);
	return 0;
}

static int add_memory(struct pcce_decode_process *p, const struct pcce_decode_module *from,
		      struct error *why)
{
	struct decode_module map = {.start = from->start, .end = from->end};
	size_t at = decode_maps_behind(&p->maps, from->start);
	const struct encoding_table *t;
	int64_t number;

	if (from->end <= from->start)
		return error_set(why, -EINVAL, "cannot add a module: it ends before it begins");
	if (at < p->maps.n && p->maps.list[at].start < from->end)
		return error_set(why, -EEXIST,
				 "cannot add a module at %#llx: another one is there; remove it",
				 (unsigned long long)from->start);
	number = take_process_module(p, from, &map.vaddr, why);
	if (number < 0)
		return (int)number;
	map.module = (uint32_t)number;
	t = symbol_table_table(p->context.names, map.module);
	map.table = t;
	/* Only a main executable defines pcce_page itself. */
	map.main_executable = t && t->head->flags & PCCE_TABLE_EXEC;
	return insert_map(p, &map) ? -ENOMEM : t != NULL;
}

int pcce_decode_process_add(struct pcce_decode_process *p, const struct pcce_decode_module *module,
			    size_t size, struct pcce_decode_error *why)
{
	struct error reason = {0};
	int r = size < MODULE_SIZE_MIN
			? error_set(&reason, -EINVAL,
				    "cannot add a module: its struct has %zu bytes", size)
			: add_memory(p, module, &reason);

	if (r == -ENOMEM)
		error_memory(&reason);
	return r < 0 ? api_error(why, &reason, r) : r;
}

void pcce_decode_process_remove(struct pcce_decode_process *p, uint64_t start, uint64_t end)
{
	struct decode_module *list = p->maps.list;
	size_t n = 0;

	for (size_t i = 0; i < p->maps.n; i++)
		if (list[i].end <= start || list[i].start >= end)
			list[n++] = list[i];
	decode_maps_set(&p->maps, list, n);
}

/* ---- decoding -------------------------------------------------------------------- */

static int decode_captured(struct pcce_decode_process *p, const struct pcce_sample *s,
			   const struct pcce_entry *entries, uint32_t n,
			   const struct pcce_decode_context **context,
			   struct pcce_decode_error *why)
{
	const struct stream_event event = stream_event_of(s);
	struct error reason = {0};

	*context = NULL;
	if (api_context_decode(&p->context, &p->maps.as, &event, entries, n))
		return api_error(why, &reason, error_memory(&reason));
	*context = &p->context;
	return 0;
}

/* text: why it is not possible */
static int refuse(struct pcce_decode_error *why, const char *text)
{
	struct error reason = {0};

	return api_error(why, &reason, error_set(&reason, -EINVAL, "cannot decode: %s", text));
}

int pcce_decode_process_state(struct pcce_decode_process *p, const struct pcce_decode_state *state,
			      size_t size, const struct pcce_decode_context **context,
			      struct pcce_decode_error *why)
{
	struct pcce_sample s = {.weight = 1};

	*context = NULL;
	if (size < STATE_SIZE_MIN)
		return refuse(why, "the struct of the state is too small");
	if (state->n_entries > ENTRIES_MAX || state->missing > ENTRIES_MAX - state->n_entries)
		return refuse(why, "no encoding stack has so many entries");
	s.ip = state->ip;
	s.r11 = state->r11;
	s.id = state->id;
	s.ext = state->ext;
	/* The sum of both is what counts. */
	s.n_below = (uint32_t)(state->missing / PCCE_SEGMENT_ENTRIES);
	s.n_entries = (uint32_t)(state->n_entries + state->missing % PCCE_SEGMENT_ENTRIES);
	return decode_captured(p, &s, state->entries, (uint32_t)state->n_entries, context, why);
}

/* A page that was copied, with the segments that are not in it. */
struct captured_page {
	const struct pcce_page *page;
	const struct pcce_entry *base; /* of the current segment */
	const struct pcce_segment *area;
	size_t n_area;
	uint32_t n_below;
};

/* The base of the k-th segment below the current one, if it is there with this generation. */
static const struct pcce_entry *segment_below(const struct captured_page *c, uint32_t k,
					      uint64_t generation)
{
	const struct pcce_entry *bases = &c->page->base;
	uint32_t index = c->n_below - 1 - k;

	if (!k && (c->page->place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT)
		return bases + ((c->page->off & PCCE_OFF_HALF) ^ PCCE_OFF_HALF) / sizeof(*bases);
	if (!generation || index >= c->n_area || index >= PCCE_AREA_SEGMENTS ||
	    c->area[index].generation != generation)
		return NULL;
	return &c->area[index].base;
}

/* Puts the entries together that are known. 0 or -ENOMEM. */
static int gather_page(const struct captured_page *c, struct stack_store_flat *stack,
		       uint32_t n_current)
{
	uint64_t generation = c->base->id;
	const struct pcce_entry *at;
	uint32_t known = 0, n;

	while (known < c->n_below && (at = segment_below(c, known, generation))) {
		generation = at->id;
		known++;
	}
	n = known * PCCE_SEGMENT_ENTRIES + n_current;
	if (array_reserve(&stack->entries, &stack->capacity, n, sizeof(*stack->entries)))
		return -ENOMEM;
	stack->n = n;
	n -= n_current;
	if (n_current)
		memcpy(stack->entries + n, c->base + 1, n_current * sizeof(*stack->entries));
	generation = c->base->id;
	for (uint32_t k = 0; k < known; k++) {
		at = segment_below(c, k, generation);
		generation = at->id;
		n -= PCCE_SEGMENT_ENTRIES;
		memcpy(stack->entries + n, at + 1, PCCE_SEGMENT_ENTRIES * sizeof(*at));
	}
	return 0;
}

int api_process_page(struct pcce_decode_process *p, const struct pcce_page *page,
		     const struct pcce_segment *area, size_t n_area,
		     const struct api_registers *registers,
		     const struct pcce_decode_context **context, struct pcce_decode_error *why)
{
	struct pcce_sample s = {.ip = registers->ip,
				.r11 = registers->r11,
				.sp = registers->sp,
				.id = page->id,
				.ext = page->ext,
				.weight = 1};
	struct captured_page c = {
		.page = page,
		.base = &page->base + (page->off & PCCE_OFF_HALF) / sizeof(page->base),
		.area = area,
		.n_area = area ? n_area : 0,
		.n_below = page->place >> PCCE_PLACE_SHIFT,
	};
	struct error reason = {0};

	*context = NULL;
	p->stack.n = 0;
	s.n_below = c.n_below;
	s.n_entries = (page->off & PCCE_OFF_USED) / sizeof(page->base);
	if (page->magic != PCCE_PAGE_MAGIC || !(page->state & PCCE_STATE_LIVE))
		s.flags |= PCCE_SAMPLE_OUTSIDE;
	else if (page->version != PCCE_PAGE_VERSION)
		return refuse(why, "the thread page has another version than this library");
	else if (!pcce_off_is_possible(page->off))
		s.flags |= PCCE_SAMPLE_READ_FAULT; /* no off of the runtime's */
	else if (gather_page(&c, &p->stack, s.n_entries))
		return api_error(why, &reason, error_memory(&reason));
	/* Without the stack pointer, nobody knows what hybrid encoding means. */
	if (!s.sp && decode_has_base(&p->maps.as, &s))
		s.id = PCCE_ID_LOST;
	decode_take_stack_pointer(&p->maps.as, &s);
	return decode_captured(p, &s, p->stack.entries, p->stack.n, context, why);
}

int pcce_decode_process_page(struct pcce_decode_process *p, const struct pcce_page *page,
			     const struct pcce_segment *area, size_t n_area, uint64_t ip,
			     uint64_t r11, const struct pcce_decode_context **context,
			     struct pcce_decode_error *why)
{
	const struct api_registers registers = {.ip = ip, .r11 = r11};

	return api_process_page(p, page, area, n_area, &registers, context, why);
}

int pcce_decode_process_sample(struct pcce_decode_process *p, const struct pcce_sample *sample,
			       size_t size, const struct pcce_decode_context **context,
			       struct pcce_decode_error *why)
{
	const struct stack_node *below;
	struct pcce_sample changed;
	struct error reason = {0};

	*context = NULL;
	if ((uintptr_t)sample % 8)
		return refuse(why, "the address of the sample is no multiple of 8");
	if (size < sizeof(*sample) || !pcce_sample_counts_agree(sample, UINT32_MAX, UINT32_MAX) ||
	    pcce_sample_size(sample) > size)
		return refuse(why, "the sample is damaged");
	if (stack_store_take(p->segments, sample, &below) ||
	    stack_store_flatten(below, sample, &p->stack))
		return api_error(why, &reason, error_memory(&reason));
	if (decode_has_base(&p->maps.as, sample)) {
		/* Of what follows the sample, only the entries matter. */
		changed = *sample;
		changed.flags &= ~(PCCE_SAMPLE_STACK | PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_COPY);
		changed.n_stack = 0;
		decode_take_stack_pointer(&p->maps.as, &changed);
		sample = &changed;
	}
	return decode_captured(p, sample, p->stack.entries, p->stack.n, context, why);
}
