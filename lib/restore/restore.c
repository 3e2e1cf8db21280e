/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the restoration of changed frames: see restore.h.
 *
 *   compare_map()      compares all elements with the stack: changed and unchanged regions
 *   doubt_regions()    marks unchanged regions of too little confidence as changed
 *   restore_frames()   unwinds changed regions, from the innermost one outwards, and copies
 *                      unchanged elements
 *
 * A frame that was unwound in a changed region can end there, at the first element of an unchanged
 * region, or beyond. At the element, the region is joined: the element has the same place and the
 * same return address as the new frame. Beyond, the frame overlaps the region, which is therefore
 * changed, too, and unwinding goes on.
 *
 * An unchanged word does not prove that it is still a return address: it may be left over in a
 * larger frame. But a frame that was unwound proves the element at which it ends. The next element
 * began at the same instruction with the same stack pointer, so the same rule gives its place. If
 * the rule uses another register, the register's value must be right, too. So each element keeps
 * where its function saved registers, and values are read again when it is passed. Therefore the
 * result is that of full unwinding, if all frames follow from unwind information.
 *
 * Most functions have one rule from their prologue to their epilogue. So a function that is at
 * another instruction than before mostly has the same rule, stack pointer and place. Then its
 * element holds, too, and not even the innermost frame is unwound.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "restore/restore.h"

static int reserve(void *array, size_t *capacity, size_t n, size_t size)
{
	void **p = array, *more;
	size_t want = *capacity ? *capacity : 64;

	if (n <= *capacity)
		return 0;
	while (want < n)
		want *= 2;
	more = reallocarray(*p, want, size);
	if (!more)
		return -ENOMEM;
	*p = more;
	*capacity = want;
	return 0;
}

void restore_map_free(struct restore_map *map)
{
	free(map->frames);
	free(map->next);
	free(map->changed);
	*map = (struct restore_map){0};
}

void restore_leave(const struct restore_ops *ops, void *ctx, const struct restore_frame *f,
		   struct restore_state *state)
{
	state->pc = f->ret;
	state->sp = f->sp;
	state->inner = f->interrupted;
	state->known &= ~f->lost;
	for (unsigned int i = 0; i < RESTORE_REGISTERS; i++) {
		if (!f->saved[i])
			continue;
		if (ops->read(ctx, f->saved[i], &state->reg[i]))
			state->known |= 1u << i;
		else
			state->known &= ~(1u << i);
	}
}

/* ---- changed and unchanged regions ------------------------------------------------- */

static int compare_map(struct restore_map *map, const struct restore_ops *ops, void *ctx)
{
	uint64_t word;

	if (reserve(&map->changed, &map->changed_capacity, map->n, 1))
		return -ENOMEM;
	for (size_t i = 0; i < map->n; i++)
		map->changed[i] =
			!ops->read(ctx, map->frames[i].at, &word) || word != map->frames[i].ret;
	return 0;
}

/*
 * Returns the confidence that an unchanged region, frames [first, end), is right: that of its least
 * certain frame, less the deeper it is nested. A region between two changed ones has half of that.
 */
static unsigned int confidence_of(const struct restore_map *map, size_t first, size_t end)
{
	unsigned int least = RESTORE_CERTAIN;

	for (size_t i = first; i < end; i++)
		if (map->frames[i].confidence < least)
			least = map->frames[i].confidence;
	if (least == RESTORE_CERTAIN)
		return least;
	/* From a half for the innermost frame up to all for the outermost one. */
	least = least / 2 + (unsigned int)(least * (first + end) / (4 * map->n));
	return first && end < map->n ? least / 2 : least;
}

static uint64_t doubt_regions(struct restore_map *map, unsigned int threshold)
{
	uint64_t doubted = 0;
	size_t end;

	for (size_t i = 0; i < map->n; i = end) {
		unsigned int confidence;

		for (end = i + 1; end < map->n && map->changed[end] == map->changed[i]; end++)
			;
		if (map->changed[i])
			continue;
		confidence = confidence_of(map, i, end);
		if (confidence == RESTORE_CERTAIN || confidence >= threshold)
			continue;
		memset(map->changed + i, 1, end - i);
		doubted += end - i;
	}
	return doubted;
}

/* ---- the new map ------------------------------------------------------------------- */

static int keep_frame(struct restore_map *map, const struct restore_frame *f)
{
	if (reserve(&map->next, &map->next_capacity, map->n_next + 1, sizeof(*f)))
		return -ENOMEM;
	map->next[map->n_next++] = *f;
	return 0;
}

