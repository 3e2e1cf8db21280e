/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Plans how the ends of calls are seen: see ends.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sites.h>
#include "base/array.h"
#include "count/ends.h"
#include "elf/x86.h"

#define JUMP 5 /* bytes: jmp rel32 */
#define JMP_REL32 0xe9
#define CALL_REL32 0xe8
#define JNE_REL8 0x75
#define JMP_REL8 0xeb
#define CS 0x2e
#define FS 0x64

COMPARE_BY1(compare_slots, struct count_end, slot);

/* ---- functions ------------------------------------------------------------------- */

static bool spread_to(bool *reaches, uint32_t func)
{
	bool new = !reaches[func];

	reaches[func] = true;
	return new;
}

/* Which calls may execute a timed function: direct ones of these functions. It is one of them, or
 * they may tail-call it. A type is called as its members are. */
static bool *find_reaching(const struct encoding_table *t, const bool *timed)
{
	bool *reaches = calloc(t->head->funcs.count + 1, sizeof(*reaches)), more = true;

	if (!reaches)
		return NULL;
	for (uint64_t i = 0; i < t->head->funcs.count; i++)
		reaches[i] = timed[i] || t->funcs[i].flags & PCCE_FUNC_TAIL_OUT;
	while (more) {
		more = false;
		for (uint64_t i = 0; i < t->head->tails.count; i++)
			if (reaches[t->tails[i].to])
				more |= spread_to(reaches, t->tails[i].from);
	}
	for (uint64_t i = 0; i < t->head->sites.count; i++) {
		const struct pcce_table_site *s = &t->sites[i];

		if (t->funcs[s->func].flags & PCCE_FUNC_TYPE && s->callee != PCCE_NONE &&
		    reaches[s->callee])
			reaches[s->func] = true;
	}
	return reaches;
}

static bool may_end(const struct encoding_table *t, const struct pcce_table_site *s,
		    const bool *reaches)
{
	if (s->kind == PCCE_KIND_TAIL || s->kind == PCCE_KIND_RESTORE ||
	    s->flags & (PCCE_SITE_NORETURN | PCCE_SITE_RETURNS_TWICE) ||
	    t->funcs[s->func].flags & PCCE_FUNC_TYPE)
		return false;
	return s->callee != PCCE_NONE ? reaches[s->callee] : !s->callee_name;
}

/* ---- after-slots ----------------------------------------------------------------- */

/* Skips an instruction with this prefix, repeated, and what follows it. 0: it is another one. */
static size_t skip_prefixed(const uint8_t *code, size_t n, uint8_t prefix, const uint8_t *rest,
			    size_t n_rest, size_t length)
{
	size_t at = 0;

	while (at < n && code[at] == prefix)
		at++;
	return at + length <= n && !memcmp(code + at, rest, n_rest) ? at + length : 0;
}

/* The instructions of a pop: docs/slots.md. */
static bool parse_pop(const uint8_t *code, size_t n, struct count_end *e)
{
	static const uint8_t lea[] = {0x4c, 0x8d, 0x1d}, off[] = {0x4c, 0x63, 0x14, 0x25},
			     count[] = {0x66, 0x41, 0x83, 0xba};
	size_t at = skip_prefixed(code, n, CS, lea, sizeof(lea), 7), length;

	if (!at)
		return false;
	e->far[0] = (uint8_t)(at - 4);
	if (at + JUMP == n && code[at] == CALL_REL32) {
		e->far[1] = (uint8_t)(at + 1);
		e->by_helper = true;
		return true;
	}
	length = skip_prefixed(code + at, n - at, FS, off, sizeof(off), 8);
	if (!length)
		return false;
	at += length;
	length = skip_prefixed(code + at, n - at, FS, count, sizeof(count), 9);
	at += length;
	if (!length || at + 6 > n || code[at] != 0x0f || code[at + 1] != 0x85)
		return false;
	e->far[1] = (uint8_t)(at + 2);
	return at + 6 < n && code[at + 6] == FS;
}

static bool parse_slot(const struct elf_module *m, const struct pcce_table_site *s,
		       struct count_end *e)
{
	const uint8_t *code = elf_module_at(m, e->slot, s->after_len);

	if (!code || s->undone > s->after_len)
		return false;
	e->n = s->undone;
	e->behind = e->slot + (s->undone >= JUMP ? s->undone : s->after_len);
	/* Nops, and a jump over many. */
	if (!s->undone)
		return s->kind == PCCE_KIND_NONE;
	if (s->kind == PCCE_KIND_PUSH)
		return parse_pop(code, s->undone, e);
	/* One instruction without a distance. */
	return s->undone >= JUMP && code[0] == FS;
}

