/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Two hash tables: of points by (space, ip), and of places. */
#include <errno.h>
#include <stdlib.h>
#include "profile/sample_points.h"
#include "base/huge_alloc.h"
#include "elf/encoding_table.h"

struct sample_points {
	struct address_spaces *spaces;
	struct sample_point *list;
	size_t n, capacity;
	uint32_t *slots; /* index + 1; 0: free */
	size_t n_slots;
	struct tree_place *places;
	size_t n_places, places_capacity;
	uint32_t *place_slots;
	size_t n_place_slots;
};

struct sample_points *sample_points_new(struct address_spaces *spaces)
{
	struct sample_points *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->spaces = spaces;
	p->n_slots = p->n_place_slots = 4096;
	p->slots = calloc(p->n_slots, sizeof(*p->slots));
	p->place_slots = calloc(p->n_place_slots, sizeof(*p->place_slots));
	if (p->slots && p->place_slots)
		return p;
	sample_points_free(p);
	return NULL;
}

void sample_points_free(struct sample_points *p)
{
	if (p) {
		free(p->list);
		free(p->slots);
		free(p->places);
		free(p->place_slots);
	}
	free(p);
}

static uint64_t hash(uint64_t a, uint64_t b)
{
	a = (a ^ b * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
	return (a ^ a >> 32) * 0xc4ceb9fe1a85ec53ULL >> 16;
}

/* Room for one more of n elements. */
static int grow(void *array, size_t n, size_t *capacity, size_t size)
{
	size_t want = *capacity ? *capacity * 2 : 1024;
	void **p = array, *more;

	if (n < *capacity)
		return 0;
	more = reallocarray(*p, want, size);
	if (!more)
		return -ENOMEM;
	*p = more;
	*capacity = want;
	return 0;
}

/* ---- places ---------------------------------------------------------------------- */

static int rehash_places(struct sample_points *p)
{
	size_t want = p->n_place_slots * 2;
	uint32_t *slots = huge_alloc(want, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_places; i++) {
		size_t at = hash(p->places[i].module, p->places[i].vaddr) & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = i + 1;
	}
	free(p->place_slots);
	p->place_slots = slots;
	p->n_place_slots = want;
	return 0;
}

uint32_t sample_points_number(struct sample_points *p, struct tree_place place)
{
	size_t at;

	if (p->n_places * 2 >= p->n_place_slots && rehash_places(p))
		return UINT32_MAX;
	at = hash(place.module, place.vaddr) & (p->n_place_slots - 1);
	for (; p->place_slots[at]; at = (at + 1) & (p->n_place_slots - 1)) {
		const struct tree_place *known = &p->places[p->place_slots[at] - 1];

		if (known->vaddr == place.vaddr && known->module == place.module)
			return p->place_slots[at] - 1;
	}
	if (grow(&p->places, p->n_places, &p->places_capacity, sizeof(*p->places)))
		return UINT32_MAX;
	p->places[p->n_places] = place;
	p->place_slots[at] = ++p->n_places;
	return p->n_places - 1;
}

struct tree_place sample_points_place(const struct sample_points *p, uint32_t number)
{
	return p->places[number];
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

static int look(struct sample_points *all, struct sample_point *p)
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

static int rehash(struct sample_points *p)
{
	size_t want = p->n_slots * 2;
	uint32_t *slots = huge_alloc(want, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		size_t at = hash(p->list[i].space, p->list[i].ip) & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = i + 1;
	}
	free(p->slots);
	p->slots = slots;
	p->n_slots = want;
	return 0;
}

const struct sample_point *sample_points_at(struct sample_points *p, uint32_t space, uint64_t ip)
{
	struct sample_point *new;
	size_t at;

	if (p->n * 2 >= p->n_slots && rehash(p))
		return NULL;
	at = hash(space, ip) & (p->n_slots - 1);
	for (; p->slots[at]; at = (at + 1) & (p->n_slots - 1)) {
		const struct sample_point *known = &p->list[p->slots[at] - 1];

		if (known->ip == ip && known->space == space)
			return known;
	}
	if (grow(&p->list, p->n, &p->capacity, sizeof(*p->list)))
		return NULL;
	new = &p->list[p->n];
	*new = (struct sample_point){.ip = ip, .space = space};
	if (look(p, new))
		return NULL;
	p->slots[at] = ++p->n;
	return new;
}
