/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Answers the requests of counted processes: see libraries.h.
 *
 * A process names the load addresses of its new libraries. Which files these are, its mappings tell
 * (/proc/PID/maps). That the number of the process is right is certain if it has the area where it
 * says: the number may be one of another namespace.
 *
 * All numbers in a request may be wrong, so they are checked. A wrong answer harms only the process
 * that gets it: it compares the code with what the answer expects before it changes anything.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/mapped_file.h"
#include "count/libraries.h"
#include "count/mappings.h"
#include "encode/encode.h"
#include "symbols/table_file.h"

#define PAGE 4096ULL
#define WAIT_MS 100
#define HEADER 64 /* bytes before the stubs: the address of the engine */

/* A file that is mapped somewhere. */
struct library {
	struct stat st;
	char *path;
	uint8_t *image; /* NULL: it is not counted */
	size_t image_size;
	/* It is instrumented, and nobody has its table. length: of its code, where it was found
	 * first; 0: nowhere yet */
	bool missing;
	uint64_t start, length, offset;
	void *table_data;
	struct elf_module elf;
	struct encoding_table table;
	struct count_plan plan;
};

struct placement {
	struct library *library;
	uint64_t bias;
	uint64_t code; /* offset in the area */
	uint64_t map, map_end;
	bool certain; /* see count_libraries_is_certain() */
};

struct load {
	uint32_t parent; /* 1 + index; 0: none */
	uint32_t placement;
};

struct count_libraries {
	struct count_libraries_config config;
	pthread_t thread;
	bool running;
	bool asked, bypassed; /* with config.plain: by the program's jumps */
	sem_t begun;
	uint32_t stop;
	struct library **libraries;
	size_t n_libraries, libraries_capacity;
	/* Number i has index i + 1 in places: 0 is the executable. */
	struct placement *placements;
	size_t n_placements, placements_capacity;
	struct load *loads;
	size_t n_loads, loads_capacity;
	uint64_t refused, left;
	char *refused_path;
	struct error refused_why;
};

/* ---- files ----------------------------------------------------------------------- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void refuse_library(struct count_libraries *l, const char *path, const struct error *why)
{
	l->refused++;
	if (l->refused_path)
		return;
	l->refused_path = strdup(path);
	l->refused_why = *why;
}

static void close_library(struct library *b)
{
	count_plan_free(&b->plan);
	encoding_table_close(&b->table);
	elf_module_close(&b->elf);
	free(b->table_data);
	free(b->image);
	b->table_data = NULL;
	b->image = NULL;
}

static enum table_state find_state(int fd)
{
	struct table_file file;
	struct elf_module elf;

	if (elf_module_open_fd(fd, &elf, NULL))
		return TABLE_NONE;
	table_file_find(fd, &elf, &file);
	table_file_close(&file);
	elf_module_close(&elf);
	return file.state;
}

/* Errors continue the file's name. */
static int plan_library(struct library *b, int fd, struct error *why)
{
	struct table_file file;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = encode_read_file(path, &b->image, &b->image_size, why);
	if (!err)
		err = elf_module_open(b->image, b->image_size, &b->elf, why);
	if (err)
		return err;
	table_file_find(fd, &b->elf, &file);
	if (file.state == TABLE_FOUND)
		b->table_data = elf_section_read(file.fd, &file.section, why);
	table_file_close(&file);
	if (!b->table_data)
		return error_set(why, -EINVAL, "is cut off");
	err = encoding_table_open(b->table_data, file.section.size, &b->table, why);
	if (err)
		return err;
	if (b->table.head->flags & PCCE_TABLE_EXEC || !b->table.head->got)
		return error_set(why, -EINVAL, "is no shared library");
	return count_plan_make(&b->elf, &b->table, NULL, &b->plan, why);
}

/* The library that fd has open; NULL: no memory. Its image is NULL if it is not to be counted. */
static struct library *find_library(struct count_libraries *l, int fd, const char *path)
{
	struct error why = {0};
	enum table_state state;
	struct library *b;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	for (size_t i = 0; i < l->n_libraries; i++)
		if (is_same_file(&l->libraries[i]->st, &st))
			return l->libraries[i];
	if (array_grow_from(&l->libraries, l->n_libraries, &l->libraries_capacity, 16,
			    sizeof(struct library *)))
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->st = st;
	b->path = strdup(path);
	if (!b->path) {
		free(b);
		return NULL;
	}
	l->libraries[l->n_libraries++] = b;
	state = find_state(fd);
	b->missing = state == TABLE_NOT_ENCODED || state == TABLE_STRIPPED;
	if (state == TABLE_FOUND && plan_library(b, fd, &why)) {
		refuse_library(l, path, &why);
		close_library(b);
	}
	if (b->image)
		l->left += b->plan.n_left;
	return b;
}

