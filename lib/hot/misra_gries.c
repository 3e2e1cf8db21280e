/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the weighted algorithm of Misra and Gries, and merging. */
#include <errno.h>
#include <stdlib.h>
#include "hot/misra_gries.h"
#include "hot/parameters.h"

int misra_gries_init(struct misra_gries *m, double epsilon)
{
	size_t k = hot_counters(epsilon);

	*m = (struct misra_gries){.k = k, .capacity = 2 * k};
	if (!k)
		return -ENOMEM;
	m->of = calloc(2 * k, sizeof(*m->of));
	m->values = calloc(2 * k, sizeof(*m->values));
	if (m->of && m->values && !item_table_init(&m->table, 2 * k))
		return 0;
	misra_gries_free(m);
	return -ENOMEM;
}

void misra_gries_free(struct misra_gries *m)
{
	free(m->of);
	free(m->values);
	item_table_free(&m->table);
	*m = (struct misra_gries){0};
}

/* Returns the k-th largest of n values, k from 1 to n, and changes their order: quickselect. Pivots
 * are chosen at random, so that no stream can make it slow. */
static uint64_t select_kth(uint64_t *values, size_t n, size_t k)
{
	size_t low = 0, high = n;
	uint64_t random = n;

	for (;;) {
		uint64_t pivot;
		size_t larger = low, at = low, smaller = high;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		pivot = values[low + (random >> 32) % (high - low)];
		/* Larger values first, then equal ones, then smaller ones. */
		while (at < smaller) {
			uint64_t v = values[at];

			if (v > pivot) {
				values[at++] = values[larger];
				values[larger++] = v;
			} else if (v < pivot) {
				values[at] = values[--smaller];
				values[smaller] = v;
			} else {
				at++;
			}
		}
		if (k <= larger)
			high = larger;
		else if (k <= smaller)
			return pivot;
		else
			low = smaller;
	}
}

int misra_gries_reserve(struct misra_gries *m, size_t n)
{
	struct item_table table;
	uint64_t *values;
	struct hot_counter *of;

	if (n <= m->capacity)
		return 0;
	of = reallocarray(m->of, n, sizeof(*of));
	if (of)
		m->of = of;
	values = of ? reallocarray(m->values, n, sizeof(*values)) : NULL;
	if (values)
		m->values = values;
	if (!values || item_table_init(&table, n))
		return -ENOMEM;
	item_table_free(&m->table);
	m->table = table;
	m->capacity = n;
	item_table_refill(&m->table, m->of, m->n);
	return 0;
}

/* Returns the k-th largest count. */
static uint64_t kth_count(struct misra_gries *m, size_t k)
{
	for (size_t i = 0; i < m->n; i++)
		m->values[i] = m->of[i].count;
	return select_kth(m->values, m->n, k);
}

/* Subtracts from all counts, and frees counters that reach 0. With the k-th largest count, at least
 * k + 1 of 2 k are free then. */
static void subtract(struct misra_gries *m, uint64_t by)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (m->of[i].count <= by)
			continue;
		m->of[n] = m->of[i];
		m->of[n++].count -= by;
	}
	m->n = n;
	m->offset += by;
	item_table_refill(&m->table, m->of, n);
}

void misra_gries_shrink(struct misra_gries *m)
{
	uint64_t by, most = m->total / m->k;

	if (m->n <= 2 * m->k || m->offset >= most)
		return;
	by = kth_count(m, 2 * m->k + 1);
	subtract(m, by < most - m->offset ? by : most - m->offset);
}

/* Adds to a count. N has the weight already, or gets it later. */
static void add_count(struct misra_gries *m, uint64_t item, uint64_t weight)
{
	uint32_t at = item_table_find(&m->table, m->of, item);

	if (at != UINT32_MAX) {
		m->of[at].count += weight;
		return;
	}
	if (m->n == m->capacity)
		subtract(m, kth_count(m, m->k));
	m->of[m->n] = (struct hot_counter){.item = item, .count = weight, .error = m->offset};
	item_table_add(&m->table, m->of, m->n++);
}

/* Adds to N. */
static int add_total(struct misra_gries *m, uint64_t weight)
{
	if (__builtin_add_overflow(m->total, weight, &m->total)) {
		m->total -= weight;
		return -EOVERFLOW;
	}
	return 0;
}

int misra_gries_add(struct misra_gries *m, uint64_t item, uint64_t weight)
{
	int r = weight ? add_total(m, weight) : 0;

	if (!r && weight)
		add_count(m, item, weight);
	return r;
}

int misra_gries_begin(struct misra_gries *m, uint64_t total, uint64_t offset)
{
	m->n = 0;
	m->total = total;
	m->offset = offset;
	item_table_refill(&m->table, m->of, 0);
	return offset <= total ? 0 : -EINVAL;
}

int misra_gries_restore(struct misra_gries *m, uint64_t item, uint64_t low, uint64_t error)
{
	uint64_t high;

	if (error > m->offset || __builtin_add_overflow(low, error, &high) || high <= m->offset ||
	    m->n == m->capacity || item_table_find(&m->table, m->of, item) != UINT32_MAX)
		return -EINVAL;
	m->of[m->n] = (struct hot_counter){item, high - m->offset, error};
	item_table_add(&m->table, m->of, m->n++);
	return 0;
}

/*
 * Adds what another summary says of an item. missing: the bound of what that summary does not count
 * of items that it does not have. All errors contain it already. An item that is new here may have
 * had up to the offset before.
 */
static void merge_count(struct misra_gries *m, struct hot_counter c, uint64_t missing)
{
	uint32_t at = item_table_find(&m->table, m->of, c.item);

	if (at != UINT32_MAX)
		m->of[at].error -= missing - c.error;
	add_count(m, c.item, c.count);
	if (at == UINT32_MAX)
		m->of[m->n - 1].error += c.error;
}

int misra_gries_merge(struct misra_gries *m, const struct misra_gries *from)
{
	int r = from->k < m->k ? -EINVAL : add_total(m, from->total);

	for (size_t i = 0; i < m->n && !r; i++)
		m->of[i].error += from->offset;
	for (size_t i = 0; i < from->n && !r; i++)
		merge_count(m, from->of[i], from->offset);
	if (!r)
		m->offset += from->offset;
	return r;
}

uint64_t misra_gries_low(const struct misra_gries *m, uint64_t item)
{
	uint32_t at = item_table_find(&m->table, m->of, item);

	return at == UINT32_MAX ? 0 : m->of[at].count + m->offset - m->of[at].error;
}

uint64_t misra_gries_error(const struct misra_gries *m, uint64_t item)
{
	uint32_t at = item_table_find(&m->table, m->of, item);

	return at == UINT32_MAX ? m->offset : m->of[at].error;
}

uint64_t misra_gries_high(const struct misra_gries *m, uint64_t item)
{
	return misra_gries_low(m, item) + misra_gries_error(m, item);
}
