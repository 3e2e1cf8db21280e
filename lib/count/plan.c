/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Plans the changes of a module whose entries are counted: see plan.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/abi.h>
#include <pcce/sites.h>
#include "base/array.h"
#include "count/plan.h"
#include "elf/x86.h"

#define JUMP 5	    /* bytes: jmp rel32 */
#define TEST 7	    /* bytes: cmpl $0, rel32(%rip) */
#define JE 6	    /* bytes: je rel32 */
#define KEEP 2	    /* bytes: jne over the instructions that set the id */
#define LOAD 7	    /* bytes: mov G(%rip), %r11, in a library only */
#define SET 9	    /* bytes: movq $start, %fs:id(%r11) */
#define SET_EXEC 13 /* bytes: movq $start, %fs:disp32 */
#define FS 0x64
#define JMP_REL32 0xe9
#define CALL_REL32 0xe8

COMPARE_BY1(compare_vaddr, struct count_place, vaddr);

static struct count_place *plan_place_at(const struct count_plan *p, uint64_t vaddr)
{
	struct count_place key = {.vaddr = vaddr};

	return bsearch(&key, p->places, p->n_places, sizeof(key), compare_vaddr);
}

static int add_place(struct count_plan *p, const struct count_place *place)
{
	if (array_grow_from(&p->places, p->n_places, &p->places_capacity, 256, sizeof(*place)))
		return -ENOMEM;
	p->places[p->n_places++] = *place;
	return 0;
}

/* The bytes of the instructions that set the id, as they are written without further prefixes. */
static size_t set_id_size(const struct count_plan *p)
{
	return p->got ? LOAD + SET : SET_EXEC;
}

/* Writes them for an address. */
static void put_set_id_code(uint8_t *to, const struct count_plan *p, uint64_t address, uint64_t got,
			    uint32_t start)
{
	const int id = __builtin_offsetof(struct pcce_page, id);
	int32_t at = (int32_t)p->tpoff + id;

	if (p->got) {
		at = (int32_t)(got - (address + LOAD));
		memcpy(to, (const uint8_t[]){0x4c, 0x8b, 0x1d}, 3);
		memcpy(to + 3, &at, sizeof(at));
		memcpy(to + LOAD, (const uint8_t[]){FS, 0x49, 0xc7, 0x43, id}, 5);
	} else {
		memcpy(to, (const uint8_t[]){FS, 0x48, 0xc7, 0x04, 0x25}, 5);
		memcpy(to + 5, &at, sizeof(at));
	}
	memcpy(to + set_id_size(p) - sizeof(start), &start, sizeof(start));
}

/* The place behind the entry slot of a function that sets its id. */
static int plan_entry(struct count_plan *p, const struct elf_module *m,
		      const struct encoding_table *t, const struct pcce_table_func *f,
		      struct error *why)
{
	struct count_place place = {.vaddr = f->addr + f->entry};
	const uint8_t *slot = elf_module_at(m, f->addr, f->entry), *at;
	size_t size = set_id_size(p), prefixes = 0;
	uint8_t wanted[SET_EXEC + LOAD], got[SET_EXEC + LOAD];
	const uint8_t keep[KEEP] = {0x75, (uint8_t)size}; /* jne body */

	if (slot && f->entry >= size) {
		at = slot + f->entry - size;
		memcpy(&place.start, slot + f->entry - sizeof(place.start), sizeof(place.start));
		/* In a library, the last one may have more prefixes, and begin earlier. */
		while (p->got && at[LOAD - 1] == FS && at > slot) {
			prefixes++;
			at--;
		}
		put_set_id_code(wanted, p, f->addr + (uint64_t)(at - slot), p->got, place.start);
		memcpy(got, at, p->got ? LOAD : size);
		if (p->got)
			memcpy(got + LOAD, at + LOAD + prefixes, SET);
		if (!memcmp(got, wanted, size))
			place.slot = (uint8_t)(size + prefixes);
	}
	if (!place.slot)
		return error_set(why, -EINVAL,
				 "has an entry slot of an unknown form in '%s'; link it again",
				 encoding_table_string(t, f->name));
	at = slot + f->entry - place.slot;
	place.keeps = at - slot >= KEEP && !memcmp(at - KEEP, keep, KEEP);
	return add_place(p, &place) ? error_memory(why) : 0;
}

/*
 * Where a direct call or jump leads, if that is in a function and counted there. False: not a
 * direct one, or it leads to a gate or to an entry slot that counts.
 */