/* ---- placements ------------------------------------------------------------------ */

/* The code of a placement, which grows as it is written. */
struct writing {
	const struct library *library;
	uint64_t bias;
	uint8_t *bytes;
	size_t n, capacity;
};

static int append_code(struct writing *w, const void *bytes, size_t n)
{
	if (array_reserve(&w->bytes, &w->capacity, w->n + n, 1))
		return -ENOMEM;
	memcpy(w->bytes + w->n, bytes, n);
	w->n += n;
	return 0;
}

static int put_change(void *ctx, uint64_t address, const void *bytes, size_t n)
{
	struct writing *w = ctx;
	struct pcce_count_change c = {.address = address, .n = (uint8_t)n};
	const uint8_t *before = elf_module_at(&w->library->elf, address - w->bias, n);

	if (!before || n > sizeof(c.after))
		return -EINVAL;
	memcpy(c.before, before, n);
	memcpy(c.after, bytes, n);
	return append_code(w, &c, sizeof(c));
}

/* Gives the bytes a place in the area. Returns its offset; 0: the area is full. */
static uint64_t put_in_area(struct count_libraries *l, const struct writing *w)
{
	struct pcce_count_area *a = l->config.area;
	uint64_t size = (w->n + PCCE_COUNT_BLOCK - 1) / PCCE_COUNT_BLOCK * PCCE_COUNT_BLOCK, at;

	at = __atomic_fetch_add(&a->used, size, __ATOMIC_RELAXED);
	if (at + size <= a->size && at < l->config.area_size && size <= l->config.area_size - at) {
		memcpy((char *)a + at, w->bytes, w->n);
		return at;
	}
	__atomic_sub_fetch(&a->used, size, __ATOMIC_RELAXED);
	return 0;
}

static bool is_taken(void *ctx, uint64_t start, uint64_t end, uint64_t *below)
{
	struct count_libraries *l = ctx;

	if (!count_places_overlap(l->config.places, start, end, below))
		return false;
	*below &= -PAGE;
	return true;
}

static int write_placement(struct writing *w, const struct count_layout *layout,
			   struct pcce_count_code *head)
{
	size_t size = count_plan_stubs_size(&w->library->plan, layout->burst);
	uint8_t *stubs = malloc(HEADER + size + 8);
	int err;

	if (!stubs)
		return -ENOMEM;
	memset(stubs, 0xcc, HEADER + size + 8);
	memcpy(stubs, &layout->engine, sizeof(layout->engine));
	count_plan_stubs(&w->library->plan, layout, stubs + HEADER);
	head->bytes = (uint32_t)((HEADER + size + 7) / 8 * 8);
	err = append_code(w, head, sizeof(*head));
	if (!err)
		err = append_code(w, stubs, head->bytes);
	free(stubs);
	if (!err)
		err = count_plan_patch(&w->library->plan, layout, put_change, w);
	if (err)
		return err;
	head->n_changes =
		(uint32_t)((w->n - sizeof(*head) - head->bytes) / sizeof(struct pcce_count_change));
	head->block.kind = PCCE_COUNT_CODE;
	head->block.used = (uint32_t)((w->n + PCCE_COUNT_BLOCK - 1) / PCCE_COUNT_BLOCK);
	memcpy(w->bytes, head, sizeof(*head));
	return 0;
}

static int add_placement(struct count_libraries *l, const struct placement *p,
			 const struct count_layout *layout, uint64_t stubs_end)
{
	const struct count_module module = {.plan = &p->library->plan,
					    .bias = p->bias,
					    .stubs = layout->stubs,
					    .stubs_end = stubs_end,
					    .first = layout->first};

	if (array_grow_from(&l->placements, l->n_placements, &l->placements_capacity, 16,
			    sizeof(*l->placements)) ||
	    count_places_add(l->config.places, &module))
		return -ENOMEM;
	l->placements[l->n_placements++] = *p;
	return 0;
}

