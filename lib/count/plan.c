/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Plans the changes of an executable whose entries are counted: see plan.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/abi.h>
#include "count/plan.h"
#include "elf/x86.h"

#define JUMP 5 /* bytes: jmp rel32 */
#define TEST 7 /* bytes: cmpl $0, rel32(%rip) */
#define JE 6   /* bytes: je rel32 */
#define KEEP 2 /* bytes: jne over the instruction that sets the id */
#define JMP_REL32 0xe9
#define CALL_REL32 0xe8

static int compare_vaddr(const void *a, const void *b)
{
	const struct count_place *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static struct count_place *plan_place_at(const struct count_plan *p, uint64_t vaddr)
{
	struct count_place key = {.vaddr = vaddr};

	return bsearch(&key, p->places, p->n_places, sizeof(key), compare_vaddr);
}

static int grow(void **array, size_t *capacity, size_t n, size_t size)
{
	size_t more = *capacity ? 2 * *capacity : 256;
	void *larger;

	if (n < *capacity)
		return 0;
	larger = realloc(*array, more * size);
	if (!larger)
		return -ENOMEM;
	*array = larger;
	*capacity = more;
	return 0;
}

static int add_place(struct count_plan *p, const struct count_place *place)
{
	if (grow((void **)&p->places, &p->places_capacity, p->n_places, sizeof(*place)))
		return -ENOMEM;
	p->places[p->n_places++] = *place;
	return 0;
}

/* The place behind the entry slot of a function that sets its id. */
static int plan_entry(struct count_plan *p, const struct elf_module *m,
		      const struct encoding_table *t, const struct pcce_table_func *f,
		      struct error *why)
{
	static const uint8_t set_id[] = {0x64, 0x48, 0xc7, 0x04, 0x25}; /* movq $, %fs:disp32 */
	static const uint8_t keep[KEEP] = {0x75, COUNT_SET_ID};		/* jne body */
	struct count_place place = {.vaddr = f->addr + f->entry};
	const uint8_t *slot = elf_module_at(m, f->addr, f->entry);
	const uint8_t *insn = slot + f->entry - COUNT_SET_ID;
	int32_t disp =
		(int32_t)(t->head->tpoff + (int64_t) __builtin_offsetof(struct pcce_page, id));

	if (!slot || f->entry < COUNT_SET_ID || memcmp(insn, set_id, sizeof(set_id)) ||
	    memcmp(insn + sizeof(set_id), &disp, sizeof(disp)))
		return error_set(why, -EINVAL,
				 "has an entry slot of an unknown form in '%s'; link it again",
				 encoding_table_string(t, f->name));
	memcpy(place.set_id, insn, COUNT_SET_ID);
	place.keeps = f->entry >= COUNT_SET_ID + KEEP && !memcmp(insn - KEEP, keep, KEEP);
	return add_place(p, &place) ? error_memory(why) : 0;
}

/*
 * Where a direct call or jump leads, if that is in a function and counted there. False: not a
 * direct one, or it leads to an entry slot that counts.
 */
static bool find_counted_target(const struct elf_module *m, const struct encoding_table *t,
				const struct pcce_table_site *s, struct x86_branch *branch,
				uint64_t *at)
{
	uint64_t from = s->key + s->restore_len, n = s->ret - s->restore_len;
	const uint8_t *code = elf_module_at(m, from, n);
	uint32_t func;

	if (s->kind == PCCE_KIND_RESTORE || s->ret <= s->restore_len || !code)
		return false;
	*branch = x86_decode_branch(code, n, from, s->kind == PCCE_KIND_TAIL);
	if (branch->kind != X86_TO_ADDRESS)
		return false;
	func = encoding_table_func_at(t, branch->target);
	if (func == PCCE_NONE || encoding_table_in_entry(t, func, branch->target))
		return false;
	*at = from + branch->field;
	return true;
}

static int add_targets(struct count_plan *p, const struct elf_module *m,
		       const struct encoding_table *t)
{
	for (uint64_t i = 0; i < t->head->sites.count; i++) {
		struct x86_branch branch;
		struct count_place place = {0};
		uint64_t at;

		if (!find_counted_target(m, t, &t->sites[i], &branch, &at))
			continue;
		place.vaddr = branch.target;
		if (add_place(p, &place))
			return -ENOMEM;
	}
	return 0;
}

/* Sorts places, and keeps one of equal ones: the one of an entry slot. */
static void unify_places(struct count_plan *p)
{
	size_t n = 0;

	if (p->n_places)
		qsort(p->places, p->n_places, sizeof(*p->places), compare_vaddr);
	for (size_t i = 0; i < p->n_places; i++) {
		if (!n || p->places[n - 1].vaddr != p->places[i].vaddr)
			p->places[n++] = p->places[i];
		else if (p->places[i].set_id[0])
			p->places[n - 1] = p->places[i];
	}
	p->n_places = n;
}

/*
 * Finds room for a long jump that a short one can reach: padding between two parts of functions
 * that no relay uses. from: the end of the short jump. Returns 0 if there is none.
 */
static uint64_t find_padding(const struct count_plan *p, const struct elf_module *m,
			     const struct encoding_table *t, uint64_t from)
{
	for (uint64_t i = 0; i + 1 < t->head->parts.count; i++) {
		uint64_t at = t->parts[i].addr + t->parts[i].length, end = t->parts[i + 1].addr;
		const uint8_t *code;

		if (end + 128 < from)
			continue;
		if (at > from + 127)
			break;
		code = at < end ? elf_module_at(m, at, end - at) : NULL;
		if (!code || !x86_only_nops(code, end - at))
			continue;
		for (size_t k = p->n_distances; k-- > 0;)
			if (p->distances[k].relay >= at && p->distances[k].relay < end)
				at = p->distances[k].relay + JUMP > at
					     ? p->distances[k].relay + JUMP
					     : at;
		if (at + JUMP <= end && at + 128 >= from && at <= from + 127)
			return at;
	}
	return 0;
}

static int add_distances(struct count_plan *p, const struct elf_module *m,
			 const struct encoding_table *t)
{
	for (uint64_t i = 0; i < t->head->sites.count; i++) {
		struct x86_branch branch;
		uint64_t at, relay = 0;

		if (!find_counted_target(m, t, &t->sites[i], &branch, &at))
			continue;
		if (branch.field_bytes == 1)
			relay = find_padding(p, m, t, at + 1);
		if (branch.field_bytes == 1 && !relay) {
			p->n_left++;
			continue;
		}
		if (grow((void **)&p->distances, &p->distances_capacity, p->n_distances,
			 sizeof(*p->distances)))
			return -ENOMEM;
		p->distances[p->n_distances++] = (struct count_distance){
			at, relay, (uint32_t)(plan_place_at(p, branch.target) - p->places)};
	}
	return 0;
}

int count_plan_make(const struct elf_module *m, const struct encoding_table *t,
		    struct count_plan *out, struct error *why)
{
	int err = 0;

	memset(out, 0, sizeof(*out));
	out->text = ~0ULL;
	for (size_t i = 0; i < m->n_segments; i++) {
		const struct elf_segment *s = &m->segments[i];

		if (!s->executable)
			continue;
		out->text = s->vaddr < out->text ? s->vaddr : out->text;
		out->text_end = s->vaddr + s->memory_size;
	}
	for (uint64_t i = 0; !err && i < t->head->funcs.count; i++)
		if (t->funcs[i].entry)
			err = plan_entry(out, m, t, &t->funcs[i], why);
	if (!err && add_targets(out, m, t))
		err = error_memory(why);
	unify_places(out);
	if (!err && add_distances(out, m, t))
		err = error_memory(why);
	if (err)
		count_plan_free(out);
	return err;
}

void count_plan_free(struct count_plan *p)
{
	free(p->places);
	free(p->distances);
	memset(p, 0, sizeof(*p));
}

/* ---- stubs ----------------------------------------------------------------------- */

size_t count_plan_stub_size(bool bursts)
{
	return bursts ? COUNT_BURST_STUB : COUNT_STUB;
}

/* In the stub for a slot that keeps the id, number i of these. */
static uint64_t place_that_keeps(const struct count_plan *p, uint64_t i, uint64_t in)
{
	for (size_t k = 0; k < p->n_places; k++)
		if (p->places[k].keeps && !i--)
			return p->places[k].vaddr - (in < KEEP		? COUNT_SET_ID + KEEP
						     : in < KEEP + JUMP ? COUNT_SET_ID
									: 0);
	return 0;
}

uint64_t count_plan_place_of(const struct count_plan *p, uint64_t offset, size_t size)
{
	uint64_t i = offset / size, in = offset % size;

	if (i >= p->n_places)
		return place_that_keeps(p, i - p->n_places, in);
	if (in >= COUNT_SET_ID)
		return p->places[i].vaddr;
	/* Before its first instruction, it is as before the one that it replaces. */
	return in || !p->places[i].set_id[0] ? 0 : p->places[i].vaddr - COUNT_SET_ID;
}

/* Behind the stubs of all places are those for slots that keep the id. */
size_t count_plan_stubs_size(const struct count_plan *p, bool bursts)
{
	size_t n = p->n_places;

	for (size_t i = 0; i < p->n_places; i++)
		n += p->places[i].keeps;
	return n * count_plan_stub_size(bursts);
}

static uint8_t *put_branch(uint8_t *to, uint64_t address, uint8_t opcode, uint64_t target)
{
	int32_t rel = (int32_t)(target - (address + JUMP));

	to[0] = opcode;
	memcpy(to + 1, &rel, sizeof(rel));
	return to + JUMP;
}

/* Goes on at the place if there is no burst. */
static uint8_t *put_test(uint8_t *to, uint64_t address, uint64_t burst, uint64_t place)
{
	int32_t flag = (int32_t)(burst - (address + TEST)),
		rel = (int32_t)(place - (address + TEST + JE));

	memcpy(to, (const uint8_t[]){0x83, 0x3d}, 2); /* cmpl $0, flag(%rip) */
	memcpy(to + 2, &flag, sizeof(flag));
	to[TEST - 1] = 0;
	memcpy(to + TEST, (const uint8_t[]){0x0f, 0x84}, 2); /* je place */
	memcpy(to + TEST + 2, &rel, sizeof(rel));
	return to + TEST + JE;
}

/* Counts, and goes on at the place. */
static void put_count(uint8_t *to, uint64_t address, uint32_t number, const struct count_layout *l,
		      uint64_t place)
{
	uint8_t *start = to;

	if (l->burst)
		to = put_test(to, address, l->burst, place);
	memcpy(to, (const uint8_t[]){0x41, 0x53, 0x41, 0xbb},
	       4); /* push %r11; mov $number, %r11d */
	memcpy(to + 4, &number, sizeof(number));
	to += 4 + sizeof(number);
	to = put_branch(to, address + (uint64_t)(to - start), CALL_REL32, l->engine);
	memcpy(to, (const uint8_t[]){0x41, 0x5b}, 2); /* pop %r11 */
	to += 2;
	put_branch(to, address + (uint64_t)(to - start), JMP_REL32, place);
}

void count_plan_stubs(const struct count_plan *p, const struct count_layout *l, uint8_t *out)
{
	size_t extra = p->n_places, size = count_plan_stub_size(l->burst);

	memset(out, 0xcc, count_plan_stubs_size(p, l->burst));
	for (size_t i = 0; i < p->n_places; i++) {
		const struct count_place *place = &p->places[i];
		uint64_t at = l->stubs + i * size, body = place->vaddr + l->bias;
		uint8_t *to = out + i * size;

		memcpy(to, place->set_id, COUNT_SET_ID);
		put_count(to + COUNT_SET_ID, at + COUNT_SET_ID, (uint32_t)i + 1, l, body);
		if (!place->keeps)
			continue;
		/* jne 1f; jmp to the stub; 1: lost */
		to = out + extra * size;
		to[0] = 0x75;
		to[1] = JUMP;
		put_branch(to + KEEP, l->stubs + extra * size + KEEP, JMP_REL32, at);
		put_count(to + KEEP + JUMP, l->stubs + extra * size + KEEP + JUMP, 0, l, body);
		extra++;
	}
}

int count_plan_patch(const struct count_plan *p, const struct count_layout *l,
		     int (*write)(void *ctx, uint64_t address, const void *bytes, size_t n),
		     void *ctx)
{
	size_t extra = p->n_places, size = count_plan_stub_size(l->burst);
	int err = 0;

	for (size_t i = 0; !err && i < p->n_places; i++) {
		const struct count_place *place = &p->places[i];
		uint64_t at = place->vaddr + l->bias - COUNT_SET_ID, stub = i;
		uint8_t jump[JUMP];

		if (!place->set_id[0])
			continue;
		if (place->keeps) {
			at -= KEEP;
			stub = extra++;
		}
		put_branch(jump, at, JMP_REL32, l->stubs + stub * size);
		err = write(ctx, at, jump, sizeof(jump));
	}
	for (size_t i = 0; !err && i < p->n_distances; i++) {
		const struct count_distance *d = &p->distances[i];
		uint64_t at = d->vaddr + l->bias, relay = d->relay + l->bias;
		uint64_t stub = l->stubs + d->place * (uint64_t)size + COUNT_SET_ID;
		int32_t rel = (int32_t)(stub - (at + sizeof(rel)));
		int8_t near = (int8_t)(relay - (at + sizeof(near)));
		uint8_t jump[JUMP];

		put_branch(jump, relay, JMP_REL32, stub);
		if (d->relay)
			err = write(ctx, relay, jump, sizeof(jump));
		if (!err)
			err = d->relay ? write(ctx, at, &near, sizeof(near))
				       : write(ctx, at, &rel, sizeof(rel));
	}
	return err;
}
