/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the restoration of changed frames: see restore.h.
 *
 *   compare_map()      compares elements with the stack: changed and unchanged regions
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
 *
 * All this looks at each element. But mostly the outer part of a stack is unchanged, word by word,
 * and comparing its words is much faster. All elements there hold together, if the registers from
 * which they follow have the same values (rest_holds()). They stay where they are, and the inner
 * ones are put before them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "restore/restore.h"

#define BLOCK 64 /* words that are compared at once */

void restore_map_free(struct restore_map *map)
{
	free(map->memory);
	free(map->next);
	free(map->changed);
	free(map->stack);
	*map = (struct restore_map){0};
}

/* ---- the copy of the stack ----------------------------------------------------------- */

/* Where the copy of the word at stack_sp is: the last word is at the end of the memory. */
static uint64_t *stack_copy(const struct restore_map *map)
{
	return map->stack + (map->stack_capacity - map->n_stack);
}

/* Returns the address from which on all is as it was at the last request; UINT64_MAX: unknown. */
static uint64_t unchanged_from(const struct restore_map *map, uint64_t sp, const uint64_t *words,
			       size_t n)
{
	uint64_t end = map->stack_sp + map->n_stack * 8, from = sp;
	const uint64_t *copy = stack_copy(map);
	size_t left;

	if (!map->n_stack || (sp - map->stack_sp) % 8 || end <= sp || end - sp > n * 8)
		return UINT64_MAX;
	if (sp < map->stack_sp) {
		words += (map->stack_sp - sp) / 8;
		from = map->stack_sp;
	} else {
		copy += (sp - map->stack_sp) / 8;
	}
	left = (end - from) / 8;
	while (left >= BLOCK && !memcmp(words + left - BLOCK, copy + left - BLOCK, BLOCK * 8))
		left -= BLOCK;
	while (left && words[left - 1] == copy[left - 1])
		left--;
	return from + left * 8;
}

/* Keeps what the new map follows from, which is unchanged from an address on. */
static int keep_stack(struct restore_map *map, uint64_t sp, const uint64_t *words, size_t n,
		      uint64_t unchanged)
{
	uint64_t end = map->n ? map->frames[map->n - 1].is.sp : sp, changed = end - sp;
	size_t needed = (end - sp) / 8;

	if ((end - sp) % 8 || needed > n)
		needed = 0;
	if (needed > map->stack_capacity) {
		uint64_t *more = malloc(2 * needed * sizeof(*more));

		if (!more)
			return -ENOMEM;
		free(map->stack);
		map->stack = more;
		map->stack_capacity = 2 * needed;
	} else if (unchanged != UINT64_MAX && map->stack_sp + map->n_stack * 8 == end) {
		changed = unchanged - sp;
	}
	map->n_stack = needed;
	map->stack_sp = sp;
	if (needed)
		memcpy(stack_copy(map), words, changed);
	return 0;
}

/* ---- changed and unchanged regions ------------------------------------------------- */

static int compare_map(struct restore_map *map, const struct restore_ops *ops, void *ctx,
		       uint64_t unchanged)
{
	uint64_t word;
	size_t i;

	if (array_reserve(&map->changed, &map->changed_capacity, map->n, 1))
		return -ENOMEM;
	for (i = 0; i < map->n && map->frames[i].low < unchanged; i++)
		map->changed[i] = !ops->read(ctx, map->frames[i].is.at, &word) ||
				  word != map->frames[i].is.ret;
	map->n_compared = i;
	return 0;
}

