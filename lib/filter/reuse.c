/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the reuse of frames with lib/restore. Each thread has a map of its last frames.
 *
 * A change of a process's mappings can give an address another meaning. So it makes the maps of all
 * its threads empty.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/uthash.h"
#include "filter/reuse.h"
#include "restore/cfi_rule.h"
#include "restore/restore.h"
#include "unwind/cfi_unwind.h"

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

struct reuse {
	struct thread *threads;
};

static struct reuse *reuse_new(void)
{
	return calloc(1, sizeof(struct reuse));
}

static void drop_thread_maps(struct reuse *r)
{
	struct thread *t, *next;

	HASH_ITER (hh, r->threads, t, next) {
		HASH_DEL(r->threads, t);
		restore_map_free(&t->map);
		free(t);
	}
}

static void reuse_free(struct reuse *r)
{
	drop_thread_maps(r);
	free(r);
}

/* ---- callbacks --------------------------------------------------------------------- */

static const uint64_t *stack_of_sample(void *ctx, size_t *n)
{
	const struct stack_unwinder *u = ctx;

	*n = u->n_words;
	return u->words;
}

static enum unwind_step unwind_element(void *ctx, const struct unwind_state *state,
				       struct restore_frame *f)
{
	uint64_t vaddr;
	const struct cfi_row *row = stack_unwinder_rules(ctx, state, &vaddr);
	enum unwind_step step =
		row ? cfi_unwind(row, stack_unwinder_read, ctx, state, &f->is) : UNWIND_STEP_FAILED;

	if (step == UNWIND_STEP_FRAME)
		cfi_rule_set(row, vaddr, state, f);
	return step;
}

/* ---- samples ----------------------------------------------------------------------- */

static struct thread *thread_of_sample(struct reuse *r, const struct reuse_sample *s)
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

static int reuse_unwind(struct reuse *r, struct stack_unwinder *u, const struct reuse_sample *s,
			const struct unwind_state *state, struct unwind_sequence *frames,
			uint64_t *unwound, uint64_t *reused)
{
	static const struct restore_ops to_caller = {stack_unwinder_read, unwind_element,
						     stack_unwinder_stop, stack_of_sample},
					whole = {stack_unwinder_read, unwind_element, NULL,
						 stack_of_sample};
	struct thread *t = thread_of_sample(r, s);
	struct restore_counts counts = {0};
	int result;

	if (!t)
		return -ENOMEM;
	if (t->layout != s->layout || t->whole != s->whole)
		restore_map_free(&t->map);
	t->layout = s->layout;
	t->whole = s->whole;
	result = restore_frames(&t->map, s->whole ? &whole : &to_caller, u, state, 0, &counts);
	if (result < 0 ||
	    array_reserve(&frames->ret, &frames->capacity, t->map.n, sizeof(*frames->ret)))
		return -ENOMEM;
	for (size_t i = 0; i < t->map.n; i++)
		frames->ret[i] = t->map.frames[i].is.ret;
	frames->n = t->map.n;
	frames->end = t->map.n ? t->map.frames[t->map.n - 1].is.sp : state->sp;
	*unwound += counts.unwound;
	*reused += counts.reused;
	return result;
}

const struct reuse_ops reuse_frames = {reuse_new, reuse_free, reuse_unwind};
