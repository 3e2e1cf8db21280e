// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the witness; see chain.h. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <pcce/table.h>
#include "tests/oracle/chain.h"

/* How far an unlimited stack may grow. */
#define GROWTH_MAX (1ULL << 34)

uint64_t frame_element(uint32_t module, uint32_t func, uint32_t site)
{
	return digest_element((uint64_t)module << 32 | func, site);
}

static void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		fprintf(stderr, "step: no memory left\n");
		exit(2);
	}
	return p;
}

static struct activation *top_of(struct chain *c)
{
	return &c->a[c->n - 1];
}

static struct activation *push(struct chain *c)
{
	if (c->n == c->capacity) {
		c->capacity = c->capacity ? 2 * c->capacity : 64;
		c->a = grow(c->a, c->capacity * sizeof(*c->a));
	}
	return &c->a[c->n++];
}

static void pop(struct chain *c)
{
	c->n_left = top_of(c)->first_left;
	c->n_signals -= top_of(c)->kind == ACTIVATION_SIGNAL;
	c->n--;
	/* The outer activation goes on somewhere: to be found out. */
	c->lo = c->hi = 0;
	c->in_helper = false;
}

/* ---- where control is ---------------------------------------------------------------- */

static void set_place(struct chain *c, const struct tree_place *p)
{
	struct activation *t = top_of(c);

	t->file = p->file;
	t->func = p->func;
	c->lo = p->lo;
	c->hi = p->hi;
	c->in_helper = false;
}

/* The function was left by a jump. A way that comes back to where it has been is no way. */
static void leave(struct chain *c, const struct tree_place *to)
{
	struct activation *t = top_of(c);

	if (t->func == PCCE_NONE) {
		t->was_foreign = true;
	} else {
		if (c->n_left == c->left_capacity) {
			c->left_capacity = c->left_capacity ? 2 * c->left_capacity : 64;
			c->left = grow(c->left, c->left_capacity * sizeof(*c->left));
		}
		c->left[c->n_left++] = left_name(t->file->index, t->func);
	}
	if (to->func == PCCE_NONE)
		return;
	for (size_t i = t->first_left; i < c->n_left; i++)
		if (c->left[i] == left_name(to->file->index, to->func)) {
			c->n_left = i;
			t->came_back = true;
		}
}

static bool is_slot_work(int helper)
{
	return helper == PCCE_HELPER_NOTHING || helper == PCCE_HELPER_CLAIMED ||
	       helper == PCCE_HELPER_PUSHED;
}

/* Control has come to ip, other than by a call. */
static void arrive(struct chain *c, struct space *s, uint64_t from, uint64_t ip)
{
	struct activation *t = top_of(c);
	struct tree_place p;

	if (ip >= c->lo && ip < c->hi)
		return;
	p = space_place(s, ip);
	if (p.func == PCCE_NONE && t->func != PCCE_NONE && is_slot_work(space_helper(s, ip))) {
		/* After a return, too, and then calls says already from where it was jumped to. */
		if (!c->in_helper && c->lo)
			t->calls = from;
		c->in_helper = true;
		c->lo = p.lo;
		c->hi = p.hi;
		return;
	}
	if (p.func == t->func && (p.func == PCCE_NONE || p.file == t->file)) {
		set_place(c, &p);
		return;
	}
	/* After a return lo is 0, and t says where it was. Then this is no jump, except when the
	 * thread changed hands. */
	leave(c, &p);
	set_place(c, &p);
}

/* ---- stacks -------------------------------------------------------------------------- */

static bool on_stack(const struct activation *a, uint64_t sp)
{
	return sp >= a->stack_lo && sp < a->stack_hi;
}

static struct chain *rest(const struct chain *c, uint64_t sp)
{
	struct chain *copy = grow(NULL, sizeof(*copy));

	*copy = *c;
	copy->sp = sp;
	return copy;
}

/* The mapping that holds sp. The main thread's grows downwards, so what it may become belongs to
 * it. */
static void find_stack(struct space *s, uint64_t sp, uint64_t *lo, uint64_t *hi)
{
	struct rlimit limit;
	bool grows;

	/* At its beginning, a thread's sp may be the very end of the mapping. */
	if (sp % 4096 == 0 && memory_region(s->pid, sp - 1, lo, hi, &grows))
		++*hi;
	else
		memory_region(s->pid, sp, lo, hi, &grows);
	if (grows && !prlimit(s->pid, RLIMIT_STACK, NULL, &limit)) {
		uint64_t most = limit.rlim_cur < GROWTH_MAX ? limit.rlim_cur : GROWTH_MAX;

		if (*hi - *lo < most)
			*lo = *hi - most;
	}
}

