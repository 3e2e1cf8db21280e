/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests lib/base/hash_table.h: a table of elements in its slots, and a table of indices, against
 * plain arrays; equal hashes; and what remains when memory runs out.
 */
#include <string.h>
#include "tests/unit/tap.h"
#include "base/hash_table.h"

#define MANY 100000

static bool no_memory;

/* Instead of the library's. */
void *huge_alloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

void huge_free(void *array, size_t n, size_t size)
{
	(void)n;
	(void)size;
	free(array);
}

/* ---- elements in the slots ------------------------------------------------------- */

struct pair {
	uint32_t key; /* 0: free */
	uint32_t value;
};

HASH_TABLE_TYPE(pair_table, struct pair);

static uint64_t hash_number(uint32_t number)
{
	return number * 0x9e3779b97f4a7c15ULL >> 32;
}

HASH_TABLE_FUNCTIONS(pair_table, struct pair, uint32_t, void, s->key, hash_number(s->key),
		     s->key == *key);

static bool add_pair(struct pair_table *t, uint32_t key, uint32_t value)
{
	struct pair *p = pair_table_slot(t, NULL, hash_number(key), &key);

	if (p && !p->key)
		pair_table_fill(t, p, (struct pair){key, value});
	return p;
}

/* How many of the keys 1 to n have the value 3 * key. */
static uint32_t count_good(const struct pair_table *t, uint32_t n)
{
	uint32_t good = 0;

	for (uint32_t key = 1; key <= n; key++) {
		const struct pair *p = pair_table_find(t, NULL, hash_number(key), &key);

		good += p && p->value == 3 * key;
	}
	return good;
}

static void test_pairs(void)
{
	struct pair_table t = {0};
	uint32_t key = 7, none = MANY + 1;
	size_t used = 0;
	bool added = true;

	tap_ok(!pair_table_find(&t, NULL, hash_number(key), &key), "an empty table has nothing",
	       "it has");
	pair_table_prefetch(&t, hash_number(key));
	for (key = 1; key <= MANY; key++)
		added = add_pair(&t, key, 3 * key) && added;
	for (key = 1; key <= MANY; key++)
		added = add_pair(&t, key, 0) && added; /* known: stays as it is */
	tap_ok(added && t.n == MANY, "each key is added once", "%zu elements", t.n);
	tap_ok(count_good(&t, MANY) == MANY, "all are found", "%u are", count_good(&t, MANY));
	tap_ok(!pair_table_find(&t, NULL, hash_number(none), &none), "no other is", "one is");
	for (size_t i = 0; i < t.n_slots; i++)
		used += t.slots[i].key != 0;
	tap_ok(used == MANY, "a walk over the slots meets all", "%zu", used);
	tap_ok(!(t.n_slots & (t.n_slots - 1)) && t.n * 4 <= t.n_slots * 3 &&
		       t.n * 8 > t.n_slots * 3,
	       "the table is between 1/4 and 1/2 full", "%zu of %zu", t.n, t.n_slots);
	pair_table_free(&t);
	tap_ok(!t.slots && !t.n && !t.n_slots, "it is empty afterwards", "%zu elements", t.n);
}

static void test_reserve(void)
{
	struct pair_table t = {0};
	size_t slots;

	tap_ok(!pair_table_reserve(&t, NULL, 1000), "room for 1000", "no memory");
	slots = t.n_slots;
	for (uint32_t key = 1; key <= 1000; key++)
		add_pair(&t, key, 3 * key);
	tap_ok(t.n_slots == slots && count_good(&t, 1000) == 1000, "1000 fit without growing",
	       "%zu slots, then %zu", slots, t.n_slots);
	tap_ok(!pair_table_reserve(&t, NULL, 10) && t.n_slots == slots, "a table never shrinks",
	       "%zu slots, then %zu", slots, t.n_slots);
	pair_table_free(&t);
}

static void test_no_memory(void)
{
	struct pair_table t = {0}, before;
	uint32_t key = 1;

	do
		add_pair(&t, key, 3 * key);
	while (key++ < t.limit);
	before = t;
	no_memory = true;
	tap_ok(!add_pair(&t, key, 3 * key), "no memory for one more element", "there is");
	tap_ok(pair_table_reserve(&t, NULL, MANY) == -ENOMEM, "no memory for many more",
	       "there is");
	no_memory = false;
	tap_ok(!memcmp(&t, &before, sizeof(t)) && count_good(&t, key - 1) == key - 1,
	       "the table is as it was", "%zu elements in %zu slots", t.n, t.n_slots);
	tap_ok(add_pair(&t, key, 3 * key) && count_good(&t, key) == key, "and grows later",
	       "%zu elements in %zu slots", t.n, t.n_slots);
	pair_table_free(&t);
}

/* ---- indices of an array, with bad hashes ---------------------------------------- */

HASH_TABLE_TYPE(name_table, uint32_t);

struct names {
	char list[1000][8];
	uint32_t n;
	uint64_t mask; /* of the hashes */
	struct name_table table;
};

static uint64_t hash_name(const struct names *names, const char *name)
{
	uint64_t h = 0;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0xff51afd7ed558ccdULL;
	return h & names->mask;
}

HASH_TABLE_FUNCTIONS(name_table, uint32_t, char, struct names, *s, hash_name(o, o->list[*s - 1]),
		     !strcmp(o->list[*s - 1], key));

static uint32_t number_name(struct names *names, const char *name)
{
	uint32_t *slot = name_table_slot(&names->table, names, hash_name(names, name), name);

	if (!slot)
		return UINT32_MAX;
	if (!*slot) {
		snprintf(names->list[names->n], sizeof(names->list[0]), "%s", name);
		name_table_fill(&names->table, slot, ++names->n);
	}
	return *slot - 1;
}

static void test_names(uint64_t mask, const char *what)
{
	static struct names names;
	uint32_t good = 0;
	char name[8];

	names = (struct names){.mask = mask};
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "n%u", i);
			good += number_name(&names, name) == i;
		}
	}
	tap_ok(good == 2000 && names.n == 1000, what, "%u of 2000 good, %u names", good, names.n);
	name_table_free(&names.table);
}

int main(void)
{
	test_pairs();
	test_reserve();
	test_no_memory();
	test_names(UINT64_MAX, "names are numbered");
	test_names(0, "names with equal hashes are numbered");
	/* Chains of full slots begin at the end of the table, and go on at its start. */
	test_names(UINT64_MAX << 3, "names whose hashes end in zeros are numbered");
	test_names(0x1ff, "names of 512 hashes are numbered");
	return tap_done();
}