/* Makes a placement near the library. Errors continue its name. */
static int make_placement(struct count_libraries *l, struct library *b, uint64_t bias,
			  const struct count_mappings *m, struct error *why)
{
	const struct elf_segment *last = &b->elf.segments[b->elf.n_segments - 1];
	uint64_t stubs = count_plan_stubs_size(&b->plan, l->config.bursts);
	uint64_t size = (HEADER + stubs + PAGE - 1) / PAGE * PAGE;
	uint64_t map_size = size + (l->config.bursts ? PAGE : 0);
	struct placement p = {.library = b, .bias = bias};
	struct writing w = {.library = b, .bias = bias};
	struct count_layout layout = {.bias = bias, .engine = l->config.engine};
	struct pcce_count_code head = {
		.text = b->plan.text + bias,
		.text_end = b->plan.text_end + bias,
		.got = b->plan.got + bias,
		.map_size = map_size,
		.n_places = (uint32_t)b->plan.n_places,
	};
	int err;

	if (b->plan.n_places > UINT32_MAX / 2 - count_places_next(l->config.places))
		return error_set(why, -ENOSPC, "has too many functions");
	p.map = count_mappings_room(m, b->elf.segments[0].vaddr + bias,
				    last->vaddr + last->memory_size + bias, map_size, is_taken, l);
	if (!p.map)
		return error_set(why, -ENOMEM, "has no room for the counting code near it");
	p.map_end = p.map + map_size;
	head.map = layout.engine_at = p.map;
	head.stubs = layout.stubs = p.map + HEADER;
	head.first = layout.first = count_places_next(l->config.places);
	if (l->config.bursts) {
		head.burst = p.map + size;
		layout.burst = head.burst + offsetof(struct pcce_count_area, burst);
	}
	err = write_placement(&w, &layout, &head);
	p.code = err ? 0 : put_in_area(l, &w);
	free(w.bytes);
	if (!err)
		err = p.code ? add_placement(l, &p, &layout, p.map_end) : -ENOMEM;
	return err ? error_set(why, err, "needs more memory than is available") : 0;
}

/* ---- requests -------------------------------------------------------------------- */

static bool is_in_chain(const struct count_libraries *l, uint32_t loads, uint32_t placement)
{
	for (; loads && loads <= l->n_loads; loads = l->loads[loads - 1].parent)
		if (l->loads[loads - 1].placement == placement)
			return true;
	return false;
}

/* The placement of a library at an address, for a process with these loads. Errors continue the
 * library's name. */
static int find_placement(struct count_libraries *l, struct library *b, uint64_t bias,
			  uint32_t loads, const struct count_mappings *m, uint32_t *out,
			  struct error *why)
{
	int err;

	for (size_t i = 0; i < l->n_placements; i++) {
		const struct placement *p = &l->placements[i];

		*out = (uint32_t)i;
		if (p->library != b || p->bias != bias)
			continue;
		/* It is open again, or another process has it. */
		if (is_in_chain(l, loads, *out) ? count_mappings_are_added(m, p->map)
						: count_mappings_are_free(m, p->map, p->map_end))
			return 0;
	}
	err = make_placement(l, b, bias, m, why);
	*out = (uint32_t)l->n_placements - 1;
	return err;
}

static int add_load(struct count_libraries *l, uint32_t *loads, uint32_t placement)
{
	if (is_in_chain(l, *loads, placement))
		return 0;
	if (array_grow_from(&l->loads, l->n_loads, &l->loads_capacity, 16, sizeof(*l->loads)))
		return -ENOMEM;
	l->loads[l->n_loads] = (struct load){*loads, placement};
	*loads = (uint32_t)++l->n_loads;
	return 0;
}

/* Is the mapping the code of a library that the request names? Then *i is the number there. */
static bool is_requested(const struct pcce_count_request *r, const struct library *b,
			 const struct count_mapping *m, uint64_t *bias, uint32_t *i)
{
	uint64_t vaddr;

	if (!elf_module_vaddr(&b->elf, m->offset, &vaddr))
		return false;
	*bias = m->start - vaddr;
	for (*i = 0; *i < r->n; ++*i)
		if (r->base[*i] == *bias)
			return true;
	return false;
}

/* Could the mapping belong to a library that the request names? */
static bool is_near_request(const struct pcce_count_request *r, const struct count_mapping *m)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->base[i] <= m->start && m->start - r->base[i] < 1ULL << 31)
			return true;
	return false;
}

