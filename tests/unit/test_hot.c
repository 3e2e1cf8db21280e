/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests lib/hot against exact counts: a million short random streams, and long ones made by an
 * adversary. Each summary must keep its bounds after each stream: no item above phi N is missing,
 * and no count errs by more than it says. tests/e2e/hcct.sh and lossy.sh test the counting engines.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "hot/misra_gries.h"
#include "hot/parameters.h"
#include "tests/unit/tap.h"

#define ITEMS 4096
#define STREAMS 1000000 /* in the long form */

struct event {
	uint64_t item, weight;
};

static uint64_t state = 0x1234567887654321;

static uint64_t truth[ITEMS], sum; /* exact counts of a stream */

static void count_exactly(const struct event *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		truth[events[i].item] += events[i].weight;
		sum += events[i].weight;
	}
}

static void forget(size_t items)
{
	memset(truth, 0, items * sizeof(*truth));
	sum = 0;
}

static uint64_t permitted(double epsilon)
{
	return (long double)epsilon * sum;
}

/* ---- what each summary says of an item --------------------------------------------- */

static const char *judge_bounds(const struct misra_gries *m, size_t items, double epsilon)
{
	uint64_t low = 0;

	if (m->total != sum)
		return "N";
	if (m->offset > permitted(epsilon))
		return "the offset is above epsilon N";
	for (size_t i = 0; i < items; i++) {
		if (truth[i] < misra_gries_low(m, i) || truth[i] > misra_gries_high(m, i))
			return "a count is out of its bounds";
		if (misra_gries_error(m, i) > m->offset)
			return "an error is above the offset";
		low += misra_gries_low(m, i);
	}
	return low > sum ? "more is counted than there is" : NULL;
}

static const char *judge_misra_gries(const struct misra_gries *m, size_t items, double epsilon)
{
	const char *wrong = judge_bounds(m, items, epsilon);
	uint64_t all = 0;

	if (wrong)
		return wrong;
	for (size_t i = 0; i < m->n; i++)
		all += m->of[i].count;
	return all + m->k * m->offset <= sum ? NULL : "more was subtracted than N pays for";
}

/* Whether all items above phi N are in the answers. */
static bool hot_are_found(const struct misra_gries *m, size_t items, double epsilon, double phi)
{
	uint64_t least = hot_threshold(phi, sum);

	/* In short streams, phi N and epsilon N are less than 1 apart. */
	for (size_t i = 0; i < items; i++)
		if (truth[i] >= least && truth[i] > permitted(epsilon) &&
		    misra_gries_high(m, i) < least)
			return false;
	return true;
}

/* ---- streams ----------------------------------------------------------------------- */

/* Makes the same summary again from what a file would say of it. */
static int copy_by_bounds(struct misra_gries *to, const struct misra_gries *from)
{
	int r = misra_gries_begin(to, from->total, from->offset);

	for (size_t i = 0; i < from->n; i++)
		r |= misra_gries_restore(to, from->of[i].item,
					 misra_gries_low(from, from->of[i].item),
					 from->of[i].error);
	return r;
}

/* Lossy Counting of items below ITEMS. An item without a count has no counter. */
struct lossy {
	uint64_t count[ITEMS], error[ITEMS];
	uint64_t total, pruned;
	size_t fresh; /* new counters since the last removal */
};

static void lossy_add(struct lossy *l, size_t items, double epsilon, const struct event *e)
{
	if (e->weight && !l->count[e->item]) {
		if (l->fresh++ == hot_counters(epsilon)) {
			l->pruned = (long double)epsilon * l->total;
			l->fresh = 1;
			for (size_t i = 0; i < items; i++)
				if (l->count[i] + l->error[i] <= l->pruned)
					l->count[i] = 0;
		}
		l->error[e->item] = l->pruned;
	}
	l->count[e->item] += e->weight;
	l->total += e->weight;
}

/* Adds a summary of Lossy Counting as the recorder does. */
static int merge_lossy(struct misra_gries *to, const struct lossy *l, size_t items, double epsilon)
{
	struct misra_gries part;
	int r = misra_gries_init(&part, epsilon);

	r |= misra_gries_reserve(&part, items);
	r |= misra_gries_begin(&part, l->total, l->pruned);
	for (size_t i = 0; i < items; i++)
		if (l->count[i] && l->count[i] + l->error[i] > l->pruned)
			r |= misra_gries_restore(&part, i, l->count[i], l->error[i]);
	r |= misra_gries_reserve(to, to->n + part.n);
	r |= misra_gries_merge(to, &part);
	misra_gries_free(&part);
	return r;
}

