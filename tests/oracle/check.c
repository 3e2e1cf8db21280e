// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the comparison of samples with the witness; see check.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sites.h>
#include "tests/oracle/check.h"
#include "tests/oracle/report.h"
#include "tests/oracle/walk.h"

/* Frames whose neighbours are looked at. */
#define NEAR 48

#define CACHE_BITS 20
#define CACHE_SIZE (1u << CACHE_BITS)

static struct {
	uint64_t key;
	uint8_t outcome;
} * cache;

void check_init(struct checker *c, FILE *out)
{
	*c = (struct checker){
		.allowed = 1ULL << DECODE_REASON_RESTORING | 1ULL << DECODE_REASON_LOST_ID |
			   1ULL << DECODE_REASON_INTERRUPTED,
		.restoring_max = UINT64_MAX,
		.reports_max = 8,
		.out = out,
	};
	if (!cache)
		cache = calloc(CACHE_SIZE, sizeof(*cache));
	if (!cache) {
		fprintf(stderr, "step: no memory left\n");
		exit(2);
	}
}

/* ---- digests ----------------------------------------------------------------------- */

struct sections { /* of a context, parted by its gaps */
	struct digest outermost, innermost;
	unsigned int gaps;
};

static struct digest digest_frame(const struct decode_frame *f)
{
	if (f->kind == DECODE_FRAME_SIGNAL)
		return digest_one(SIGNAL_ELEMENT);
	if (f->kind != DECODE_FRAME_CALL)
		return digest_empty;
	return digest_one(
		frame_element(f->module, f->func, site_canonical(space_file(f->module), f->site)));
}

static struct sections digest_context(const struct decode_context *ctx)
{
	struct sections s = {digest_empty, digest_empty, 0};

	for (size_t i = ctx->n; i > 0;) {
		const struct decode_frame *f = &ctx->frames[i - 1];
		struct digest d = digest_empty;

		if (f->kind == DECODE_FRAME_GAP) {
			if (!s.gaps++)
				s.outermost = s.innermost;
			s.innermost = digest_empty;
			i--;
			continue;
		}
		if (f->repeat) {
			for (uint32_t k = 0; k < f->span && i > 0; k++)
				d = digest_join(d, digest_frame(&ctx->frames[--i]));
			d = digest_repeat(d, (uint64_t)f->repeat + 1);
		} else {
			d = digest_frame(f);
			i--;
		}
		s.innermost = digest_join(s.innermost, d);
	}
	if (!s.gaps)
		s.outermost = s.innermost;
	return s;
}

/* The digest of the n outermost frames of the chain. */
static bool digest_prefix(const struct chain *c, const struct expected *e, uint64_t n,
			  uint64_t *digest)
{
	size_t lo = 0, hi = c->n;

	if (n == e->n) {
		*digest = e->digest;
		return true;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->a[mid].n < n)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == c->n || c->a[lo].n != n)
		return false;
	*digest = c->a[lo].digest;
	return true;
}

static bool digests_agree(const struct chain *c, const struct expected *e,
			  const struct decode_context *ctx)
{
	struct sections s = digest_context(ctx);
	uint64_t prefix;

	if (!s.gaps)
		return s.outermost.n == e->n && s.outermost.add == e->digest;
	if (s.outermost.n + s.innermost.n > e->n)
		return false;
	if (!digest_prefix(c, e, s.outermost.n, &prefix) || prefix != s.outermost.add)
		return false;
	return digest_prefix(c, e, e->n - s.innermost.n, &prefix) &&
	       digest_add(digest_mul(prefix, s.innermost.mul), s.innermost.add) == e->digest;
}

/* ---- neighbours ---------------------------------------------------------------------- */

/* Is a a subsequence of b? */
static bool in_order(const struct between *a, const struct between *b)
{
	size_t at = 0;

	for (size_t i = 0; i < a->n; i++, at++) {
		while (at < b->n && b->left[at] != a->left[i])
			at++;
		if (at == b->n)
			return false;
	}
	return true;
}

/* The runtime has come between the function and its caller (userlib/stack/leaf_entry.S): it
 * was left by a jump, and called again, and may have been left by a tail call since. */
static bool came_between(const struct between *seen, const struct decode_frame *inner)
{
	for (size_t i = 0; i < seen->n; i++) {
		if (seen->left[i] == left_name(inner->module, inner->func))
			return true;
		for (size_t k = 0; k < i; k++)
			if (seen->left[k] == seen->left[i])
				return true;
	}
	return false;
}