static void answer_mapping(struct count_libraries *l, const struct pcce_count_request *r,
			   const struct count_mappings *all, const struct count_mapping *m,
			   uint32_t *loads, uint64_t *answer)
{
	int fd = mapped_file_open((pid_t)r->pid, m->start, m->end - m->start, m->path, 0);
	struct library *b = fd >= 0 ? find_library(l, fd, m->path) : NULL;
	struct error why = {0};
	uint32_t i, placement = 0;
	uint64_t bias;
	int err;

	if (fd >= 0)
		close(fd);
	if (b && b->missing && !b->length) {
		b->start = m->start;
		b->length = m->end - m->start;
		b->offset = m->offset;
	}
	if (!b || !b->image || !is_requested(r, b, m, &bias, &i) || answer[i])
		return;
	if (l->bypassed)
		err = error_set(&why, -EINVAL,
				"is in a program that is not built with pcce, and libpcce.so.0 is "
				"loaded after the C library; set LD_PRELOAD to libpcce.so.0");
	else
		err = find_placement(l, b, bias, *loads, all, &placement, &why);
	if (!err && add_load(l, loads, placement))
		err = error_memory(&why);
	if (err)
		refuse_library(l, m->path, &why);
	else
		answer[i] = l->placements[placement].code;
}

/* Is libpcce.so.0 before the C library? The request has the libraries in the order of search. */
static bool is_runtime_first(const struct pcce_count_request *r, const struct count_mappings *m)
{
	for (uint32_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < m->n; k++) {
			const char *name = strrchr(m->list[k].path, '/');

			if (m->list[k].start != r->base[i] || !name)
				continue;
			if (!strncmp(name, "/libpcce.so", strlen("/libpcce.so")))
				return true;
			if (!strncmp(name, "/libc.", strlen("/libc.")))
				return false;
		}
	return false;
}

static bool has_area(const struct count_libraries *l, const struct pcce_count_request *r,
		     const struct count_mappings *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].start == r->area && m->list[i].inode == l->config.area_inode &&
		    !strncmp(m->list[i].path, "/memfd:", strlen("/memfd:")))
			return true;
	return false;
}