/* Adds the summaries of Lossy Counting of three parts of a stream, which is in truth already. */
static const char *try_lossy_parts(const struct event *events, size_t n, size_t items,
				   double epsilon)
{
	struct misra_gries all;
	const char *wrong;
	int r = misra_gries_init(&all, epsilon);

	for (size_t part = 0; part < 3; part++) {
		static struct lossy l;

		memset(l.count, 0, items * sizeof(*l.count));
		l.total = l.pruned = l.fresh = 0;
		for (size_t i = part; i < n; i += 3)
			lossy_add(&l, items, epsilon, &events[i]);
		r |= merge_lossy(&all, &l, items, epsilon);
	}
	wrong = r ? "an addition failed" : judge_bounds(&all, items, epsilon);
	misra_gries_shrink(&all);
	wrong = wrong ? wrong : judge_bounds(&all, items, epsilon);
	if (!wrong && all.n > 2 * all.k && all.offset < all.total / all.k)
		wrong = "more than 2 / epsilon counters are left";
	misra_gries_free(&all);
	return wrong;
}

/* Feeds a stream to each summary in turn, half of it to summaries that are merged then. Returns
 * what is wrong, NULL: nothing. */
static const char *try_stream(const struct event *events, size_t n, size_t items, double epsilon,
			      double phi)
{
	struct misra_gries m, half, copy, both;
	const char *wrong = NULL;
	int r = 0;

	if (misra_gries_init(&m, epsilon) || misra_gries_init(&half, epsilon) ||
	    misra_gries_init(&copy, epsilon) || misra_gries_init(&both, epsilon))
		return "no memory";
	for (size_t i = 0; i < n; i++) {
		const struct event *e = &events[i];

		r |= misra_gries_add(&m, e->item, e->weight);
		r |= misra_gries_add(i < n / 2 ? &both : &half, e->item, e->weight);
	}
	r |= copy_by_bounds(&copy, &half);
	r |= misra_gries_merge(&both, tap_random(&state) % 2 ? &half : &copy);
	count_exactly(events, n);
	if (r)
		wrong = "an addition failed";
	wrong = wrong ? wrong : judge_misra_gries(&m, items, epsilon);
	wrong = wrong ? wrong : judge_misra_gries(&both, items, epsilon);
	if (!wrong &&
	    (!hot_are_found(&m, items, epsilon, phi) || !hot_are_found(&both, items, epsilon, phi)))
		wrong = "a hot item is missing";
	wrong = wrong ? wrong : try_lossy_parts(events, n, items, epsilon);
	misra_gries_free(&m);
	misra_gries_free(&half);
	misra_gries_free(&copy);
	misra_gries_free(&both);
	forget(items);
	return wrong;
}

/* Short streams over few items, with few counters: each has many evictions and ties. */
static void test_random_streams(void)
{
	struct event events[64];
	const char *wrong = NULL;
	uint64_t streams = 0, n_streams = tap_rounds(STREAMS);

	for (; streams < n_streams && !wrong; streams++) {
		size_t n = 1 + tap_random(&state) % 48, items = 1 + tap_random(&state) % 24;
		uint32_t k = 1 + tap_random(&state) % 8, heavy = tap_random(&state) % 4;
		double epsilon = 1.0 / (k + 0.5), phi = epsilon * 1.25;

		for (size_t i = 0; i < n; i++) {
			uint32_t a = tap_random(&state) % items, b = tap_random(&state) % items;

			events[i].item = heavy & 1 ? a * b / items : a;
			events[i].weight =
				heavy & 2 ? 1 + (tap_random(&state) >> (tap_random(&state) % 32))
					  : 1;
		}
		wrong = try_stream(events, n, items, epsilon, phi < 1 ? phi : 1);
	}
	tap_ok(!wrong, "random streams: all bounds hold", "stream %llu: %s",
	       (unsigned long long)streams, wrong);
}

enum adversary { UNIFORM, ROUND_ROBIN, SHIFTING, GIANT, GROWING, LATE, ADVERSARIES };
static const char *const adversary_names[] = {
	"all items equally frequent",
	"each item in turn",
	"a hot set that changes",
	"one giant weight among many small ones",
	"weights that grow with the stream",
	"items that come at the end only",
};

static struct event adversary_event(enum adversary kind, size_t i, size_t n)
{
	uint32_t random = tap_random(&state) % ITEMS;