/* The stack pointer is on no stack of this chain: on with the one that was left there. */
static void switch_stack(struct chain *c, struct space *s, uint64_t old_sp, struct moment now)
{
	struct chain *resting = c->resting, **link = &resting, *found;
	struct chain *mine;

	mine = rest(c, old_sp);
	while (*link && !on_stack(top_of(*link), now.sp))
		link = &(*link)->resting;
	found = *link;
	if (found) {
		*link = found->resting;
		*c = *found;
		free(found);
	} else {
		memset(c, 0, sizeof(*c));
		chain_begin(c, s, now);
	}
	mine->resting = resting;
	c->resting = mine;
}

/* Control is being transferred with this stack pointer: ends what it has gone past. */
static void settle(struct chain *c, struct space *s, struct moment now)
{
	size_t n = c->n;

	if (!on_stack(top_of(c), now.sp)) {
		while (n > 1 && !on_stack(&c->a[n - 1], now.sp))
			n--;
		if (!on_stack(&c->a[n - 1], now.sp)) {
			switch_stack(c, s, top_of(c)->ret_slot, now);
			n = c->n;
		}
		while (c->n > n)
			pop(c);
	}
	while (c->n > 1 && on_stack(top_of(c), now.sp) && top_of(c)->ret_slot < now.sp)
		pop(c);
}

/* ---- activations ----------------------------------------------------------------------- */

static uint64_t hash_left(const struct chain *c, const struct activation *t)
{
	uint64_t h = t->was_foreign + 2 * t->came_back;

	for (size_t i = t->first_left; i < c->n_left; i++)
		h = mix64(h + c->left[i] + 1);
	return h;
}

static uint64_t notes_of(const struct chain *c, const struct activation *t)
{
	return mix64(t->notes ^ mix64(hash_left(c, t) * 31 + t->func + 7));
}

/* A call from a slot itself is none of the program's. */
static uint32_t calling_site(const struct file *f, uint64_t vaddr)
{
	uint32_t site = encoding_table_site_around(&f->table, vaddr);
	const struct pcce_table_site *s;

	if (site == PCCE_NONE)
		return site;
	s = &f->table.sites[site];
	return vaddr >= s->key && vaddr < s->key + s->ret ? site : PCCE_NONE;
}

/* ---- keys ---------------------------------------------------------------------------- */

static uint64_t key_step(uint64_t key, const struct file *f, uint64_t vaddr)
{
	return digest_step(key, digest_element(f ? f->identity + 1ULL : 0, vaddr));
}

/* An instruction, by its address in its file. */
static struct chain_keys keys_step(struct chain_keys k, struct space *s, uint64_t ip)
{
	struct tree_place p = space_place(s, ip);

	return (struct chain_keys){key_step(k.exact, p.file, ip - p.bias),
				   key_step(k.source, p.file, ip - p.bias)};
}

/* The innermost activation's, with the functions that it left by tail calls: they may make another
 * context of the same calls. */
static struct chain_keys keys_left(const struct chain *c)
{
	const struct activation *t = &c->a[c->n - 1];
	struct chain_keys k = t->keys;

	for (size_t i = t->first_left; i < c->n_left; i++)
		k.exact = digest_step(k.exact, mix64(c->left[i]) % DIGEST_PRIME);
	return k;
}

/* The call that the innermost activation is at. */
static struct chain_keys keys_call(const struct chain *c, struct space *s)
{
	const struct activation *t = &c->a[c->n - 1];
	struct chain_keys k = keys_step(keys_left(c), s, t->calls);

	if (t->site != PCCE_NONE)
		k.source = key_step(t->keys.source, t->file, t->file->table.sites[t->site].key);
	return k;
}

struct chain_keys chain_keys(const struct chain *c, struct space *s, struct moment now)
{
	const struct activation *t = &c->a[c->n - 1];
	struct chain_keys k = keys_left(c);

	/* A helper that was jumped to works for the slot that jumped. */
	if (c->in_helper)
		k = keys_step(k, s, t->calls);
	k = keys_step(k, s, now.ip);
	if (space_helper(s, now.ip) >= 0)
		k.exact = digest_step(k.exact, mix64(now.r11) % DIGEST_PRIME);
	return k;
}

