/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests incremental restoration against full unwinding, and both against the truth, with millions
 * of requests on random histories of a simulated stack.
 *
 * The simulated machine has few functions, whose frames have few sizes. So new frames often end
 * where old ones did. It never clears memory: return addresses of old frames stay in the unused
 * parts of new ones. Some functions have frames of any size and find their end through a register,
 * which others save and use for themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "restore/restore.h"
#include "tests/unit/tap.h"

#define WORDS 4096
#define STACK_BASE 0x7000000000ull
#define STACK_END (STACK_BASE + WORDS * 8)
#define CODE 0x400000ull
#define FUNCTIONS 12
#define CALLS 4 /* calls in a function */
#define MAX_DEPTH 200
#define ROOT (CODE - 16) /* what the outermost function returns to */

/* What a function does with its frame. */
struct shape {
	unsigned int words;  /* between its return address and its lowest word */
	bool own_base;	     /* register 0 is its base: it is saved, and set to the frame's end */
	bool any_size;	     /* adds any number of words; own_base only */
	unsigned int saves;  /* another register that it saves and changes; 0: none */
	unsigned int pushed; /* further words that are pushed at call i: pushed * i */
};

struct frame { /* the truth */
	uint64_t at, ret;
	uint64_t low; /* the stack pointer while it calls */
	uint64_t before[UNWIND_REGISTERS];
	unsigned int function;
};

static struct machine {
	uint64_t stack[WORDS];
	uint64_t reg[UNWIND_REGISTERS];
	struct shape shapes[FUNCTIONS];
	struct frame frames[MAX_DEPTH];
	unsigned int depth;
	uint64_t pc, sp;
	uint64_t random;
	uint64_t reads, unwinds, lowest; /* lowest: no word below it can be read */
} m;

static unsigned int any(unsigned int n)
{
	return tap_random(&m.random) % n;
}

static uint64_t *word_at(uint64_t address)
{
	return &m.stack[(address - STACK_BASE) / 8];
}

static uint64_t address_of_call(unsigned int function, unsigned int call)
{
	return CODE + function * 256 + call * 16 + 8;
}

/* ---- the program ------------------------------------------------------------------- */

static void make_program(uint64_t seed)
{
	memset(&m, 0, sizeof(m));
	m.random = seed * 2 + 1;
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		struct shape *s = &m.shapes[i];

		s->own_base = any(3) == 0;
		s->any_size = s->own_base && any(2);
		s->saves = any(2) ? 0 : 1 + any(UNWIND_REGISTERS - 1);
		s->words = 2 + any(4) * 2;
		s->pushed = any(4) ? 0 : 1;
	}
	for (unsigned int i = 0; i < UNWIND_REGISTERS; i++)
		m.reg[i] = i;
	m.sp = STACK_END;
	m.lowest = STACK_BASE;
}

/* Calls a function, from a call of the current one. */
static void enter(unsigned int function)
{
	struct frame *f = &m.frames[m.depth];
	const struct shape *s = &m.shapes[function];
	uint64_t end = m.sp, low;
	unsigned int call = any(CALLS), more = s->any_size ? any(24) : 0;

	if (m.depth) {
		const struct frame *caller = f - 1;

		f->ret = address_of_call(caller->function, call);
		end = caller->low - m.shapes[caller->function].pushed * 8 * call;
	} else {
		f->ret = ROOT;
	}
	low = end - 8 - (s->words + more) * 8;
	if (low < STACK_BASE + 256 || m.depth == MAX_DEPTH - 1)
		return;
	f->at = end - 8;
	f->low = low;
	f->function = function;
	memcpy(f->before, m.reg, sizeof(f->before));
	*word_at(f->at) = f->ret;
	if (s->own_base) {
		*word_at(f->at - 8) = m.reg[0];
		m.reg[0] = f->at - 8;
	} else if (any(4) == 0) {
		*word_at(f->at - 8) = tap_random(&m.random);
	}
	if (s->saves) {
		*word_at(f->at - 16) = m.reg[s->saves];
		m.reg[s->saves] = any(2) ? STACK_BASE + any(WORDS) * 8 : tap_random(&m.random);
	}
	/* Now and then it writes to the rest of its frame. */
	for (uint64_t at = f->at - 24; any(3) == 0 && at >= low && at < f->at; at -= 8)
		*word_at(at) = any(2) ? 0 : address_of_call(any(FUNCTIONS), any(CALLS));
	m.depth++;
	m.sp = low;
	m.pc = CODE + function * 256 + 128;
}

static void leave(void)
{
	const struct frame *f = &m.frames[--m.depth];

	memcpy(m.reg, f->before, sizeof(m.reg));
	m.sp = m.depth ? f[-1].low : STACK_END;
	m.pc = m.depth ? CODE + f[-1].function * 256 + 128 : 0;
}