/* The helper behind which the program goes on at r11: `call pop; notrack jmp *%r11`. */
static uint64_t find_pop_slow(const struct elf_module *m, const struct encoding_table *t,
			      uint64_t pop)
{
	static const uint8_t jump[] = {0x3e, 0x41, 0xff, 0xe3};

	for (uint64_t i = 0; i < t->head->helpers.count; i++) {
		const struct pcce_table_helper *h = &t->helpers[i];

		for (uint64_t at = h->addr; at < h->addr + h->length; at++) {
			const uint8_t *code = elf_module_at(m, at, JUMP + sizeof(jump));

			if (code && code[0] == CALL_REL32 &&
			    at + JUMP + (uint64_t)x86_load_rel32(code + 1) == pop &&
			    !memcmp(code + JUMP, jump, sizeof(jump)))
				return at;
		}
	}
	return 0;
}

static uint64_t far_target(const struct elf_module *m, const struct count_end *e, int i)
{
	const uint64_t at = e->slot + e->far[i];

	return at + 4 + (uint64_t)x86_load_rel32(elf_module_at(m, at, 4));
}

static int add_end(const struct elf_module *m, const struct encoding_table *t,
		   const struct pcce_table_site *s, struct count_ends *out, struct error *why)
{
	struct count_end e = {.slot = s->key + s->ret};
	bool known = parse_slot(m, s, &e);

	if (known && e.by_helper && !out->pop_slow) {
		out->pop_slow = find_pop_slow(m, t, far_target(m, &e, 1));
		known = out->pop_slow;
	}
	if (!known)
		return error_set(why, -EINVAL,
				 "has an after-slot of an unknown form in '%s' (line %u); link it "
				 "again",
				 encoding_table_string(t, t->funcs[s->func].name), s->line);
	if (array_grow_from(&out->list, out->n, &out->capacity, 256, sizeof(e)))
		return error_memory(why);
	out->list[out->n++] = e;
	return 0;
}

/* The guard has no room for a jump behind its call. So it is never taken, and the call is a push.
 * The jump past it precedes its before-slot. */
static int pass_guard(const struct elf_module *m, const struct encoding_table *t,
		      const struct pcce_table_site *s, struct count_ends *out, struct error *why)
{
	uint64_t at = s->key - s->before - 2;
	const uint8_t *code = elf_module_at(m, at, 2);

	if (!(s->flags & PCCE_SITE_GUARD) || !code || code[0] != JNE_REL8)
		return error_set(why, -EINVAL,
				 "has a call without an after-slot in '%s' (line %u); link it "
				 "again",
				 encoding_table_string(t, t->funcs[s->func].name), s->line);
	if (array_grow_from(&out->guards, out->n_guards, &out->guards_capacity, 16,
			    sizeof(*out->guards)))
		return error_memory(why);
	out->guards[out->n_guards++] = at;
	return 0;
}

/* ---- landings -------------------------------------------------------------------- */

/* Finds the call of __pcce_restore in a restore site, which has the key in r11. Stretches that get
 * more stack have none. */
static int add_restores(const struct elf_module *m, const struct pcce_table_site *s,
			struct count_ends *out)
{
	for (uint64_t at = s->key; at + 7 + JUMP <= s->key + s->ret; at++) {
		const uint8_t *code = elf_module_at(m, at, 7 + JUMP);
		uint64_t target;

		if (!code || code[0] != 0x4c || code[1] != 0x8d || code[2] != 0x1d ||
		    code[7] != CALL_REL32 || at + 7 + (uint64_t)x86_load_rel32(code + 3) != s->key)
			continue;
		target = at + 7 + JUMP + (uint64_t)x86_load_rel32(code + 8);
		if (out->restore && out->restore != target)
			return -EINVAL;
		out->restore = target;
		if (array_grow_from(&out->restores, out->n_restores, &out->restores_capacity, 64,
				    sizeof(*out->restores)))
			return -ENOMEM;
		out->restores[out->n_restores++] = at + 8;
		return 0;
	}
	return 0;
}

/* ---- the plan -------------------------------------------------------------------- */

static int plan_site(const struct elf_module *m, const struct encoding_table *t,
		     const struct pcce_table_site *s, const bool *reaches, struct count_ends *out,
		     struct error *why)
{
	int err;

	if (s->kind == PCCE_KIND_RESTORE) {
		err = add_restores(m, s, out);
		return err == -EINVAL ? error_set(why, err, "has two runtimes; link it again")
		       : err	      ? error_memory(why)
				      : 0;
	}
	if (!may_end(t, s, reaches))
		return 0;
	return s->after_len < JUMP ? pass_guard(m, t, s, out, why) : add_end(m, t, s, out, why);
}