static bool find_counted_target(const struct elf_module *m, const struct encoding_table *t,
				const struct pcce_table_site *s, struct x86_branch *branch,
				uint64_t *at)
{
	uint64_t from = s->key + s->restore_len, n = s->ret - s->restore_len;
	const uint8_t *code = elf_module_at(m, from, n);
	uint32_t func;

	/* A tail call through a pointer may have become a jump to its slot. */
	if (s->kind == PCCE_KIND_RESTORE || s->ret <= s->restore_len || !code ||
	    (s->kind == PCCE_KIND_TAIL && s->flags & PCCE_SITE_INDIRECT))
		return false;
	*branch = x86_decode_branch(code, n, from, s->kind == PCCE_KIND_TAIL);
	if (branch->kind != X86_TO_ADDRESS)
		return false;
	func = encoding_table_func_at(t, branch->target);
	if (func == PCCE_NONE || encoding_table_in_entry(t, func, branch->target) ||
	    t->funcs[func].flags & PCCE_FUNC_GATE)
		return false;
	*at = from + branch->field;
	return true;
}

static int add_targets(struct count_plan *p, const struct elf_module *m,
		       const struct encoding_table *t, const bool *timed)
{
	for (uint64_t i = 0; i < t->head->sites.count; i++) {
		struct x86_branch branch;
		struct count_place place = {0};
		uint64_t at;

		if (!find_counted_target(m, t, &t->sites[i], &branch, &at) ||
		    (timed && !timed[encoding_table_func_at(t, branch.target)]))
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
		else if (p->places[i].slot)
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

static int add_distance(struct count_plan *p, uint64_t at, uint64_t relay, uint64_t target)
{
	if (array_grow_from(&p->distances, p->n_distances, &p->distances_capacity, 256,
			    sizeof(*p->distances)))
		return -ENOMEM;
	p->distances[p->n_distances++] = (struct count_distance){
		at, relay, (uint32_t)(plan_place_at(p, target) - p->places)};
	return 0;
}

/* The pointer of a gate gets the target of the gate's jump. Older gates have no pointer. */
static int add_gate(struct count_plan *p, const struct elf_module *m, uint64_t gate,
		    uint64_t target)
{
	const uint64_t at = gate + PCCE_GATE_TARGET;
	const uint8_t *field = elf_module_at(m, at, 4);

	return field && at + 4 + (uint64_t)x86_load_rel32(field) == target
		       ? add_distance(p, at, 0, target)
		       : 0;
}

static int add_distances(struct count_plan *p, const struct elf_module *m,
			 const struct encoding_table *t)
{
	for (uint64_t i = 0; i < t->head->sites.count; i++) {
		struct x86_branch branch;
		uint64_t at, relay = 0;

		if (!find_counted_target(m, t, &t->sites[i], &branch, &at) ||
		    !plan_place_at(p, branch.target))
			continue;
		if (branch.field_bytes == 1)
			relay = find_padding(p, m, t, at + 1);
		if (branch.field_bytes == 1 && !relay) {
			p->n_left++;
			continue;
		}
		if (add_distance(p, at, relay, branch.target) ||
		    (t->funcs[t->sites[i].func].flags & PCCE_FUNC_GATE &&
		     add_gate(p, m, t->sites[i].key - PCCE_GATE_JUMP, branch.target)))
			return -ENOMEM;
	}
	return 0;
}

int count_plan_make(const struct elf_module *m, const struct encoding_table *t, const bool *timed,
		    struct count_plan *out, struct error *why)
{
	int err = 0;

	memset(out, 0, sizeof(*out));
	out->text = ~0ULL;
	out->tpoff = t->head->tpoff;
	out->got = t->head->flags & PCCE_TABLE_EXEC ? 0 : t->head->got;
	for (size_t i = 0; i < m->n_segments; i++) {
		const struct elf_segment *s = &m->segments[i];

		if (!s->executable)
			continue;
		out->text = s->vaddr < out->text ? s->vaddr : out->text;
		out->text_end = s->vaddr + s->memory_size;
	}
	for (uint64_t i = 0; !err && i < t->head->funcs.count; i++)
		if (t->funcs[i].entry && (!timed || timed[i]))
			err = plan_entry(out, m, t, &t->funcs[i], why);
	if (!err && timed) {
		out->module = m;
		err = count_ends_make(m, t, timed, &out->ends, why);
	}
	if (!err && add_targets(out, m, t, timed))
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
	count_ends_free(&p->ends);
	memset(p, 0, sizeof(*p));
}

/* ---- stubs ----------------------------------------------------------------------- */

size_t count_plan_stub_size(bool bursts)
{
	return bursts ? COUNT_BURST_STUB : COUNT_STUB;
}

/* Behind the stubs of all places are those for slots that keep the id. size: of one. */
static size_t places_size(const struct count_plan *p, size_t size)
{
	size_t n = p->n_places;

	for (size_t i = 0; i < p->n_places; i++)
		n += p->places[i].keeps;
	return n * size;
}

size_t count_plan_ends_at(const struct count_plan *p, bool bursts)
{
	return places_size(p, count_plan_stub_size(bursts));
}

size_t count_plan_stubs_size(const struct count_plan *p, bool bursts)
{
	return p->module ? count_plan_ends_at(p, bursts) + count_ends_size(&p->ends)
			 : places_size(p, count_plan_stub_size(bursts));
}

/* In the stub for a slot that keeps the id, number i of these. */
static uint64_t place_that_keeps(const struct count_plan *p, uint64_t i, uint64_t in)
{
	for (size_t k = 0; k < p->n_places; k++) {
		const struct count_place *place = &p->places[k];

		if (place->keeps && !i--)
			return place->vaddr - (in < KEEP	  ? place->slot + KEEP
					       : in < KEEP + JUMP ? place->slot
								  : 0);
	}
	return 0;
}

uint64_t count_plan_place_of(const struct count_plan *p, uint64_t offset, size_t size)
{
	uint64_t i = offset / size, in = offset % size, ends = places_size(p, size);

	if (p->module && offset >= ends)
		return count_ends_slot_of(&p->ends, offset - ends);
	if (i >= p->n_places)
		return place_that_keeps(p, i - p->n_places, in);
	if (in >= set_id_size(p))
		return p->places[i].vaddr;
	/* Before the id is set, it is as before the instructions that the jump replaces. */
	return p->places[i].slot ? p->places[i].vaddr - p->places[i].slot : 0;
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

/* call *slot(%rip) */
static uint8_t *put_call_through(uint8_t *to, uint64_t address, uint64_t slot)
{
	int32_t rel = (int32_t)(slot - (address + 2 + sizeof(rel)));

	memcpy(to, (const uint8_t[]){0xff, 0x15}, 2);
	memcpy(to + 2, &rel, sizeof(rel));
	return to + 2 + sizeof(rel);
}

/* Counts, and goes on at the place. No caller keeps anything in r11 (plugin/clobbers.c). */
static void put_count(uint8_t *to, uint64_t address, uint32_t number, const struct count_layout *l,
		      uint64_t place)
{
	uint8_t *start = to;
	uint64_t at;

	if (l->burst)
		to = put_test(to, address, l->burst, place);
	memcpy(to, (const uint8_t[]){0x41, 0xbb}, 2); /* mov $number, %r11d */
	memcpy(to + 2, &number, sizeof(number));
	to += 2 + sizeof(number);
	at = address + (uint64_t)(to - start);
	to = l->engine_at ? put_call_through(to, at, l->engine_at)
			  : put_branch(to, at, CALL_REL32, l->engine);
	put_branch(to, address + (uint64_t)(to - start), JMP_REL32, place);
}

static struct count_ends_layout ends_layout(const struct count_plan *p,
					    const struct count_layout *l)
{
	return (struct count_ends_layout){.bias = l->bias,
					  .stubs = l->stubs + count_plan_ends_at(p, l->burst),
					  .end = l->end,
					  .jump = l->jump};
}

void count_plan_stubs(const struct count_plan *p, const struct count_layout *l, uint8_t *out)
{
	size_t extra = p->n_places, size = count_plan_stub_size(l->burst);

	memset(out, 0xcc, count_plan_stubs_size(p, l->burst));
	for (size_t i = 0; i < p->n_places; i++) {
		const struct count_place *place = &p->places[i];
		uint64_t at = l->stubs + i * size, body = place->vaddr + l->bias;
		uint8_t *to = out + i * size;

		if (place->slot)
			put_set_id_code(to, p, at, p->got + l->bias, place->start);
		x86_fill_nops(to + set_id_size(p), PCCE_COUNT_IN_STUB - set_id_size(p));
		put_count(to + PCCE_COUNT_IN_STUB, at + PCCE_COUNT_IN_STUB, l->first + (uint32_t)i,
			  l, body);
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
	if (p->module) {
		const struct count_ends_layout ends = ends_layout(p, l);

		count_ends_stubs(&p->ends, p->module, &ends, out + (ends.stubs - l->stubs));
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
		uint64_t at = place->vaddr + l->bias - place->slot, stub = i;
		uint8_t jump[JUMP];

		if (!place->slot)
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
		uint64_t stub = l->stubs + d->place * (uint64_t)size + PCCE_COUNT_IN_STUB;
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
	if (!err && p->module) {
		const struct count_ends_layout ends = ends_layout(p, l);

		err = count_ends_patch(&p->ends, &ends, write, ctx);
	}
	return err;
}
