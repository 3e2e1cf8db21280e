/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes random runs of the process of decode_fixture.c at every step and compares the result with
 * the truth. Also decodes contexts of a million frames, and random samples, which need not decode
 * but must do no harm.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/decode_fixture.h"
#include "tests/unit/tap.h"
#include "stream/deep_decoder.h"

/* ---- random runs ----------------------------------------------------------------- */

static uint64_t seed = 88172645463325252ULL;

static uint32_t random_below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % n;
}

#define RUN_DEPTH 400
#define RUN_ENTRIES 247

/* One call that is in progress: what it did, and what the truth was before it. */
struct run_call {
	uint32_t module, func; /* of the caller */
	uint32_t site;
	size_t n_words;
};

static struct {
	uint64_t id, ext;
	struct pcce_entry entry[RUN_ENTRIES];
	uint32_t n;
	uint32_t module, func; /* UINT32_MAX: outside */
	struct run_call calls[RUN_DEPTH];
	size_t depth;
	const char *words[RUN_DEPTH * 3]; /* the truth, outermost first */
	size_t n_words;
} run;

static void word(const char *w)
{
	run.words[run.n_words++] = w;
}

static void run_enter(uint32_t module, uint32_t func)
{
	run.module = module;
	run.func = func;
	if (module < 2)
		word(encoding_table_string(table_of(module), table_of(module)->funcs[func].name));
	else
		word("[libc]");
}

static uint64_t base_of(uint32_t module)
{
	return module == 0 ? EXE_BASE : LIB_BASE;
}

/* Any function in which a segment can begin. */
static void enter_any_root(void)
{
	static const uint32_t roots[] = {F_MAIN, F_REC, F_WORK, F_CB, F_OUT};
	uint32_t i = random_below(7);

	if (i < 5)
		run_enter(0, roots[i]);
	else
		run_enter(1, i == 5 ? L_ENTRY : L_TAIL);
}

static void enter_callee(uint32_t module, uint32_t site)
{
	const struct pcce_table_site *s = &table_of(module)->sites[site];

	if (module == 1) {
		if (site == LS_TAIL_INNER)
			run_enter(1, L_INNER);
		else if (site == LS_INNER_EXT)
			run_enter(2, 0);
		else
			enter_any_root();
		return;
	}
	switch (site) {
	case S_C_EXT:
	case S_C_SETJMP:
	case S_LEAF_THROW:
		run_enter(2, 0);
		return;
	case S_MAIN_QSORT:
	case S_C_QSORT:
		if (random_below(3)) {
			word("[]");
			enter_any_root();
		} else {
			run_enter(2, 0);
		}
		return;
	case S_C_T1:
	case S_CB_T1:
		if (random_below(2)) {
			word("t1~");
			run_enter(0, F_T2);
		} else {
			run_enter(0, F_T1);
		}
		return;
	case S_CB_G:
	case S_CB_NAMED:
		if (random_below(2))
			word("g1~");
		run_enter(0, !strcmp(run.words[run.n_words - 1], "g1~") ? F_G4 : F_G1);
		return;
	case S_C_OUT:
		switch (random_below(3)) {
		case 0:
			run_enter(0, F_OUT);
			return;
		case 1:
			word("out~");
			run_enter(0, F_WORK);
			return;
		default:
			word("out~");
			run_enter(2, 0);
			return;
		}
	case S_C_LIB:
		if (random_below(2))
			word("lib_entry~");
		run_enter(1, !strcmp(run.words[run.n_words - 1], "lib_entry~") ? L_TAIL : L_ENTRY);
		return;
	case S_REC_WORK:
		enter_any_root();
		return;
	default:
		run_enter(0, s->callee);
	}
}

static void run_call(uint32_t site)
{
	const struct pcce_table_site *s = &table_of(run.module)->sites[site];
	uint64_t address = base_of(run.module) + s->key;
	struct pcce_entry *top = run.n ? &run.entry[run.n - 1] : NULL;

	run.calls[run.depth++] = (struct run_call){run.module, run.func, site, run.n_words};
	switch (s->kind) {
	case PCCE_KIND_ADD:
		run.id += s->value;
		break;
	case PCCE_KIND_EXT:
		run.ext = run.module == 0 ? s->key : address;
		break;
	case PCCE_KIND_PUSH:
		if (top && top->id == run.id && (top->site & PCCE_SITE_MASK) == address)
			top->site += 1ULL << PCCE_SITE_BITS;
		else
			run.entry[run.n++] = (struct pcce_entry){run.id, address};
		run.id = 0;
		break;
	default:
		break;
	}
	enter_callee(run.module, site);
}

