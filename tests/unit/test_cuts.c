/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests which calls the numbering cuts if a profile tells what is hot. test_numbering.c tests that
 * the numbering is correct, with random profiles too.
 */
#include "tests/unit/tap.h"
#include "numbering/numbering.h"

/*
 * Each function of a ladder calls the next one twice: 2^90 contexts. The compiler takes the first
 * call for hot and a profile knows that the second one is, or nearly never was the function of
 * every 20th level entered. What is hot must not be cut. The cuts must be elsewhere.
 */
static void test_profile(bool by_samples, const char *name)
{
	enum { LEVELS = 90 };
	struct numbering_site sites[2 * LEVELS];
	uint64_t samples[2 * LEVELS], entry_count[LEVELS + 1] = {2};
	uint8_t root[LEVELS + 1] = {1};
	struct numbering_graph g = {.n_funcs = LEVELS + 1,
				    .n_sites = 2 * LEVELS,
				    .root = root,
				    .sites = sites,
				    .samples = by_samples ? samples : NULL,
				    .entry_count = by_samples ? NULL : entry_count};
	struct numbering n;
	uint32_t wrong = 0;
	bool good;

	for (uint32_t i = 0; i < LEVELS; i++) {
		sites[2 * i] = (struct numbering_site){i, i + 1, 0, 1024 * 50};
		sites[2 * i + 1] = (struct numbering_site){i, i + 1, 0, 1024};
		samples[2 * i] = 0;
		samples[2 * i + 1] = 1000;
		entry_count[i + 1] = i % 20 == 13 ? 1 : 100000;
	}
	good = !numbering_compute(&g, NULL, &n) && n.largest_id < 1ull << 31;
	for (uint32_t i = 0; good && i < 2 * LEVELS; i++)
		if (n.cut[i] && (by_samples ? i % 2 : i / 2 % 20 != 14))
			wrong++;
	tap_ok(good && n.n_cut && !wrong, name, "%u cuts, %u of what is hot", n.n_cut, wrong);
	numbering_free(&n);
}

/*
 * A helper is called often by main, and never by the end of a long ladder. If that call is cut, the
 * helper becomes a root, and the hot call needs an addition. So the cut must be further up.
 */
static void test_cold_caller(void)
{
	enum { LEVELS = 60, HELPER = LEVELS + 1, SITES = 2 * LEVELS + 2 };
	struct numbering_site sites[SITES];
	uint64_t samples[SITES] = {};
	uint8_t root[HELPER + 1] = {1};
	struct numbering_graph g = {.n_funcs = HELPER + 1,
				    .n_sites = SITES,
				    .root = root,
				    .sites = sites,
				    .samples = samples};
	struct numbering n;
	bool good;

	for (uint32_t i = 0; i < 2 * LEVELS; i++)
		sites[i] = (struct numbering_site){i / 2, i / 2 + 1, 0, 1024};
	sites[SITES - 2] = (struct numbering_site){LEVELS, HELPER, 0, 1024};
	sites[SITES - 1] = (struct numbering_site){0, HELPER, 0, 1024};
	samples[SITES - 1] = 1000000;
	good = !numbering_compute(&g, NULL, &n) && n.largest_id < 1ull << 31;
	tap_ok(good && n.n_cut && !n.root[HELPER] && n.kind[SITES - 1] == NUMBERED_VALUE &&
		       n.value[SITES - 1] == 0,
	       "a cold call of a hot function is not cut, but the way to it", "%u cuts", n.n_cut);
	numbering_free(&n);
}

static void test_lost_count(void)
{
	struct numbering n;

	/* A call whose count the compiler has lost; its callee was entered often. */
	static const struct numbering_site lost[] = {
		{0, 1, 0, 1024 * 1000}, {1, 2, 0, 0}, {0, 2, 0, 1024}};
	static const uint64_t lost_count[] = {2, 1001, 1001};
	const struct numbering_graph inconsistent = {.n_funcs = 3,
						     .n_sites = 3,
						     .root = (const uint8_t[]){1, 0, 0},
						     .sites = lost,
						     .entry_count = lost_count};

	tap_ok(!numbering_compute(&inconsistent, NULL, &n) && n.value[1] == 0 && n.value[2],
	       "entries of a function show a call without a count", " ");
	numbering_free(&n);
}

int main(void)
{
	test_profile(true, "for small ids, a profile of samples is cut where it is cold");
	test_profile(false, "so is one of the compiler");
	test_cold_caller();
	test_lost_count();
	return tap_done();
}
