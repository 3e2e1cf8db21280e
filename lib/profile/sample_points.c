/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Keeps two hash tables: of points by address space and instruction, and of places. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "profile/sample_points.h"
#include "base/hash_table.h"
#include "elf/encoding_table.h"

HASH_TABLE_TYPE(point_table, uint32_t);
HASH_TABLE_TYPE(place_table, uint32_t);

struct sample_points {
	struct address_spaces *spaces;
	struct sample_point *list;
	size_t n, capacity;
	struct point_table by_ip; /* index into list + 1 */
	struct tree_place *places;
	size_t n_places, places_capacity;
	struct place_table by_place; /* index into places + 1 */
};

static uint64_t hash_pair(uint64_t a, uint64_t b)
{
	a = (a ^ b * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
	return (a ^ a >> 32) * 0xc4ceb9fe1a85ec53ULL >> 16;
}

HASH_TABLE_FUNCTIONS(point_table, uint32_t, struct sample_point, struct sample_points, *s,
		     hash_pair(o->list[*s - 1].space, o->list[*s - 1].ip),
		     o->list[*s - 1].ip == key->ip && o->list[*s - 1].space == key->space);

HASH_TABLE_FUNCTIONS(place_table, uint32_t, struct tree_place, struct sample_points, *s,
		     hash_pair(o->places[*s - 1].module, o->places[*s - 1].vaddr),
		     o->places[*s - 1].vaddr == key->vaddr &&
			     o->places[*s - 1].module == key->module);

struct sample_points *sample_points_new(struct address_spaces *spaces)
{
	struct sample_points *p = calloc(1, sizeof(*p));

	if (p)
		p->spaces = spaces;
	return p;
}

void sample_points_free(struct sample_points *p)
{
	if (p) {
		free(p->list);
		free(p->places);
		point_table_free(&p->by_ip);
		place_table_free(&p->by_place);
	}
	free(p);
}

/* ---- places ---------------------------------------------------------------------- */

uint32_t sample_points_number(struct sample_points *p, struct tree_place place)
{
	uint64_t hash = hash_pair(place.module, place.vaddr);
	uint32_t *slot = place_table_slot(&p->by_place, p, hash, &place);

	if (!slot)
		return UINT32_MAX;
	if (*slot)
		return *slot - 1;
	if (array_grow_from(&p->places, p->n_places, &p->places_capacity, 1024, sizeof(*p->places)))
		return UINT32_MAX;
	p->places[p->n_places] = place;
	place_table_fill(&p->by_place, slot, ++p->n_places);
	return p->n_places - 1;
}

struct tree_place sample_points_place(const struct sample_points *p, uint32_t number)
{
	return p->places[number];
}

struct tree_place *sample_points_places(const struct sample_points *p)
{
	return p->places;
}

struct tree_place *sample_points_take_places(struct sample_points *p, size_t *n)
{
	struct tree_place *places = p->places;

	*n = p->n_places;
	p->places = NULL;
	p->n_places = p->places_capacity = 0;
	return places;
}

/* ---- points ---------------------------------------------------------------------- */

/* Fills in all but the key. 0 or -ENOMEM. */
static int classify_point(struct sample_points *all, struct sample_point *p)
{
	const struct decode_space *as = address_spaces_get(all->spaces, p->space);
	const struct decode_module *m = as->find(as, p->ip);
	struct tree_place place = {.module = UINT32_MAX};

	p->kind = SAMPLE_POINT_FOREIGN;
	p->module = UINT32_MAX;
	p->func = PCCE_NONE;
	if (m) {
		p->bias = m->start - m->vaddr;
		place = (struct tree_place){.vaddr = p->ip - p->bias, .module = m->module};
		p->module = m->module;
	}
	if (m && m->table) {
		p->needs_r11 = encoding_table_helper_at(m->table, place.vaddr);
		p->func = encoding_table_func_at(m->table, place.vaddr);
		if (p->needs_r11 ||
		    (p->func != PCCE_NONE &&
		     (encoding_table_site_around(m->table, place.vaddr) != PCCE_NONE ||
		      encoding_table_in_entry(m->table, p->func, place.vaddr))))
			p->kind = SAMPLE_POINT_EXACT;
		else if (p->func != PCCE_NONE)
			p->kind = SAMPLE_POINT_PLAIN;
	}
	p->place = sample_points_number(all, place);
	return p->place == UINT32_MAX ? -ENOMEM : 0;
}

static const struct sample_point *add_point(struct sample_points *p, uint32_t space, uint64_t ip,
					    uint32_t *slot)
{
	struct sample_point *new;

	if (array_grow_from(&p->list, p->n, &p->capacity, 1024, sizeof(*p->list)))
		return NULL;
	new = &p->list[p->n];
	*new = (struct sample_point){.ip = ip, .space = space};
	if (classify_point(p, new))
		return NULL;
	point_table_fill(&p->by_ip, slot, ++p->n);
	return new;
}

const struct sample_point *sample_points_at(struct sample_points *p, uint32_t space, uint64_t ip)
{
	struct sample_point key = {.ip = ip, .space = space};
	uint32_t *slot = point_table_slot(&p->by_ip, p, hash_pair(space, ip), &key);

	if (!slot)
		return NULL;
	return *slot ? &p->list[*slot - 1] : add_point(p, space, ip, slot);
}