static void run_return(void)
{
	struct run_call c = run.calls[--run.depth];
	const struct pcce_table_site *s = &table_of(c.module)->sites[c.site];

	run.module = c.module;
	run.func = c.func;
	run.n_words = c.n_words;
	switch (s->kind) {
	case PCCE_KIND_ADD:
		run.id -= s->value;
		break;
	case PCCE_KIND_EXT:
		run.ext = 0;
		break;
	case PCCE_KIND_PUSH:
		run.id = run.entry[run.n - 1].id;
		if (run.entry[run.n - 1].site >> PCCE_SITE_BITS)
			run.entry[run.n - 1].site -= 1ULL << PCCE_SITE_BITS;
		else
			run.n--;
		break;
	default:
		break;
	}
}

/* A call site of the current function, or PCCE_NONE. */
static uint32_t random_site(void)
{
	const struct encoding_table *t = table_of(run.module);
	uint32_t candidates[16], n = 0;

	if (!t)
		return PCCE_NONE;
	for (uint32_t i = 0; i < t->head->sites.count; i++)
		if (t->sites[i].func == run.func && t->sites[i].kind < PCCE_KIND_TAIL)
			candidates[n++] = i;
	return n ? candidates[random_below(n)] : PCCE_NONE;
}

static long parts; /* that were decoded */

static bool same_meaning(const struct decode_context *a, const struct decode_context *b)
{
	if (a->n != b->n || a->status != b->status || a->reason != b->reason ||
	    a->depth != b->depth)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		struct decode_frame x = a->frames[i], y = b->frames[i];

		if (!i)
			x.address = y.address = 0;
		if (x.kind != y.kind || x.module != y.module || x.func != y.func ||
		    x.site != y.site || x.address != y.address || x.repeat != y.repeat ||
		    x.span != y.span)
			return false;
	}
	return true;
}

/* Decodes the sample's stack in parts, and appends their frames. 0 or -ENOMEM. */
static int decode_in_parts(struct deep_decoder *d, struct stack_store *stacks,
			   struct decode_context *all)
{
	struct {
		struct pcce_sample s;
		struct pcce_entry own[PCCE_SEGMENT_ENTRIES];
	} split = {.s = sample};
	uint32_t n = sample.n_entries, segments = n ? (n - 1) / PCCE_SEGMENT_ENTRIES : 0;
	const struct stack_node *below = NULL;
	struct deep_rest rest = {0};
	size_t n_frames = 0;
	uint64_t depth = 0;
	int r = 0;

	for (uint32_t i = 0; i < segments; i++)
		below = stack_store_intern(stacks, below, entries + i * PCCE_SEGMENT_ENTRIES);
	split.s.n_entries = n - segments * PCCE_SEGMENT_ENTRIES;
	split.s.n_below += segments;
	memcpy(split.own, entries + segments * PCCE_SEGMENT_ENTRIES,
	       split.s.n_entries * sizeof(*entries));
	for (bool first = true; !r && (first || rest.node); first = false) {
		r = first ? deep_decoder_first(d, &fx.as, &split.s, below, &rest)
			  : deep_decoder_next(d, &fx.as, &rest);
		all->frames =
			realloc(all->frames, (n_frames + d->context.n) * sizeof(*all->frames));
		memcpy(all->frames + n_frames, d->context.frames,
		       d->context.n * sizeof(*all->frames));
		n_frames += d->context.n;
		depth += d->context.depth;
		parts++;
	}
	all->n = n_frames;
	all->depth = depth;
	all->status = d->context.status;
	all->reason = d->context.reason;
	return r;
}

/* Do all parts of the sample mean what it means as a whole? */
static bool parts_agree(const struct decode_context *whole)
{
	struct stack_store *stacks = stack_store_new();
	struct decode_context all = {0};
	struct deep_decoder d = {0};
	bool good = sample.n_entries <= PCCE_SEGMENT_ENTRIES ||
		    (!decode_in_parts(&d, stacks, &all) && same_meaning(&all, whole));

	if (!good) {
		printf("# whole %s\n", render(whole));
		printf("# parts %s\n", render(&all));
	}
	deep_decoder_free(&d);
	decode_context_free(&all);
	stack_store_free(stacks);
	return good;
}