int count_ends_make(const struct elf_module *m, const struct encoding_table *t, const bool *timed,
		    struct count_ends *out, struct error *why)
{
	bool *reaches = find_reaching(t, timed);
	int err = reaches ? 0 : error_memory(why);

	memset(out, 0, sizeof(*out));
	for (uint64_t i = 0; i < t->head->sites.count && !err; i++)
		err = plan_site(m, t, &t->sites[i], reaches, out, why);
	free(reaches);
	if (out->n)
		qsort(out->list, out->n, sizeof(*out->list), compare_slots);
	if (err)
		count_ends_free(out);
	return err;
}

void count_ends_free(struct count_ends *e)
{
	free(e->list);
	free(e->restores);
	free(e->guards);
	memset(e, 0, sizeof(*e));
}

size_t count_ends_size(const struct count_ends *e)
{
	return (e->n + 1) * PCCE_COUNT_END_STUB;
}

/* ---- stubs ----------------------------------------------------------------------- */

static void put_rel32(uint8_t *to, uint64_t address, uint64_t target)
{
	int32_t rel = (int32_t)(target - (address + sizeof(rel)));

	memcpy(to, &rel, sizeof(rel));
}

static void put_far(uint8_t *to, uint64_t address, uint8_t opcode, uint64_t target)
{
	to[0] = opcode;
	put_rel32(to + 1, address + 1, target);
}

/* What the slot did. at: the address of the code. Returns the number of bytes. */
static size_t put_slot(const struct count_end *e, uint64_t pop_slow, const struct elf_module *m,
		       uint64_t bias, uint64_t at, uint8_t *to)
{
	memcpy(to, elf_module_at(m, e->slot, e->n), e->n);
	for (int i = 0; i < 2 && e->far[i]; i++)
		put_rel32(to + e->far[i], at + e->far[i], far_target(m, e, i) + bias);
	if (e->by_helper)
		put_far(to + e->far[1] - 1, at + e->far[1] - 1, JMP_REL32, pop_slow + bias);
	return e->n;
}

void count_ends_stubs(const struct count_ends *e, const struct elf_module *m,
		      const struct count_ends_layout *l, uint8_t *out)
{
	uint64_t at = l->stubs;

	memset(out, 0xcc, count_ends_size(e));
	for (uint32_t i = 0; i < e->n; i++, at += PCCE_COUNT_END_STUB) {
		uint8_t *to = out + (at - l->stubs);
		const uint32_t number = PCCE_COUNT_END | i;
		size_t n = PCCE_COUNT_END_RETURN;

		memcpy(to, (const uint8_t[]){0x41, 0xbb}, 2); /* mov $number, %r11d */
		memcpy(to + 2, &number, sizeof(number));
		put_far(to + n - JUMP, at + n - JUMP, CALL_REL32, l->end);
		n += put_slot(&e->list[i], e->pop_slow, m, l->bias, at + n, to + n);
		put_far(to + n, at + n, JMP_REL32, e->list[i].behind + l->bias);
	}
	put_far(out + (at - l->stubs), at, CALL_REL32, l->jump);
	put_far(out + (at - l->stubs) + JUMP, at + JUMP, JMP_REL32, e->restore + l->bias);
}

int count_ends_patch(const struct count_ends *e, const struct count_ends_layout *l,
		     int (*write)(void *ctx, uint64_t address, const void *bytes, size_t n),
		     void *ctx)
{
	static const uint8_t always = JMP_REL8;
	uint64_t stub = l->stubs;
	uint8_t code[JUMP];
	int err = 0;

	for (size_t i = 0; i < e->n && !err; i++, stub += PCCE_COUNT_END_STUB) {
		put_far(code, e->list[i].slot + l->bias, JMP_REL32, stub);
		err = write(ctx, e->list[i].slot + l->bias, code, sizeof(code));
	}
	for (size_t i = 0; i < e->n_restores && !err; i++) {
		put_rel32(code, e->restores[i] + l->bias, stub);
		err = write(ctx, e->restores[i] + l->bias, code, 4);
	}
	for (size_t i = 0; i < e->n_guards && !err; i++)
		err = write(ctx, e->guards[i] + l->bias, &always, 1);
	return err;
}

uint64_t count_ends_slot_of(const struct count_ends *e, uint64_t offset)
{
	uint64_t i = offset / PCCE_COUNT_END_STUB, in = offset % PCCE_COUNT_END_STUB;
	const struct count_end *end = i < e->n ? &e->list[i] : NULL;

	if (!end)
		return 0;
	if (in < PCCE_COUNT_END_RETURN)
		return end->slot;
	in -= PCCE_COUNT_END_RETURN;
	return in < end->n ? end->slot + in : end->behind;
}