/* Runs on for a while: a history of calls and returns. */
static void run(unsigned int most)
{
	unsigned int drop = any(32) ? any(3) : any(m.depth + 1);
	unsigned int calls = 1 + any(most);

	while (drop-- && m.depth > 1)
		leave();
	while (calls--) {
		if (m.depth < 2 || any(100) < (m.depth < 60 ? 80 : 50))
			enter(any(FUNCTIONS));
		else
			leave();
	}
	if (!m.depth)
		enter(any(FUNCTIONS));
}

/* ---- unwinding --------------------------------------------------------------------- */

static bool read_word(void *ctx, uint64_t address, uint64_t *word)
{
	(void)ctx;
	m.reads++;
	if (address < m.lowest || address >= STACK_END || address % 8)
		return false;
	*word = *word_at(address);
	return true;
}

/* As unwind information would: by the rules of the function at pc. */
static enum unwind_step unwind_frame(void *ctx, const struct unwind_state *state,
				     struct restore_frame *f)
{
	unsigned int function = (unsigned int)((state->pc - CODE) / 256), call;
	const struct shape *s;
	uint64_t end;

	m.unwinds++;
	*f = (struct restore_frame){.confidence = RESTORE_CERTAIN};
	if (state->pc == ROOT)
		return UNWIND_STEP_END;
	if (state->pc < CODE || function >= FUNCTIONS)
		return UNWIND_STEP_FAILED;
	s = &m.shapes[function];
	call = state->inner ? 0 : (unsigned int)(state->pc % 256) / 16;
	if (s->own_base) {
		if (!(state->known & 1))
			return UNWIND_STEP_FAILED;
		end = state->reg[0] + 16;
		f->base = 0;
		f->offset = 8;
		f->is.saved[0] = end - 16;
	} else {
		end = state->sp + (s->pushed * call + s->words + 1) * 8;
		f->base = RESTORE_BASE_SP;
	}
	f->rule = CODE + function * 256;
	f->rule_end = f->rule + 256;
	if (!s->own_base && s->pushed) {
		/* All calls have different rules. */
		f->rule = state->inner ? f->rule + CALLS * 16 : state->pc - 8;
		f->rule_end = state->inner ? f->rule_end : state->pc + 8;
	}
	if (s->saves)
		f->is.saved[s->saves] = end - 24;
	f->is.at = end - 8;
	f->is.sp = end;
	return read_word(ctx, f->is.at, &f->is.ret) ? UNWIND_STEP_FRAME : UNWIND_STEP_FAILED;
}

/* As one without unwind information would: the next word that could be a return address. */
static enum unwind_step search_frame(void *ctx, const struct unwind_state *state,
				     struct restore_frame *f)
{
	uint64_t word;

	m.unwinds++;
	*f = (struct restore_frame){.confidence = 80, .base = RESTORE_BASE_SEARCH, .is.lost = ~0u};
	if (state->pc == ROOT)
		return UNWIND_STEP_END;
	for (uint64_t at = state->sp; read_word(ctx, at, &word); at += 8) {
		if (word != ROOT && (word < CODE || word >= CODE + FUNCTIONS * 256 ||
				     word % 16 != 8 || word % 256 >= CALLS * 16))
			continue;
		f->is.at = at;
		f->is.sp = at + 8;
		f->is.ret = word;
		return UNWIND_STEP_FRAME;
	}
	return UNWIND_STEP_FAILED;
}

static bool stop_at_zero(void *ctx, uint64_t ret)
{
	(void)ctx;
	return ret >= CODE && (ret - CODE) / 256 == 0;
}

/* All of it, or what can be read. */
static const uint64_t *whole_stack(void *ctx, size_t *n)
{
	(void)ctx;
	*n = (STACK_END - m.sp) / 8;
	return m.sp < m.lowest ? NULL : word_at(m.sp);
}

static const struct restore_ops precise = {.read = read_word, .unwind = unwind_frame};
static const struct restore_ops foreign = {
	.read = read_word, .unwind = unwind_frame, .stop = stop_at_zero};
static const struct restore_ops imprecise = {read_word, search_frame, NULL, whole_stack};
static const struct restore_ops with_stack = {read_word, unwind_frame, NULL, whole_stack};
static const struct restore_ops foreign_with_stack = {read_word, unwind_frame, stop_at_zero,
						      whole_stack};

static struct unwind_state machine_state(void)
{
	struct unwind_state s = {
		.pc = m.pc, .sp = m.sp, .known = (1u << UNWIND_REGISTERS) - 1, .inner = true};

	memcpy(s.reg, m.reg, sizeof(s.reg));
	return s;
}

/* ---- tests ------------------------------------------------------------------------- */