static bool run_agrees(void)
{
	static char want[1 << 16];
	struct decode_context ctx = {0};
	uint64_t ip = run.module > 1
			      ? LIBC_BASE + 1
			      : base_of(run.module) + table_of(run.module)->funcs[run.func].addr;
	size_t at = 0, frames = 0;
	bool good;

	begin(ip, run.id);
	sample.ext = run.ext;
	for (uint32_t i = 0; i < run.n; i++)
		push(run.entry[i].id, run.entry[i].site & PCCE_SITE_MASK,
		     run.entry[i].site >> PCCE_SITE_BITS);
	for (size_t i = run.n_words; i-- > 0;)
		at += append(want, sizeof(want), at, "%s%s", frames++ ? " " : "", run.words[i]);
	good = !decode_sample(&fx.as, &sample, entries, sample.n_entries, true, false, &ctx) &&
	       ctx.status == DECODE_EXACT && !strcmp(render(&ctx), want) && ctx.depth == frames;
	if (!good)
		printf("# wanted %s\n# got    %s (%s)\n", want, text,
		       decode_reason_name(ctx.reason));
	/* Not expanded, the depth must be the same. */
	if (good &&
	    (decode_sample(&fx.as, &sample, entries, sample.n_entries, false, false, &ctx) ||
	     ctx.depth != frames)) {
		printf("# depth %llu instead of %zu for %s\n", (unsigned long long)ctx.depth,
		       frames, want);
		good = false;
	}
	good = good && parts_agree(&ctx);
	decode_context_free(&ctx);
	return good;
}

static void test_runs(void)
{
	int steps = 200000, checked = 0;
	uint32_t longest = 0, target = 0;
	bool good = true;

	run_enter(0, F_MAIN);
	for (int i = 0; i < steps && good; i++) {
		uint32_t site = random_site();

		if (i % 500 == 0)
			target = random_below(RUN_DEPTH - 2);
		if (run.depth &&
		    (site == PCCE_NONE || random_below(100) < (run.depth > target ? 60u : 30u) ||
		     run.depth == RUN_DEPTH - 1 || run.n == RUN_ENTRIES))
			run_return();
		else
			run_call(site);
		if (run.depth > longest)
			longest = run.depth;
		if (i % 7 == 0 || run.depth < 8) {
			good = run_agrees();
			checked++;
		}
	}
	tap_ok(good && checked > 20000 && longest > 200, "random runs decode to the truth",
	       "%d checked, %u deep", checked, longest);
	tap_ok(parts > 20000, "... also in parts", "%ld parts", parts);
}

/* ---- size and harm --------------------------------------------------------------- */

static void test_deep(void)
{
	struct decode_context ctx = {0};
	int r;

	/* 16 entries of 65,520 repetitions: more than a million frames. */
	begin(exe(0x5001), 0);
	push_exe(1, S_C_REC, 0);
	for (int i = 0; i < 16; i++)
		push_exe(0, S_REC_REC, PCCE_COUNT_MAX);
	r = decode_sample(&fx.as, &sample, entries, sample.n_entries, true, false, &ctx);
	tap_ok(!r && ctx.status == DECODE_EXACT && ctx.n == 16 * (PCCE_COUNT_MAX + 1) + 4 &&
		       ctx.depth == ctx.n,
	       "a million frames", "%d, %zu frames", r, ctx.n);
	r = decode_sample(&fx.as, &sample, entries, sample.n_entries, false, false, &ctx);
	tap_ok(!r && ctx.n == 20 && ctx.depth == 16 * (PCCE_COUNT_MAX + 1) + 4,
	       "a million frames, not written out", "%d, %zu frames, depth %llu", r, ctx.n,
	       (unsigned long long)ctx.depth);
	decode_context_free(&ctx);
}