/* ---- calls --------------------------------------------------------------------------- */

static void begin_call(struct chain *c, struct space *s, struct moment before, struct moment now)
{
	struct activation *t = top_of(c);
	struct activation fresh = {
		.kind = ACTIVATION_CALL,
		.ret_slot = now.sp,
		.stack_lo = t->stack_lo,
		.stack_hi = t->stack_hi,
		.site = PCCE_NONE,
		.digest = t->digest,
		.n = t->n,
		.keys = t->keys,
		.unfilled = t->unfilled,
	};
	struct tree_place p;

	fresh.notes = notes_of(c, t);
	fresh.first_left = c->n_left;
	if (!c->in_helper)
		t->calls = before.ip;
	t->site = PCCE_NONE;
	if (t->func != PCCE_NONE) {
		p = space_place(s, t->calls);
		t->site = site_canonical(t->file, calling_site(t->file, t->calls - p.bias));
		fresh.digest =
			digest_step(t->digest, frame_element(t->file->index, t->func, t->site));
		fresh.n = t->n + 1;
		fresh.keys = keys_call(c, s);
	}
	*push(c) = fresh;
	p = space_place(s, now.ip);
	set_place(c, &p);
}

/* Is ip still in the function, or in the foreign file, of this activation? */
static bool same_code(const struct activation *t, struct space *s, uint64_t ip)
{
	struct tree_place p = space_place(s, ip);

	return p.func == t->func && p.file == t->file;
}

void chain_step(struct chain *c, struct space *s, enum insn insn, struct moment before,
		struct moment now)
{
	switch (insn) {
	case INSN_CALL:
		if (now.sp != before.sp - 8)
			return; /* it has not been executed */
		settle(c, s, before);
		arrive(c, s, before.ip, before.ip);
		begin_call(c, s, before, now);
		return;
	case INSN_RETURN:
		if (now.sp <= before.sp)
			return;
		settle(c, s, before);
		if (c->n > 1 && top_of(c)->ret_slot == before.sp)
			pop(c);
		arrive(c, s, before.ip, now.ip);
		return;
	case INSN_JUMP_FAR:
		settle(c, s, now);
		arrive(c, s, before.ip, now.ip);
		return;
	default:
		if (now.ip >= c->lo && now.ip < c->hi)
			return;
		if (!same_code(top_of(c), s, now.ip))
			settle(c, s, now);
		arrive(c, s, before.ip, now.ip);
		return;
	}
}

void chain_signal(struct chain *c, struct space *s, struct moment before, struct moment now,
		  uint64_t lo, uint64_t hi)
{
	struct expected e;
	struct activation *t;
	struct activation fresh;
	struct tree_place p = space_place(s, now.ip);

	/* Amid a change of stacks, which ends with a jump or a return. */
	if (!on_stack(top_of(c), before.sp))
		settle(c, s, before);
	e = chain_expected(c, s, before.ip);
	t = top_of(c);
	fresh = (struct activation){
		.kind = ACTIVATION_SIGNAL,
		.ret_slot = now.sp,
		.stack_lo = lo < hi ? lo : t->stack_lo,
		.stack_hi = lo < hi ? hi : t->stack_hi,
		.func = PCCE_NONE,
		.site = PCCE_NONE,
		.digest = digest_step(e.digest, SIGNAL_ELEMENT),
		.n = e.n + 1,
		.notes = mix64(e.notes + 3),
		.keys = chain_keys(c, s, before),
		.unfilled = t->unfilled || space_is_unfilled(s, before.ip),
	};

	/* The runtime's entry, to which all handlers of the program are tied, is in a range of its
	 * own. */
	fresh.keys.exact = digest_step(fresh.keys.exact, SIGNAL_ELEMENT);
	fresh.keys.source = digest_step(fresh.keys.source, SIGNAL_ELEMENT);
	fresh.hidden = e.foreign && p.func == PCCE_NONE && space_helper(s, now.ip) < 0;
	if (fresh.hidden) {
		fresh.digest = e.digest;
		fresh.n = e.n;
	}
	if (!c->in_helper)
		t->calls = before.ip;
	t->site = PCCE_NONE;
	fresh.first_left = c->n_left;
	*push(c) = fresh;
	c->n_signals++;
	fresh.kind = ACTIVATION_CALL;
	fresh.hidden = false;
	*push(c) = fresh;
	set_place(c, &p);
}

