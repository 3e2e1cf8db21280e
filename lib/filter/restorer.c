/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the restorer with lib/restore. Each thread has a map of its last frames. The encoding
 * tables say which code is instrumented, so they say where unwinding stops.
 *
 * A change of a process's mappings can give an address another meaning. So it makes the maps of all
 * its threads empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "base/uthash.h"
#include "decode/restored.h"
#include "filter/restorer.h"
#include "restore/cfi_unwind.h"

/* If more threads have maps, all maps are dropped: most of the threads have ended. */
#define THREADS_MAX 4096

struct thread {
	struct {
		uint32_t pid, tid;
	} key;
	struct restore_map map;
	bool whole;	 /* the map is that of a whole stack */
	uint64_t layout; /* of the address space, when the map was made (address_space.h) */
	UT_hash_handle hh;
};

/*
 * How much of a stack samples need: twice as much as the one that needed most in the last window.
 * The first windows are short. A sample that needs a word beyond its copy begins a window with
 * twice as many words as lead to that one.
 */
#define NEED_LEAST 64u /* words */
#define WINDOW_FIRST 16u
#define WINDOW_LAST 256u

struct need {
	uint32_t words;	 /* of the samples to come */
	uint32_t most;	 /* of a sample in this window */
	uint32_t window; /* samples */
	uint32_t samples;
};

struct restorer {
	const struct record_modules *modules;
	struct address_spaces *spaces;
	struct thread *threads;
	struct cfi **cfi; /* by module */
	bool *cfi_tried;
	size_t n_cfi;
	uint64_t *frames;
	size_t frames_capacity;
	struct restore_counts counts;
	struct need need;
	/* The rest describes the current sample. */
	const struct decode_space *as;
	const uint64_t *words;
	uint64_t sp;
	uint32_t n_words;
	uint64_t beyond; /* words up to one beyond the copy that was needed; 0: none was */
};

static struct restorer *restorer_new(const struct record_modules *m, struct address_spaces *spaces)
{
	struct restorer *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->modules = m;
	r->need = (struct need){.words = PCCE_COPY_WORDS, .window = WINDOW_FIRST};
	r->spaces = spaces;
	return r;
}

static void drop_thread_maps(struct restorer *r)
{
	struct thread *t, *next;

	HASH_ITER (hh, r->threads, t, next) {
		HASH_DEL(r->threads, t);
		restore_map_free(&t->map);
		free(t);
	}
}

static void restorer_free(struct restorer *r)
{
	if (!r)
		return;
	drop_thread_maps(r);
	for (size_t i = 0; i < r->n_cfi; i++)
		cfi_close(r->cfi[i]);
	free(r->cfi);
	free(r->cfi_tried);
	free(r->frames);
	free(r);
}

/* ---- callbacks --------------------------------------------------------------------- */

static struct cfi *cfi_of(struct restorer *r, const struct record_module *m)
{
	size_t n = record_modules_count(r->modules);

	if (m->index >= r->n_cfi) {
		struct cfi **cfi = reallocarray(r->cfi, n, sizeof(struct cfi *));
		bool *tried = reallocarray(r->cfi_tried, n, sizeof(bool));

		if (cfi)
			r->cfi = cfi;
		if (tried)
			r->cfi_tried = tried;
		if (!cfi || !tried)
			return NULL;
		for (; r->n_cfi < n; r->n_cfi++) {
			r->cfi[r->n_cfi] = NULL;
			r->cfi_tried[r->n_cfi] = false;
		}
	}
	if (!r->cfi_tried[m->index] && (m->elf || m->vdso))
		r->cfi[m->index] = cfi_open(m->vdso ? -1 : m->fd);
	r->cfi_tried[m->index] = true;
	return r->cfi[m->index];
}

static bool read_copy(void *ctx, uint64_t address, uint64_t *word)
{
	struct restorer *r = ctx;
	uint64_t offset = address - r->sp;

	if (offset % 8)
		return false;
	if (offset / 8 >= r->n_words) {
		if (offset / 8 < PCCE_COPY_WORDS && offset / 8 >= r->beyond)
			r->beyond = offset / 8 + 1;
		return false;
	}
	*word = r->words[offset / 8];
	return true;
}

static const uint64_t *stack_of_sample(void *ctx, size_t *n)
{
	const struct restorer *r = ctx;

	*n = r->n_words;
	return r->words;
}

static enum restore_step unwind_by_module(void *ctx, const struct restore_state *state,
					  struct restore_frame *f)
{
	struct restorer *r = ctx;
	uint64_t pc = state->pc - !state->inner;
	const struct decode_module *m = r->as->find(r->as, pc);
	struct cfi *cfi = m ? cfi_of(r, record_modules_get(r->modules, m->module)) : NULL;
	uint64_t vaddr = m ? decode_link_time(m, pc) : 0;
	const struct cfi_row *row = cfi ? cfi_at(cfi, vaddr) : NULL;
	const struct restore_ops ops = {.read = read_copy};