/* The function behind a gate; of another function, itself. */
static uint32_t behind_gate(const struct encoding_table *t, uint32_t func)
{
	for (uint64_t i = 0; t->funcs[func].flags & PCCE_FUNC_GATE && i < t->head->tails.count; i++)
		if (t->tails[i].from == func)
			return t->tails[i].to;
	return func;
}

/* A function without slots may have replaced the imported one, and call it. */
static bool may_be_replaced(const struct encoding_table *t, const struct pcce_table_site *site,
			    const struct decode_frame *inner)
{
	const struct encoding_table *u = &space_file(inner->module)->table;

	return site->callee == PCCE_NONE && site->callee_name &&
	       !strcmp(encoding_table_string(t, site->callee_name),
		       encoding_table_string(u, u->funcs[inner->func].name));
}

/* Does a call of a type, or of a function, lead to the function, before any tail calls? */
static bool leads_to(const struct encoding_table *t, uint32_t callee, uint32_t func)
{
	uint32_t member;

	if (!(t->funcs[callee].flags & PCCE_FUNC_TYPE))
		return callee == func;
	/* The key of a member is the address of its entry slot. */
	member = encoding_table_site_by_key(t, t->funcs[func].addr + t->funcs[func].entry -
						       PCCE_SLOT_ENTRY);
	return member != PCCE_NONE && t->sites[member].func == callee &&
	       t->sites[member].callee == func;
}

/* Is it the last tail call that the decoder claims, that of what the site calls? */
static bool begins_tail_calls(const struct between *claimed, uint32_t module,
			      const struct encoding_table *t, uint32_t callee)
{
	uint64_t name = claimed->n ? claimed->left[claimed->n - 1] : 0;

	if (!claimed->n)
		return false;
	if (!(t->funcs[callee].flags & PCCE_FUNC_TYPE))
		return name == left_name(module, callee);
	for (uint64_t i = 0; i < t->head->sites.count; i++)
		if (t->sites[i].func == callee && name == left_name(module, t->sites[i].callee))
			return true;
	return false;
}

/* Was a function left by a tail call that is of another module than both neighbours? The decoder
 * cannot know it, and has code without slots there. */
static bool left_elsewhere(const struct between *seen, const struct decode_frame *inner,
			   const struct decode_frame *outer)
{
	for (size_t i = 0; inner && outer && i < seen->n; i++)
		if (seen->left[i] >> 32 != inner->module && seen->left[i] >> 32 != outer->module)
			return true;
	return false;
}

static bool between_agrees(const struct between *claimed, const struct between *seen,
			   const struct decode_frame *inner, const struct decode_frame *outer)
{
	const struct pcce_table_site *site;
	const struct encoding_table *t;
	uint32_t callee;

	if (claimed->overflow || seen->overflow)
		return true;
	if (!seen->came_back && !in_order(claimed, seen))
		return false;
	if (claimed->foreign && !seen->foreign && !seen->passed_foreign &&
	    !left_elsewhere(seen, inner, outer))
		return false;
	if (!outer || outer->site == PCCE_NONE || outer->kind != DECODE_FRAME_CALL || !inner ||
	    inner->kind != DECODE_FRAME_CALL)
		return true;
	t = &space_file(outer->module)->table;
	site = &t->sites[outer->site];
	if (seen->foreign && !claimed->foreign && !(site->flags & PCCE_SITE_INDIRECT) &&
	    !came_between(seen, inner) && !may_be_replaced(t, site, inner))
		return site->callee != PCCE_NONE &&
		       t->funcs[site->callee].flags & PCCE_FUNC_TAIL_OUT;
	if (site->callee == PCCE_NONE)
		return true;
	callee = behind_gate(t, site->callee);
	/* In the gate itself, the gate is the callee. */
	if ((leads_to(t, callee, inner->func) || site->callee == inner->func) &&
	    outer->module == inner->module)
		return true;
	return begins_tail_calls(claimed, outer->module, t, callee);
}

static bool neighbours_agree(const struct chain *c, const struct decode_context *ctx)
{
	struct walk_context claimed = {.ctx = ctx};
	struct walk_chain seen;
	const struct decode_frame *inner = NULL, *outer;
	struct between a, b;

	walk_chain_begin(&seen, c);
	for (int i = 0; i < NEAR; i++) {
		outer = walk_context_next(&claimed, &a);
		if (!walk_chain_next(&seen, &b, NULL) || !outer || outer->kind == DECODE_FRAME_GAP)
			return true;
		if (!between_agrees(&a, &b, inner, outer))
			return false;
		inner = outer;
	}
	return true;
}

/* ---- one state -------------------------------------------------------------------------- */