void chain_sigreturn(struct chain *c, struct space *s, struct moment now)
{
	size_t n = c->n;

	while (n > 1 && c->a[n - 1].kind != ACTIVATION_SIGNAL)
		n--;
	if (n > 1) {
		while (c->n >= n)
			pop(c);
	}
	/* Back where the signal arrived, no control is transferred: the unwinder may have raised
	 * the stack pointer, and jump next. */
	if (n == 1 || now.ip != top_of(c)->calls || !on_stack(top_of(c), now.sp))
		settle(c, s, now);
	arrive(c, s, now.ip, now.ip);
}

/* ---- for a while --------------------------------------------------------------------- */

bool chain_unfilled(const struct chain *c)
{
	return c->a[c->n - 1].unfilled;
}

struct chain_mark chain_mark(const struct chain *c)
{
	return (struct chain_mark){*c, c->a[c->n - 1]};
}

void chain_rewind(struct chain *c, const struct chain_mark *mark)
{
	struct chain now = *c;

	*c = mark->chain;
	c->a = now.a;
	c->capacity = now.capacity;
	c->left = now.left;
	c->left_capacity = now.left_capacity;
	*top_of(c) = mark->top;
}

bool chain_has_room(const struct chain *c, uint64_t sp, uint64_t room)
{
	const struct activation *t = &c->a[c->n - 1];

	return on_stack(t, sp) && sp - t->stack_lo >= room;
}

/* ---- beginnings and ends ------------------------------------------------------------- */

void chain_begin(struct chain *c, struct space *s, struct moment now)
{
	struct tree_place p = space_place(s, now.ip);
	struct activation *a;

	c->n = c->n_left = c->n_signals = 0;
	a = push(c);
	*a = (struct activation){.kind = ACTIVATION_CALL,
				 .ret_slot = UINT64_MAX,
				 .site = PCCE_NONE,
				 .func = PCCE_NONE};
	find_stack(s, now.sp, &a->stack_lo, &a->stack_hi);
	set_place(c, &p);
}

void chain_other_stack(struct chain *c, struct space *s, struct moment now)
{
	if (on_stack(top_of(c), now.sp))
		return;
	begin_call(c, s, now, now);
	top_of(c)->ret_slot = UINT64_MAX;
	find_stack(s, now.sp, &top_of(c)->stack_lo, &top_of(c)->stack_hi);
}

static void *duplicate(const void *from, size_t size)
{
	void *to = size ? grow(NULL, size) : NULL;

	if (size)
		memcpy(to, from, size);
	return to;
}

void chain_copy(struct chain *to, const struct chain *from)
{
	*to = *from;
	to->capacity = from->n;
	to->a = duplicate(from->a, from->n * sizeof(*from->a));
	to->left_capacity = from->n_left;
	to->left = duplicate(from->left, from->n_left * sizeof(*from->left));
	if (from->resting) {
		to->resting = grow(NULL, sizeof(*to->resting));
		chain_copy(to->resting, from->resting);
	}
}

void chain_free(struct chain *c)
{
	struct chain *next;

	free(c->a);
	free(c->left);
	for (struct chain *r = c->resting; r; r = next) {
		next = r->resting;
		free(r->a);
		free(r->left);
		free(r);
	}
	memset(c, 0, sizeof(*c));
}

/* ---- what is expected ------------------------------------------------------------------ */

struct expected chain_expected(struct chain *c, struct space *s, uint64_t ip)
{
	const struct activation *t = top_of(c);
	struct expected e = {t->digest, t->n, notes_of(c, t), false};
	size_t n = c->n;
	int helper;

	if (t->func == PCCE_NONE) {
		helper = space_helper(s, ip);
		e.foreign = true;
		if (helper < 0 || helper == PCCE_HELPER_JUMPING)
			return e;
		/* The function that called it counts as innermost, whatever the call is. */
		while (n > 1 && c->a[n - 1].func == PCCE_NONE &&
		       c->a[n - 1].kind == ACTIVATION_CALL)
			n--;
		t = &c->a[n - 1];
		if (t->func == PCCE_NONE)
			return e;
		e.foreign = false;
	}
	e.digest = digest_step(t->digest, frame_element(t->file->index, t->func, PCCE_NONE));
	e.n = t->n + 1;
	return e;
}