	switch (kind) {
	case UNIFORM:
		return (struct event){random, 1};
	case ROUND_ROBIN:
		return (struct event){i % ITEMS, 1};
	case SHIFTING:
		return (struct event){
			tap_random(&state) % 2 ? (i * 40 / n * 10 + i % 10) % ITEMS : random, 1};
	case GIANT:
		return i == n / 2 ? (struct event){random, 1ull << 60} : (struct event){random, 1};
	case GROWING:
		return (struct event){random, 1 + (uint64_t)i * i};
	default:
		return (struct event){i < n - n / 8 ? random / 2 : ITEMS / 2 + random / 512, 1};
	}
}

static void test_adversaries(void)
{
	const size_t n = tap_rounds(400000);
	struct event *events = malloc(n * sizeof(*events));

	for (int kind = 0; kind < ADVERSARIES; kind++) {
		const char *wrong = NULL;

		for (size_t i = 0; i < n; i++)
			events[i] = adversary_event(kind, i, n);
		for (double epsilon = 0.1; epsilon > 0.001 && !wrong; epsilon /= 3)
			wrong = try_stream(events, n, ITEMS, epsilon, 5 * epsilon);
		tap_ok(!wrong, adversary_names[kind], "%s", wrong);
	}
	free(events);
}

/* ---- merging many ------------------------------------------------------------------ */

static void test_many_merges(void)
{
	struct misra_gries all, part;
	const char *wrong;
	int r = misra_gries_init(&all, 0.01);

	for (int i = 0; i < 200; i++) {
		r |= misra_gries_init(&part, 0.01);
		for (int k = 0; k < 5000; k++) {
			struct event e = {tap_random(&state) % ITEMS, 1 + k % 7};

			if (k % 3 == 0)
				e.item = i % 5;
			r |= misra_gries_add(&part, e.item, e.weight);
			count_exactly(&e, 1);
		}
		r |= misra_gries_merge(&all, &part);
		misra_gries_free(&part);
	}
	wrong = judge_misra_gries(&all, ITEMS, 0.01);
	tap_ok(!r && !wrong, "the bound remains through 200 merges", "%d, %s", r, wrong);
	tap_ok(all.n <= 2 * all.k, "and so does the size", "%zu counters", all.n);
	misra_gries_init(&part, 0.02);
	tap_ok(misra_gries_merge(&all, &part) == -EINVAL, "a coarser summary is refused",
	       "it is not");
	misra_gries_free(&part);
	misra_gries_free(&all);
	forget(ITEMS);
}

static void test_limits(void)
{
	struct misra_gries m;

	misra_gries_init(&m, 0.1);
	misra_gries_add(&m, 1, UINT64_MAX - 1);
	tap_ok(misra_gries_add(&m, 2, 2) == -EOVERFLOW &&
		       misra_gries_low(&m, 1) == UINT64_MAX - 1 && !misra_gries_high(&m, 2) &&
		       m.total == UINT64_MAX - 1,
	       "Misra-Gries refuses what overflows", "it does not");
	misra_gries_free(&m);
}

/* ---- parameters -------------------------------------------------------------------- */

static void test_parameters(void)
{
	static const char *const bad[] = {"",		"x",	   "0",	    "-1",	 "1.5",
					  "nan",	"inf",	   "0.1,",  "0.1,0.1",	 "0.1,0.2",
					  "0.1,0",	"0.1,nan", "0.1,x", "0.1,0.05x", "0.1;0.05",
					  "1e-9,1e-10", "0.1,-1"};
	struct hot_parameters p = {0};
	struct error why;
	size_t refused = 0;

	tap_ok(!hot_parameters_parse("1e-4", &p, &why) && p.phi == 1e-4 && p.epsilon == 1e-4 / 5,
	       "epsilon is phi / 5 by default", "it is %g", p.epsilon);
	tap_ok(!hot_parameters_parse("0.5,0.25", &p, &why) && p.phi == 0.5 && p.epsilon == 0.25,
	       "both can be given", "%g, %g", p.phi, p.epsilon);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*why.text = 0;
		if (hot_parameters_parse(bad[i], &p, &why) == -EINVAL && *why.text)
			refused++;
		else
			printf("# taken: %s\n", bad[i]);
	}
	tap_ok(refused == sizeof(bad) / sizeof(bad[0]), "all others are refused, with a reason",
	       "%zu are", refused);
	tap_ok(hot_threshold(0.1, 581) == 58 && hot_threshold(0.1, 5) == 1 &&
		       hot_threshold(1, UINT64_MAX) == UINT64_MAX,
	       "phi N is rounded down, but not to 0", "%llu",
	       (unsigned long long)hot_threshold(0.1, 581));
}

int main(void)
{
	test_parameters();
	test_limits();
	test_many_merges();
	test_adversaries();
	test_random_streams();
	return tap_done();
}