/* Does an unchanged element also hold for a function that was entered from here? */
static bool still_holds(const struct restore_frame *f, const struct restore_state *state)
{
	if (f->base == RESTORE_BASE_SP || f->base == RESTORE_BASE_SEARCH)
		return true;
	return f->base < RESTORE_REGISTERS && state->known >> f->base & 1 &&
	       state->reg[f->base] + (uint64_t)f->offset == f->at;
}

/* Finds the element at a location, or the first one beyond. */
static size_t skip_elements(const struct restore_map *map, size_t from, uint64_t at)
{
	while (from < map->n && map->frames[from].at < at)
		from++;
	return from;
}

/* Does an unchanged element belong to the function that is at this state? *i: the element. The
 * search begins at element `next`. */
static bool find_same_rule(const struct restore_map *map, size_t next,
			   const struct restore_state *state, size_t *i)
{
	uint64_t pc = state->pc - !state->inner;
	const struct restore_frame *f;

	*i = skip_elements(map, next, state->sp);
	if (*i == map->n || map->changed[*i])
		return false;
	f = &map->frames[*i];
	if (pc < f->rule || pc >= f->rule_end)
		return false;
	return f->base == RESTORE_BASE_SP ? f->from == state->sp : still_holds(f, state);
}

/* Makes the new map the current one. */
static int finish_map(struct restore_map *map, bool complete)
{
	struct restore_frame *frames = map->frames;
	size_t capacity = map->capacity;

	map->frames = map->next;
	map->n = map->n_next;
	map->capacity = map->next_capacity;
	map->next = frames;
	map->next_capacity = capacity;
	map->n_next = 0;
	map->complete = complete;
	if (complete)
		return RESTORE_COMPLETE;
	return map->n ? RESTORE_PARTIAL : RESTORE_FAILED;
}

/*
 * Copies elements from a joined one on. *joined becomes the last one that was copied, and the state
 * that of its caller.
 */
static int copy_elements(struct restore_map *map, const struct restore_ops *ops, void *ctx,
			 size_t *joined, struct restore_state *state, struct restore_counts *counts)
{
	size_t i = *joined + 1;

	for (; i < map->n && !map->changed[i] && still_holds(&map->frames[i], state); i++) {
		if (keep_frame(map, &map->frames[i]))
			return -ENOMEM;
		restore_leave(ops, ctx, &map->frames[i], state);
		counts->reused++;
	}
	*joined = i - 1;
	return 0;
}

int restore_frames(struct restore_map *map, const struct restore_ops *ops, void *ctx,
		   const struct restore_state *from, unsigned int threshold,
		   struct restore_counts *counts)
{
	struct restore_state state = *from;
	struct restore_frame f;
	uint64_t doubted;
	size_t next = 0;

	if (compare_map(map, ops, ctx))
		return -ENOMEM;
	doubted = doubt_regions(map, threshold);
	map->n_next = 0;
	while (map->n_next < RESTORE_FRAMES_MAX) {
		size_t same;

		if (find_same_rule(map, next, &state, &same)) {
			f = map->frames[same];
			next = same;
			counts->reused++;
		} else {
			enum restore_step step = ops->unwind(ctx, &state, &f);

			if (step != RESTORE_STEP_FRAME)
				return finish_map(map, step == RESTORE_STEP_END);
			/* A frame ends outside of those that it called. Only a signal can change
			 * stacks. */
			if (f.at < state.sp && !f.interrupted)
				return finish_map(map, false);
			counts->unwound++;
		}
		f.from = state.sp;
		if (keep_frame(map, &f))
			return -ENOMEM;
		restore_leave(ops, ctx, &f, &state);
		next = skip_elements(map, next, f.at);
		if (next < map->n && map->frames[next].at == f.at && map->changed[next] &&
		    doubted && map->frames[next].ret == f.ret)
			counts->rechecked++;
		if (next < map->n && map->frames[next].at == f.at && !map->changed[next]) {
			bool last;

			if (copy_elements(map, ops, ctx, &next, &state, counts))
				return -ENOMEM;
			last = next + 1 == map->n;
			next++;
			if (last && map->complete)
				return finish_map(map, true);
		}
		if (ops->stop && ops->stop(ctx, state.pc))
			return finish_map(map, true);
	}
	return finish_map(map, false);
}