static void answer(struct count_libraries *l, struct pcce_count_request *shared)
{
	struct pcce_count_request r = *shared;
	uint64_t answers[PCCE_COUNT_BASES] = {0};
	struct count_mappings m;
	struct error why = {0};
	uint32_t loads = r.loads;
	int err;

	if (r.n > PCCE_COUNT_BASES)
		r.n = 0;
	if (loads > l->n_loads)
		r.n = 0;
	err = count_mappings_read((pid_t)r.pid, &m, &why);
	if (!err && !has_area(l, &r, &m))
		err = error_set(&why, -ESRCH, "is in a process of another PID namespace");
	if (!err && count_process_is_confined((pid_t)r.pid))
		err = error_set(&why, -EPERM, "is in a process with a seccomp filter");
	if (err)
		refuse_library(l, "one", &why);
	else if (l->config.plain && !l->asked)
		l->bypassed = !is_runtime_first(&r, &m);
	l->asked = true;
	for (size_t i = 0; i < m.n && !err; i++)
		if (m.list[i].executable && m.list[i].path[0] == '/' &&
		    is_near_request(&r, &m.list[i]))
			answer_mapping(l, &r, &m, &m.list[i], &loads, answers);
	count_mappings_free(&m);
	memcpy(shared->base, answers, sizeof(answers));
	shared->loads = loads;
	__atomic_store_n(&shared->state, PCCE_COUNT_ANSWERED, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shared->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- the thread ------------------------------------------------------------------ */

/*
 * The kernel marks a word if this thread ends while the word is in its list of robust futexes. A
 * mutex of the C library would also have pointers, which the program could change.
 */
struct robust_word {
	struct robust_list_head head;
	struct robust_list entry;
};

static void keep_word(struct robust_word *r, uint32_t *word)
{
	r->head.list.next = &r->entry;
	r->head.futex_offset = (long)((uintptr_t)word - (uintptr_t)&r->entry);
	r->head.list_op_pending = NULL;
	r->entry.next = &r->head.list;
	syscall(SYS_set_robust_list, &r->head, sizeof(r->head));
	__atomic_store_n(word, (uint32_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
}

static void give_up_word(struct robust_word *r, uint32_t *word)
{
	__atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
	r->head.list.next = &r->head.list;
	syscall(SYS_set_robust_list, NULL, sizeof(r->head));
}

static void *answer_all(void *arg)
{
	const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};
	struct count_libraries *l = arg;
	struct pcce_count_area *a = l->config.area;
	struct robust_word word;

	keep_word(&word, &a->answers);
	sem_post(&l->begun);
	while (!__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE)) {
		uint32_t asked = __atomic_load_n(&a->asked, __ATOMIC_SEQ_CST);

		for (size_t i = 0; i < PCCE_COUNT_REQUESTS; i++)
			if (__atomic_load_n(&a->request[i].state, __ATOMIC_ACQUIRE) ==
			    PCCE_COUNT_ASKED)
				answer(l, &a->request[i]);
		syscall(SYS_futex, &a->asked, FUTEX_WAIT, asked, &pause, NULL, 0);
	}
	give_up_word(&word, &a->answers);
	return NULL;
}

struct count_libraries *count_libraries_start(const struct count_libraries_config *config)
{
	struct count_libraries *l = calloc(1, sizeof(*l));
	sigset_t all, before;

	if (!l)
		return NULL;
	l->config = *config;
	sem_init(&l->begun, 0, 0);
	/* Signals are for the recorder's own thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	l->running = !pthread_create(&l->thread, NULL, answer_all, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!l->running) {
		count_libraries_free(l);
		return NULL;
	}
	while (sem_wait(&l->begun))
		;
	return l;
}

static bool is_certain(const struct count_libraries *l, const struct placement *p)
{
	const struct pcce_count_code *code =
		(const struct pcce_count_code *)((const char *)l->config.area + p->code);
	struct stat st;

	return !code->loose && !stat(p->library->path, &st) && is_same_file(&st, &p->library->st);
}

void count_libraries_stop(struct count_libraries *l)
{
	if (!l || !l->running)
		return;
	__atomic_store_n(&l->stop, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &l->config.area->asked, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_join(l->thread, NULL);
	l->running = false;
	for (size_t i = 0; i < l->n_placements; i++)
		l->placements[i].certain = is_certain(l, &l->placements[i]);
}

void count_libraries_free(struct count_libraries *l)
{
	if (!l)
		return;
	count_libraries_stop(l);
	for (size_t i = 0; i < l->n_libraries; i++) {
		close_library(l->libraries[i]);
		free(l->libraries[i]->path);
		free(l->libraries[i]);
	}
	sem_destroy(&l->begun);
	free(l->libraries);
	free(l->placements);
	free(l->loads);
	free(l->refused_path);
	free(l);
}

/* ---- results --------------------------------------------------------------------- */

bool count_libraries_is_certain(const struct count_libraries *l, size_t module)
{
	return !module || (l && module <= l->n_placements && l->placements[module - 1].certain);
}

int count_libraries_each(const struct count_libraries *l, uint32_t loads,
			 int (*map)(void *ctx, uint64_t start, uint64_t length, uint64_t offset,
				    const char *path),
			 void *ctx)
{
	int err = 0;

	/* First, so a library that is counted at the same place in this process comes after it. */
	for (size_t i = 0; !err && l && i < l->n_libraries; i++) {
		const struct library *b = l->libraries[i];

		if (b->missing && b->length)
			err = map(ctx, b->start, b->length, b->offset, b->path);
	}
	for (; !err && l && loads && loads <= l->n_loads; loads = l->loads[loads - 1].parent) {
		uint32_t i = l->loads[loads - 1].placement;
		const struct placement *p = &l->placements[i];

		if (!p->certain)
			continue;
		for (size_t k = 0; !err && k < p->library->elf.n_segments; k++) {
			const struct elf_segment *g = &p->library->elf.segments[k];
			uint64_t skip = g->vaddr % PAGE, end = g->vaddr + g->file_size;

			if (g->executable && g->file_size)
				err = map(ctx, g->vaddr - skip + p->bias,
					  (end - (g->vaddr - skip) + PAGE - 1) / PAGE * PAGE,
					  g->offset - skip, p->library->path);
		}
	}
	return err;
}

uint64_t count_libraries_refused(const struct count_libraries *l, const char **path,
				 const char **why)
{
	*path = l && l->refused_path ? l->refused_path : "";
	*why = l ? l->refused_why.text : "";
	return l ? l->refused : 0;
}

uint64_t count_libraries_left(const struct count_libraries *l)
{
	return l ? l->left : 0;
}