static bool is_true_sequence(const struct restore_map *map, bool stops)
{
	unsigned int depth = m.depth;

	for (size_t i = 0; i < map->n; i++) {
		const struct frame *f;

		if (!depth)
			return false;
		f = &m.frames[--depth];
		if (map->frames[i].is.at != f->at || map->frames[i].is.ret != f->ret)
			return false;
		if (stops && stop_at_zero(NULL, f->ret))
			return i + 1 == map->n;
	}
	return !depth;
}

static bool same_frames(const struct restore_map *a, const struct restore_map *b)
{
	if (a->n != b->n || a->complete != b->complete)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->frames[i].is.at != b->frames[i].is.at ||
		    a->frames[i].is.ret != b->frames[i].is.ret)
			return false;
	return true;
}

/* Unwinds one frame of the same program, without what only restore_frames() needs. */
static const struct restore_ops *plain_ops;

static enum unwind_step unwind_plain(void *ctx, const struct unwind_state *state,
				     struct unwind_frame *f)
{
	struct restore_frame element;
	enum unwind_step step = plain_ops->unwind(ctx, state, &element);

	*f = element.is;
	return step;
}

/* Does a build without RESTORE=1 have the same frames? */
static bool same_as_unwound(const struct restore_map *map, const struct restore_ops *ops,
			    const struct unwind_state *state, int result)
{
	const struct unwind_ops plain = {ops->read, unwind_plain, ops->stop};
	static struct unwind_sequence s;

	plain_ops = ops;
	if (unwind_frames(&plain, NULL, state, &s) != result || s.n != map->n ||
	    s.end != (s.n ? map->frames[s.n - 1].is.sp : state->sp))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.ret[i] != map->frames[i].is.ret)
			return false;
	return true;
}

struct totals {
	struct restore_counts counts;
	uint64_t requests, frames, wrong, differ, incomplete, unwinds, full_unwinds;
};

/* Restores after each piece of a history, with the map and without. */
static void follow(const struct restore_ops *ops, unsigned int threshold, unsigned int most,
		   uint64_t requests, struct totals *t)
{
	struct restore_map map = {0}, fresh = {0};

	for (uint64_t i = 0; i < requests; i++) {
		struct restore_counts ignored = {0};
		struct unwind_state state;
		uint64_t before;
		int result, fresh_result;

		if (i % 5000 == 0) {
			make_program(t->requests + i + 1);
			restore_map_free(&map);
			for (int j = 0; j < 40; j++)
				enter(any(FUNCTIONS));
		}
		run(most);
		state = machine_state();
		before = m.unwinds;
		result = restore_frames(&map, ops, NULL, &state, threshold, &t->counts);
		t->unwinds += m.unwinds - before;
		before = m.unwinds;
		restore_map_free(&fresh);
		fresh_result = restore_frames(&fresh, ops, NULL, &state, threshold, &ignored);
		t->full_unwinds += m.unwinds - before;
		t->differ += !same_as_unwound(&fresh, ops, &state, fresh_result);
		t->frames += map.n;
		t->incomplete += result != UNWIND_COMPLETE;
		t->wrong += !is_true_sequence(&map, ops->stop);
		t->differ += !same_frames(&map, &fresh);
	}
	t->requests += requests;
	restore_map_free(&map);
	restore_map_free(&fresh);
}

static void check_precise(const char *name, const struct restore_ops *ops, unsigned int most,
			  uint64_t requests, double saved)
{
	struct totals t = {0};

	follow(ops, 0, most, requests, &t);
	printf("# %s: %llu requests, %llu frames, %llu reused, %llu unwound; in full %llu\n", name,
	       (unsigned long long)t.requests, (unsigned long long)t.frames,
	       (unsigned long long)t.counts.reused, (unsigned long long)t.counts.unwound,
	       (unsigned long long)t.full_unwinds);
	tap_ok(!t.wrong && !t.differ && !t.incomplete, name,
	       "%llu sequences are wrong, %llu differ from full unwinding, %llu incomplete",
	       (unsigned long long)t.wrong, (unsigned long long)t.differ,
	       (unsigned long long)t.incomplete);
	tap_ok(t.counts.unwound + t.counts.reused == t.frames, "... each frame is counted once",
	       "%llu frames", (unsigned long long)t.frames);
	tap_ok((double)t.unwinds <= (1 - saved) * (double)t.full_unwinds,
	       "... and most unwinding is saved", "%llu of %llu are done",
	       (unsigned long long)t.unwinds, (unsigned long long)t.full_unwinds);
}