	return row ? cfi_unwind(row, vaddr, &ops, r, state, f) : RESTORE_STEP_FAILED;
}

static bool returns_to_instrumented(void *ctx, uint64_t ret)
{
	const struct restorer *r = ctx;
	bool helper;

	return restored_is_instrumented(r->as, ret - 1, &helper);
}

/* ---- samples ----------------------------------------------------------------------- */

static struct thread *thread_of_sample(struct restorer *r, const struct pcce_sample *s)
{
	struct thread *t, key = {.key = {s->pid, s->tid}};

	HASH_FIND(hh, r->threads, &key.key, sizeof(key.key), t);
	if (t)
		return t;
	if (HASH_COUNT(r->threads) >= THREADS_MAX)
		drop_thread_maps(r);
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key.pid = s->pid;
	t->key.tid = s->tid;
	if (!hash_add(r->threads, key, t))
		return NULL;
	return t;
}

/* Returns twice the words, within the bounds. */
static uint32_t twice(uint64_t words)
{
	if (words < NEED_LEAST / 2)
		return NEED_LEAST;
	return words < PCCE_COPY_WORDS / 2 ? (uint32_t)words * 2 : PCCE_COPY_WORDS;
}

static void note_need(struct need *n, const struct restorer *r, const struct restore_map *map,
		      bool partial)
{
	uint64_t words = map->n ? (map->frames[map->n - 1].sp - r->sp) / 8 : 0;

	if (words > n->most)
		n->most = words < PCCE_COPY_WORDS ? (uint32_t)words : PCCE_COPY_WORDS;
	if (partial && r->beyond) {
		if (n->words < twice(r->beyond))
			n->words = twice(r->beyond);
		n->samples = 0;
	}
	if (++n->samples < n->window)
		return;
	n->words = twice(n->most);
	n->most = 0;
	n->samples = 0;
	if (n->window < WINDOW_LAST)
		n->window *= 2;
}

static int put_frames(struct restorer *r, const struct restore_map *map)
{
	if (array_reserve(&r->frames, &r->frames_capacity, map->n, sizeof(*r->frames)))
		return -ENOMEM;
	for (size_t i = 0; i < map->n; i++)
		r->frames[i] = map->frames[i].ret;
	return 0;
}

static int restorer_sample(struct restorer *r, const struct pcce_sample *s, const uint64_t **frames,
			   uint32_t *n, uint32_t *flags)
{
	static const struct restore_ops to_caller = {read_copy, unwind_by_module,
						     returns_to_instrumented, stack_of_sample},
					whole = {read_copy, unwind_by_module, NULL,
						 stack_of_sample};
	bool outside = s->flags & PCCE_SAMPLE_OUTSIDE, helper;
	struct restore_state state = {.pc = s->ip, .sp = s->sp, .inner = true};
	const uint64_t *copy = pcce_sample_stack(s);
	struct thread *t;
	uint64_t layout;
	int result;

	*n = 0;
	*flags = 0;
	r->as = address_spaces_now(r->spaces, s->pid, &layout);
	if (!r->as)
		return -ENOMEM;
	if (!outside && restored_is_instrumented(r->as, s->ip, &helper))
		return 0;
	if (s->n_stack < PCCE_COPY_REGISTERS) {
		*flags = PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_FRAMES_PARTIAL;
		return 0;
	}
	t = thread_of_sample(r, s);
	if (!t)
		return -ENOMEM;
	if (t->layout != layout || t->whole != outside)
		restore_map_free(&t->map);
	t->layout = layout;
	t->whole = outside;
	memcpy(state.reg, copy, sizeof(state.reg));
	state.known = (1u << RESTORE_REGISTERS) - 1;
	r->words = copy + PCCE_COPY_REGISTERS;
	r->n_words = s->n_stack - PCCE_COPY_REGISTERS;
	r->sp = s->sp;
	r->beyond = 0;
	result = restore_frames(&t->map, outside ? &whole : &to_caller, r, &state, 0, &r->counts);
	if (result < 0 || put_frames(r, &t->map))
		return -ENOMEM;
	note_need(&r->need, r, &t->map, result != RESTORE_COMPLETE);
	*frames = r->frames;
	*n = (uint32_t)t->map.n;
	*flags = PCCE_SAMPLE_FRAMES;
	if (result != RESTORE_COMPLETE)
		*flags |= PCCE_SAMPLE_FRAMES_PARTIAL;
	return 0;
}

static uint32_t restorer_need(const struct restorer *r)
{
	return r->need.words;
}

static void restorer_count(const struct restorer *r, struct pcce_rec_frames *rec)
{
	rec->unwound = r->counts.unwound;
	rec->reused = r->counts.reused;
}

_Static_assert(PCCE_COPY_REGISTERS == RESTORE_REGISTERS, "the sampler copies other registers");

const struct restorer_ops restorer = {
	.new = restorer_new,
	.free = restorer_free,
	.sample = restorer_sample,
	.need = restorer_need,
	.count = restorer_count,
};
