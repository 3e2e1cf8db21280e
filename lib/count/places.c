/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Looks up places: see places.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/sorted.h"
#include "base/array.h"
#include "count/places.h"

struct count_places {
	pthread_mutex_t lock;
	size_t stub_size;
	struct count_module *modules; /* sorted by number */
	size_t n, capacity;
	uint32_t next;
};

struct count_places *count_places_new(size_t stub_size)
{
	struct count_places *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	p->stub_size = stub_size;
	p->next = 1;
	return p;
}

void count_places_free(struct count_places *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->lock);
	free(p->modules);
	free(p);
}

int count_places_add(struct count_places *p, const struct count_module *m)
{
	int err = 0;

	pthread_mutex_lock(&p->lock);
	if (array_grow_from(&p->modules, p->n, &p->capacity, 16, sizeof(*p->modules)))
		err = -ENOMEM;
	if (!err) {
		p->modules[p->n] = *m;
		p->modules[p->n].index = p->n;
		p->n++;
		p->next += (uint32_t)m->plan->n_places;
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

uint32_t count_places_next(const struct count_places *p)
{
	return p->next;
}

/* The last module whose first place is not behind this one. */
static const struct count_module *module_with(const struct count_places *p, uint64_t number)
{
	size_t low = SORTED_COUNT(i, p->n, p->modules[i].first <= number);

	return low ? &p->modules[low - 1] : NULL;
}

uint64_t count_places_address(struct count_places *p, uint64_t number, size_t *module)
{
	const struct count_module *m;
	uint64_t address = 0;

	pthread_mutex_lock(&p->lock);
	m = number ? module_with(p, number) : NULL;
	if (m && number - m->first < m->plan->n_places) {
		address = m->plan->places[number - m->first].vaddr + m->bias;
		*module = m->index;
	}
	pthread_mutex_unlock(&p->lock);
	return address;
}

bool count_places_in_stub(struct count_places *p, uint64_t address, uint64_t *in_function)
{
	bool found = false;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n && !found; i++) {
		const struct count_module *m = &p->modules[i];

		if (address < m->stubs || address >= m->stubs_end)
			continue;
		found = true;
		*in_function = count_plan_place_of(m->plan, address - m->stubs, p->stub_size);
		if (*in_function)
			*in_function += m->bias;
	}
	pthread_mutex_unlock(&p->lock);
	return found;
}

bool count_places_overlap(struct count_places *p, uint64_t start, uint64_t end, uint64_t *free)
{
	bool found = false;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n && !found; i++) {
		found = p->modules[i].stubs < end && p->modules[i].stubs_end > start;
		if (found)
			*free = p->modules[i].stubs;
	}
	pthread_mutex_unlock(&p->lock);
	return found;
}