static bool is_changed(const struct restore_map *map, size_t i)
{
	return i < map->n_compared && map->changed[i];
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

	for (size_t i = 0; threshold && i < map->n; i = end) {
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
	if (array_reserve(&map->next, &map->next_capacity, map->n_next + 1, sizeof(*f)))
		return -ENOMEM;
	map->next[map->n_next++] = *f;
	return 0;
}

/* Does an unchanged element also hold for a function that was entered from here? */
static bool still_holds(const struct restore_frame *f, const struct unwind_state *state)
{
	if (f->base == RESTORE_BASE_SP || f->base == RESTORE_BASE_SEARCH)
		return true;
	return f->base < UNWIND_REGISTERS && state->known >> f->base & 1 &&
	       state->reg[f->base] + (uint64_t)f->offset == f->is.at;
}

/* Finds the element at a location, or the first one beyond. */
static size_t skip_elements(const struct restore_map *map, size_t from, uint64_t at)
{
	while (from < map->n && map->frames[from].is.at < at)
		from++;
	return from;
}

/* Does an unchanged element belong to the function that is at this state? *i: the element. The
 * search begins at element `next`. */
static bool find_same_rule(const struct restore_map *map, size_t next,
			   const struct unwind_state *state, size_t *i)
{
	uint64_t pc = state->pc - !state->inner;
	const struct restore_frame *f;

	*i = skip_elements(map, next, state->sp);
	if (*i == map->n || is_changed(map, *i))
		return false;
	f = &map->frames[*i];
	if (pc < f->rule || pc >= f->rule_end)
		return false;
	return f->base == RESTORE_BASE_SP ? f->from == state->sp : still_holds(f, state);
}

/* Do all elements from this one on hold for a function that was entered from here? */
static bool rest_holds(const struct restore_map *map, size_t first,
		       const struct unwind_state *state, uint64_t unchanged)
{
	const struct restore_frame *f = &map->frames[first];

	if (first == map->n || !map->complete || f->low < unchanged || f->from != state->sp)
		return false;
	return f->wants == RESTORE_BASE_SP ||
	       (state->known >> f->wants & 1 && state->reg[f->wants] == f->want);
}

/* Finds what a frame and its callers' frames follow from. */
static void add_dependencies(struct restore_frame *f, const struct restore_frame *caller)
{
	f->low = caller ? caller->low : UINT64_MAX;
	f->wants = caller ? caller->wants : RESTORE_BASE_SP;
	f->want = caller ? caller->want : 0;
	if (f->is.at < f->low)
		f->low = f->is.at;
	for (unsigned int i = 0; i < UNWIND_REGISTERS; i++)
		if (f->is.saved[i] && f->is.saved[i] < f->low)
			f->low = f->is.saved[i];
	if (f->wants != RESTORE_BASE_SP && (f->is.saved[f->wants] || f->is.lost >> f->wants & 1))
		f->wants = RESTORE_BASE_SP;
	if (f->base < UNWIND_REGISTERS) {
		if (f->wants != RESTORE_BASE_SP && f->wants != f->base)
			f->low = 0;
		f->wants = f->base;
		f->want = f->is.at - (uint64_t)f->offset;
	}
	/* It may follow from any memory, or is possible only above the innermost frame. */
	if (!f->rule_end || f->confidence < RESTORE_CERTAIN || f->is.sp <= f->from)
		f->low = 0;
}

/* Puts the next map before the elements from `first` on, and returns 0 or -ENOMEM. */
static int put_before(struct restore_map *map, size_t first)
{
	size_t kept = map->n - first, n = map->n_next + kept;

	if ((size_t)(map->frames + first - map->memory) < map->n_next) {
		struct restore_frame *more = calloc(2 * n, sizeof(*more));

		if (!more)
			return -ENOMEM;
		memcpy(more + n + map->n_next, map->frames + first, kept * sizeof(*more));
		free(map->memory);
		map->memory = more;
		map->capacity = 2 * n;
		map->frames = more + n;
	} else {
		map->frames += first - map->n_next;
	}
	memcpy(map->frames, map->next, map->n_next * sizeof(*map->next));
	map->n = n;
	return 0;
}

/* Makes the next map the current one, with the elements from `first` on behind it. */
static int finish_map(struct restore_map *map, size_t first, bool complete)
{
	const struct restore_frame *caller = first < map->n ? &map->frames[first] : NULL;

	for (size_t i = map->n_next; i--; caller = &map->next[i])
		add_dependencies(&map->next[i], caller);
	if (first == map->n) {
		struct restore_frame *memory = map->memory;
		size_t capacity = map->capacity;

		map->frames = map->memory = map->next;
		map->n = map->n_next;
		map->capacity = map->next_capacity;
		map->next = memory;
		map->next_capacity = capacity;
	} else if (put_before(map, first)) {
		return -ENOMEM;
	}
	map->complete = complete;
	if (complete)
		return UNWIND_COMPLETE;
	return map->n ? UNWIND_PARTIAL : UNWIND_FAILED;
}

/*
 * Copies elements from *at on, as long as each holds, but not all the others without a look.
 * *at becomes the first one that was not copied, and the state that of the last one's caller.
 */
static int copy_elements(struct restore_map *map, const struct restore_ops *ops, void *ctx,
			 size_t *at, struct unwind_state *state, uint64_t first, uint64_t unchanged,
			 struct restore_counts *counts)
{
	size_t i = *at;

	for (; i < map->n && !is_changed(map, i) && still_holds(&map->frames[i], state) &&
	       unwind_is_possible(&map->frames[i].is, state, first) &&
	       !rest_holds(map, i, state, unchanged);
	     i++) {
		if (keep_frame(map, &map->frames[i]))
			return -ENOMEM;
		unwind_leave(ops->read, ctx, &map->frames[i].is, state);
		counts->reused++;
	}
	*at = i;
	return 0;
}

/* Makes the new map. unchanged: the address from which on the stack is unchanged. */
static int make_map(struct restore_map *map, const struct restore_ops *ops, void *ctx,
		    struct unwind_state *state, uint64_t unchanged, uint64_t doubted,
		    struct restore_counts *counts)
{
	const uint64_t first = state->sp;
	struct restore_frame f;
	size_t next = 0;

	map->n_next = 0;
	while (map->n_next < UNWIND_FRAMES_MAX) {
		size_t same;

		if (find_same_rule(map, next, state, &same)) {
			f = map->frames[same];
			next = same;
			counts->reused++;
		} else {
			enum unwind_step step = ops->unwind(ctx, state, &f);

			if (step != UNWIND_STEP_FRAME)
				return finish_map(map, map->n, step == UNWIND_STEP_END);
			counts->unwound++;
		}
		if (!unwind_is_possible(&f.is, state, first))
			return finish_map(map, map->n, false);
		f.from = state->sp;
		if (keep_frame(map, &f))
			return -ENOMEM;
		unwind_leave(ops->read, ctx, &f.is, state);
		next = skip_elements(map, next, f.is.at);
		if (next < map->n && map->frames[next].is.at == f.is.at && is_changed(map, next) &&
		    doubted && map->frames[next].is.ret == f.is.ret)
			counts->rechecked++;
		if (next < map->n && map->frames[next].is.at == f.is.at && !is_changed(map, next)) {
			next++;
			if (copy_elements(map, ops, ctx, &next, state, first, unchanged, counts))
				return -ENOMEM;
			if (next < map->n && rest_holds(map, next, state, unchanged)) {
				counts->reused += map->n - next;
				return finish_map(map, next, true);
			}
			if (next == map->n && map->complete)
				return finish_map(map, map->n, true);
		}
		if (ops->stop && ops->stop(ctx, state->pc))
			return finish_map(map, map->n, true);
	}
	return finish_map(map, map->n, false);
}

int restore_frames(struct restore_map *map, const struct restore_ops *ops, void *ctx,
		   const struct unwind_state *from, unsigned int threshold,
		   struct restore_counts *counts)
{
	struct unwind_state state = *from;
	uint64_t unchanged = UINT64_MAX, doubted;
	const uint64_t *words = NULL;
	size_t n_words = 0;
	int result;

	if (ops->stack)
		words = ops->stack(ctx, &n_words);
	if (words && !threshold)
		unchanged = unchanged_from(map, from->sp, words, n_words);
	if (compare_map(map, ops, ctx, unchanged))
		return -ENOMEM;
	doubted = doubt_regions(map, threshold);
	result = make_map(map, ops, ctx, &state, unchanged, doubted, counts);
	if (result >= 0 && words && keep_stack(map, from->sp, words, n_words, unchanged))
		return -ENOMEM;
	return result;
}