static enum outcome judge(struct chain *c, const struct expected *e,
			  const struct decode_context *ctx)
{
	switch (ctx->status) {
	case DECODE_OUTSIDE:
		return OUTCOME_OUTSIDE;
	case DECODE_UNDECODABLE:
		return OUTCOME_MARKED + ctx->reason;
	default:
		break;
	}
	if (!ctx->n || (ctx->frames[0].kind == DECODE_FRAME_FOREIGN) != e->foreign ||
	    !digests_agree(c, e, ctx) || !neighbours_agree(c, ctx))
		return OUTCOME_MISMATCH;
	return ctx->status == DECODE_TRUNCATED ? OUTCOME_TRUNCATED : OUTCOME_EXACT;
}

static bool is_failure(const struct checker *c, enum outcome o)
{
	return o == OUTCOME_MISMATCH ||
	       (o > OUTCOME_MARKED && !(c->allowed & 1ULL << (o - OUTCOME_MARKED)));
}

enum outcome check_state(struct checker *c, struct chain *chain, struct space *s,
			 const struct sample *sample, uint64_t key, check_decode *decode)
{
	static struct stack_store_flat flat;
	struct expected e = chain_expected(chain, s, sample->s.ip);
	const struct decode_context *ctx;
	enum outcome o;
	size_t slot;

	key = mix64(key ^ mix64(sample->s.ip + s->generation));
	key = mix64(key ^ (mix64(e.digest * 2 + e.foreign) ^ e.notes)) | 1;
	slot = key >> (64 - CACHE_BITS);
	if (cache[slot].key == key) {
		o = cache[slot].outcome;
	} else {
		c->decoded++;
		ctx = decode(s, sample, &flat);
		if (!ctx) {
			fprintf(stderr, "step: no memory left\n");
			exit(2);
		}
		o = judge(chain, &e, ctx);
		cache[slot].key = key;
		cache[slot].outcome = (uint8_t)o;
		if (is_failure(c, o) && c->reports++ < c->reports_max)
			report(c->out,
			       o == OUTCOME_MISMATCH ? "mismatch" : decode_reason_name(ctx->reason),
			       chain, s, sample, &flat, ctx);
	}
	c->count[o]++;
	return o;
}

static const struct decode_context *decode_taken(struct space *s, const struct sample *sample,
						 struct stack_store_flat *flat)
{
	static struct decode_context ctx;

	if (stack_store_flatten(sample->below, &sample->s, flat) ||
	    decode_sample(&s->as, &sample->s, flat->entries, flat->n, false, false, &ctx))
		return NULL;
	return &ctx;
}

enum outcome check(struct checker *c, struct chain *chain, struct space *s,
		   const struct sample *sample)
{
	bool with_r11 = decode_needs_r11(&s->as, sample->s.ip);

	return check_state(c, chain, s, sample,
			   sample->hash ^ (with_r11 ? mix64(sample->s.r11) : 0), decode_taken);
}

bool check_failed(const struct checker *c)
{
	if (!c->count[OUTCOME_EXACT] ||
	    c->count[OUTCOME_MARKED + DECODE_REASON_RESTORING] > c->restoring_max)
		return true;
	for (enum outcome o = 0; o < OUTCOME_COUNT; o++)
		if (c->count[o] && is_failure(c, o))
			return true;
	return false;
}

void check_print(const struct checker *c, const char *prefix)
{
	uint64_t sum = 0;

	for (enum outcome o = 0; o < OUTCOME_COUNT; o++)
		sum += c->count[o];
	fprintf(c->out, "%ssamples: %" PRIu64 "\n%sexact: %" PRIu64 "\n%smismatches: %" PRIu64 "\n",
		prefix, sum, prefix, c->count[OUTCOME_EXACT], prefix, c->count[OUTCOME_MISMATCH]);
	fprintf(c->out, "%struncated: %" PRIu64 "\n%soutside: %" PRIu64 "\n", prefix,
		c->count[OUTCOME_TRUNCATED], prefix, c->count[OUTCOME_OUTSIDE]);
	for (enum decode_reason r = DECODE_REASON_NONE + 1; r < DECODE_REASON_COUNT; r++)
		fprintf(c->out, "%sundecodable_%s: %" PRIu64 "%s\n", prefix, decode_reason_name(r),
			c->count[OUTCOME_MARKED + r],
			c->count[OUTCOME_MARKED + r] && is_failure(c, OUTCOME_MARKED + r)
				? " (failure)"
				: "");
	fprintf(c->out, "%sdistinct_states: %" PRIu64 "\n", prefix, c->decoded);
}