static void check_imprecise(void)
{
	struct totals none = {0}, half = {0}, all = {0};

	follow(&imprecise, 0, 4, tap_rounds(200000), &none);
	follow(&imprecise, 50, 4, tap_rounds(200000), &half);
	follow(&imprecise, RESTORE_CERTAIN, 4, tap_rounds(200000), &all);
	printf("# imprecise: threshold 0: %llu unwound, %llu differ; 50: %llu, %llu; 100: %llu\n",
	       (unsigned long long)none.unwinds, (unsigned long long)none.differ,
	       (unsigned long long)half.unwinds, (unsigned long long)half.differ,
	       (unsigned long long)all.unwinds);
	tap_ok(!all.differ && !all.counts.reused && all.counts.rechecked,
	       "threshold 100 checks all frames again", "%llu differ, %llu reused",
	       (unsigned long long)all.differ, (unsigned long long)all.counts.reused);
	tap_ok(!none.counts.rechecked && none.counts.reused, "threshold 0 trusts all frames",
	       "%llu are checked again", (unsigned long long)none.counts.rechecked);
	tap_ok(none.unwinds < half.unwinds && half.unwinds < all.unwinds && half.counts.rechecked &&
		       half.counts.reused,
	       "a threshold between checks some of them", "%llu", (unsigned long long)half.unwinds);
}

/* A frame whose words cannot be read ends the sequence; the map is right again afterwards. */
static void check_unreadable(const struct restore_ops *ops)
{
	struct restore_map map = {0};
	struct restore_counts counts = {0};
	struct unwind_state state;
	int partial, failed, complete;

	make_program(77);
	for (int i = 0; i < 30; i++)
		enter(any(FUNCTIONS));
	state = machine_state();
	complete = restore_frames(&map, ops, NULL, &state, 0, &counts);
	tap_ok(complete == UNWIND_COMPLETE && map.n == m.depth, "all frames are restored", "%zu",
	       map.n);
	m.lowest = STACK_END;
	failed = restore_frames(&map, ops, NULL, &state, 0, &counts);
	tap_ok(failed == UNWIND_FAILED && !map.n, "nothing can be read: no frame", "%zu", map.n);
	m.lowest = STACK_BASE;
	memset(word_at(m.frames[10].at), 0, 8);
	partial = restore_frames(&map, ops, NULL, &state, 0, &counts);
	tap_ok(partial == UNWIND_PARTIAL && map.n == m.depth - 10,
	       "an impossible return address: a part", "%zu of %u", map.n, m.depth);
	partial = restore_frames(&map, ops, NULL, &state, 0, &counts);
	tap_ok(partial == UNWIND_PARTIAL && map.n == m.depth - 10, "... and again", "%zu of %u",
	       map.n, m.depth);
	*word_at(m.frames[10].at) = m.frames[10].ret;
	complete = restore_frames(&map, ops, NULL, &state, 0, &counts);
	tap_ok(complete == UNWIND_COMPLETE && is_true_sequence(&map, false),
	       "then all frames again", "%zu", map.n);
	restore_map_free(&map);
}

/* An unchanged stack costs nothing, whatever its depth. */
static void check_unchanged(const struct restore_ops *ops, const char *name, uint64_t reads)
{
	struct restore_map map = {0};
	struct restore_counts counts = {0}, again = {0};
	struct unwind_state state;

	make_program(78);
	while (m.depth < 150)
		enter(any(FUNCTIONS));
	state = machine_state();
	restore_frames(&map, ops, NULL, &state, 0, &counts);
	m.unwinds = m.reads = 0;
	restore_frames(&map, ops, NULL, &state, 0, &again);
	tap_ok(!m.unwinds && !again.unwound && again.reused == 150 && m.reads < reads, name,
	       "%llu unwound, %llu reused, %llu words read", (unsigned long long)again.unwound,
	       (unsigned long long)again.reused, (unsigned long long)m.reads);
	tap_ok(map.n == 150 && is_true_sequence(&map, false), "... and all frames are there", "%zu",
	       map.n);
	restore_map_free(&map);
}

int main(void)
{
	check_unchanged(&precise, "an unchanged stack costs no frame", 600);
	check_unchanged(&with_stack, "a stack with unchanged words costs nothing", 16);
	check_unreadable(&precise);
	check_unreadable(&with_stack);
	check_precise("small changes", &precise, 4, tap_rounds(1500000), 0.85);
	check_precise("large changes", &precise, 40, tap_rounds(500000), 0.85);
	check_precise("down to a function that ends the sequence", &foreign, 8, tap_rounds(1000000),
		      0.5);
	check_precise("small changes, with the words of the stack", &with_stack, 4,
		      tap_rounds(1500000), 0.85);
	check_precise("large changes, with the words of the stack", &with_stack, 40,
		      tap_rounds(500000), 0.85);
	check_precise("down to a function that ends the sequence, with the words of the stack",
		      &foreign_with_stack, 8, tap_rounds(1000000), 0.5);
	check_imprecise();
	return tap_done();
}