static uint64_t random_address(void)
{
	const struct encoding_table *t = random_below(4) ? &fx.exe : &fx.lib;
	uint64_t base = t == &fx.exe ? EXE_BASE : LIB_BASE;
	const struct pcce_table_site *s = &t->sites[random_below(t->head->sites.count)];

	switch (random_below(8)) {
	case 0:
		return base + random_below(MODULE_BYTES);
	case 1:
		return LIBC_BASE + random_below(16);
	case 2:
		return base + PUSH_BEFORE + random_below(0x60);
	case 3:
		return base + s->key - s->before +
		       random_below(s->before + s->ret + s->after_len + 1);
	case 4:
		return seed;
	default:
		return base + s->key;
	}
}

static uint64_t random_id(void)
{
	static const uint64_t ids[] = {
		0, 0, 0, 1, 2, 7, 1ULL << 32, (1ULL << 32) + 1, PCCE_ID_LOST, UINT64_MAX};

	return ids[random_below(sizeof(ids) / sizeof(ids[0]))];
}

static void random_state(uint64_t ip)
{
	uint32_t n = random_below(random_below(4) ? 12 : 60);

	begin(ip, random_id());
	sample.r11 = random_address();
	sample.ext = random_below(4)   ? 0
		     : random_below(2) ? random_address()
				       : exe_site(S_C_EXT)->key;
	for (uint32_t k = 0; k < n; k++)
		push(random_id(), random_address() & PCCE_SITE_MASK,
		     random_below(3)   ? 0
		     : random_below(8) ? random_below(300)
				       : 0xffec + random_below(20));
	if (!random_below(4))
		sample.n_below = random_below(2) ? random_below(3) : seed;
	sample.flags = random_below(10) ? 0 : random_below(32);
}

static void test_random_samples(void)
{
	long rounds = tap_rounds(1000000), counts[4] = {0};
	struct decode_context ctx = {0};
	bool good = true;

	for (long i = 0; i < rounds && good; i++) {
		random_state(random_address());
		good = !decode_sample(&fx.as, &sample, entries, sample.n_entries, false, false,
				      &ctx) &&
		       ctx.n > 0 && ctx.n < 100000 &&
		       (ctx.status == DECODE_UNDECODABLE) == (ctx.reason != DECODE_REASON_NONE) &&
		       ctx.depth >= ctx.n && parts_agree(&ctx);
		counts[ctx.status]++;
	}
	decode_context_free(&ctx);
	tap_ok(good && counts[DECODE_EXACT] && counts[DECODE_UNDECODABLE],
	       "random samples do no harm",
	       "of %ld: %ld exact, %ld truncated, %ld outside, %ld undecodable", rounds, counts[0],
	       counts[1], counts[2], counts[3]);
}

/* Whatever is below and in the registers. */
static void test_unknown(void)
{
	struct decode_context ctx = {0};
	long redirected = 0, shared = 0;

	for (int i = 0; i < 20000; i++) {
		random_state(random_address());
		sample.flags = 0;
		sample.n_below = 0;
		if (!(i & 1))
			push(0, 1, PCCE_COUNT_UNKNOWN);
		push(random_id(), 2, i & 1 ? PCCE_COUNT_SHARED : PCCE_COUNT_UNKNOWN);
		decode_sample(&fx.as, &sample, entries, sample.n_entries, false, false, &ctx);
		shared +=
			ctx.status == DECODE_UNDECODABLE && ctx.reason == DECODE_REASON_SHARED_PAGE;
		redirected += ctx.status == DECODE_UNDECODABLE && !(i & 1);
	}
	tap_ok(shared == 10000, "no state of a shared page decodes", "%ld", shared);
	tap_ok(redirected == 10000, "nor does one on top of an unknown state", "%ld", redirected);
	begin(exe(0x5001), 0);
	push_exe(1, S_REC_REC, 0);
	push(0, 1, PCCE_COUNT_UNKNOWN);
	push(0x7000, 2, PCCE_COUNT_UNKNOWN);
	push_exe(0, S_REC_REC, 2);
	decode_sample(&fx.as, &sample, entries, sample.n_entries, false, false, &ctx);
	tap_ok(ctx.reason == DECODE_REASON_REDIRECTED && ctx.n > 2,
	       "calls after an unknown state are shown", "%zu frames", ctx.n);
	decode_context_free(&ctx);
}

int main(void)
{
	fixture_init(&fx);
	test_runs();
	test_deep();
	test_random_samples();
	test_unknown();
	fixture_free(&fx);
	return tap_done();
}
