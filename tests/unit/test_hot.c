/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests lib/hot against exact counts: millions of short random streams, and long ones made by an
 * adversary. Each summary must keep its bounds after each stream: no item above phi N is missing,
 * and no count errs by more than it says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "hot/lossy_counting.h"
#include "hot/misra_gries.h"
#include "hot/monitored_tree.h"
#include "hot/parameters.h"
#include "hot/space_saving.h"
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

/* Checks space_saving.h's promises; returns what is wrong. */
static const char *judge_space_saving(struct space_saving *s, size_t items, double epsilon)
{
	uint64_t min = space_saving_min(s), all = 0;

	if (s->total != sum)
		return "N";
	if (min > permitted(epsilon))
		return "the smallest counter is above epsilon N";
	for (size_t i = 0; i < items; i++) {
		uint32_t at = item_table_find(&s->table, s->of, i);
		struct hot_counter c;

		if (at == UINT32_MAX) {
			if (truth[i] > min)
				return "an item without a counter is above the smallest one";
			continue;
		}
		c = space_saving_counter(s, at);
		all += c.count;
		if (c.item != i || c.error > permitted(epsilon) || truth[i] > c.count ||
		    truth[i] < c.count - c.error)
			return "a count is out of its bounds";
	}
	return all == sum ? NULL : "the counters do not sum up to N";
}

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

static const char *judge_lossy_counting(const struct lossy_counting *l, size_t items,
					double epsilon)
{
	if (l->total != sum)
		return "N";
	if (l->pruned > permitted(epsilon))
		return "what was removed is above epsilon N";
	for (size_t i = 0; i < items; i++) {
		uint32_t at = item_table_find(&l->table, l->of, i);

		if (at == UINT32_MAX) {
			if (truth[i] > l->pruned)
				return "an item without a counter is above what was removed";
			continue;
		}
		if (l->of[at].error > permitted(epsilon) || truth[i] < l->of[at].count ||
		    truth[i] > l->of[at].count + l->of[at].error)
			return "a count is out of its bounds";
	}
	return NULL;
}

/* Whether all items above phi N are in the answers of all summaries. */
static bool hot_are_found(struct space_saving *s, const struct misra_gries *m,
			  const struct lossy_counting *l, size_t items, double epsilon, double phi)
{
	uint64_t least = hot_threshold(phi, sum);

	for (size_t i = 0; i < items; i++) {
		uint32_t at = item_table_find(&s->table, s->of, i),
			 lossy = item_table_find(&l->table, l->of, i);

		/* In short streams, phi N and epsilon N are less than 1 apart. */
		if (truth[i] < least || truth[i] <= permitted(epsilon))
			continue;
		if (at == UINT32_MAX || space_saving_counter(s, at).count < least ||
		    misra_gries_high(m, i) < least || lossy == UINT32_MAX ||
		    l->of[lossy].count + l->of[lossy].error < least)
			return false;
	}
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

/* Adds a summary of Lossy Counting as the recorder does. */
static int add_lossy(struct misra_gries *to, const struct lossy_counting *l)
{
	struct misra_gries part;
	int r = misra_gries_init(&part, l->epsilon);

	r |= misra_gries_reserve(&part, l->n);
	r |= misra_gries_begin(&part, l->total, l->pruned);
	for (size_t i = 0; i < l->n; i++)
		if (l->of[i].count + l->of[i].error > l->pruned)
			r |= misra_gries_restore(&part, l->of[i].item, l->of[i].count,
						 l->of[i].error);
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
		struct lossy_counting l;

		r |= lossy_counting_init(&l, epsilon);
		for (size_t i = part; i < n; i += 3)
			r |= lossy_counting_add(&l, events[i].item, events[i].weight);
		r |= add_lossy(&all, &l);
		lossy_counting_free(&l);
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
	struct space_saving s, second;
	struct misra_gries m, half, copy, both;
	struct lossy_counting l;
	const char *wrong = NULL;
	int r = 0;

	if (space_saving_init(&s, epsilon) || space_saving_init(&second, epsilon) ||
	    misra_gries_init(&m, epsilon) || misra_gries_init(&half, epsilon) ||
	    misra_gries_init(&copy, epsilon) || misra_gries_init(&both, epsilon) ||
	    lossy_counting_init(&l, epsilon))
		return "no memory";
	for (size_t i = 0; i < n; i++) {
		const struct event *e = &events[i];

		r |= space_saving_add(&s, e->item, e->weight);
		r |= misra_gries_add(&m, e->item, e->weight);
		r |= lossy_counting_add(&l, e->item, e->weight);
		if (i < n / 3)
			r |= misra_gries_add(&both, e->item, e->weight);
		else if (i < 2 * n / 3)
			r |= misra_gries_add(&half, e->item, e->weight);
		else
			r |= space_saving_add(&second, e->item, e->weight);
	}
	r |= copy_by_bounds(&copy, &half);
	r |= misra_gries_merge(&both, tap_random(&state) % 2 ? &half : &copy);
	r |= misra_gries_merge_space_saving(&both, &second);
	count_exactly(events, n);
	if (r)
		wrong = "an addition failed";
	wrong = wrong ? wrong : judge_space_saving(&s, items, epsilon);
	wrong = wrong ? wrong : judge_misra_gries(&m, items, epsilon);
	wrong = wrong ? wrong : judge_lossy_counting(&l, items, epsilon);
	wrong = wrong ? wrong : judge_misra_gries(&both, items, epsilon);
	if (!wrong && (!hot_are_found(&s, &m, &l, items, epsilon, phi) ||
		       !hot_are_found(&s, &both, &l, items, epsilon, phi)))
		wrong = "a hot item is missing";
	wrong = wrong ? wrong : try_lossy_parts(events, n, items, epsilon);
	space_saving_free(&s);
	space_saving_free(&second);
	misra_gries_free(&m);
	misra_gries_free(&half);
	misra_gries_free(&copy);
	misra_gries_free(&both);
	lossy_counting_free(&l);
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
	struct space_saving s;
	struct lossy_counting l;

	misra_gries_init(&m, 0.1);
	space_saving_init(&s, 0.1);
	lossy_counting_init(&l, 0.1);
	misra_gries_add(&m, 1, UINT64_MAX - 1);
	space_saving_add(&s, 1, UINT64_MAX - 1);
	lossy_counting_add(&l, 1, UINT64_MAX - 1);
	tap_ok(misra_gries_add(&m, 2, 2) == -EOVERFLOW &&
		       misra_gries_low(&m, 1) == UINT64_MAX - 1 && !misra_gries_high(&m, 2) &&
		       m.total == UINT64_MAX - 1,
	       "Misra-Gries refuses what overflows", "it does not");
	tap_ok(space_saving_add(&s, 2, 2) == -EOVERFLOW && s.n == 1 && s.total == UINT64_MAX - 1,
	       "so does Space Saving", "it does not");
	tap_ok(lossy_counting_add(&l, 2, 2) == -EOVERFLOW && l.n == 1 && l.total == UINT64_MAX - 1,
	       "so does Lossy Counting", "it does not");
	misra_gries_free(&m);
	space_saving_free(&s);
	lossy_counting_free(&l);
}

/* ---- the tree ---------------------------------------------------------------------- */

#define KEYS 5
#define CONTEXTS 200000

/* The exact calling context tree, and its nodes in the monitored tree. */
struct exact {
	uint32_t child[KEYS];
	uint32_t image;
	uint64_t count;
};

static struct exact exact[CONTEXTS];
static uint32_t n_exact;

/* Finds the image of each context by its path. */
static void map_contexts(const struct monitored_tree *t, uint32_t *mapped)
{
	exact[0].image = 0;
	*mapped = 1;
	/* A child has a higher number than its parent. */
	for (uint32_t i = 1; i < n_exact; i++)
		exact[i].image = UINT32_MAX;
	for (uint32_t i = 0; i < n_exact; i++) {
		if (exact[i].image == UINT32_MAX)
			continue;
		for (uint32_t c = t->nodes[exact[i].image].child; c; c = t->nodes[c].next) {
			exact[exact[i].child[t->nodes[c].key]].image = c;
			++*mapped;
		}
	}
}

static const char *judge_tree(struct monitored_tree *t, double epsilon, double phi)
{
	uint64_t least = hot_threshold(phi, t->total), most = epsilon * t->total;
	uint8_t *marks = monitored_tree_mark(t, phi);
	const char *wrong = NULL;
	uint32_t mapped;

	map_contexts(t, &mapped);
	if (mapped != t->live)
		wrong = "removed nodes are linked, or nodes are lost";
	for (uint32_t i = 1; i < n_exact && !wrong; i++) {
		uint32_t node = exact[i].image;
		bool hot_child = false;

		if (node == UINT32_MAX) {
			if (exact[i].count > most)
				wrong = "a context above epsilon N is not in the tree";
			continue;
		}
		if (exact[i].count < monitored_tree_low(t, node) ||
		    exact[i].count > monitored_tree_high(t, node) ||
		    monitored_tree_high(t, node) - monitored_tree_low(t, node) > most)
			wrong = "a count is out of its bounds";
		if (exact[i].count >= least && marks[node] != MONITORED_HOT)
			wrong = "a hot context is not marked";
		if (marks[node] == MONITORED_HOT && exact[i].count + most < least)
			wrong = "a context below (phi - epsilon) N is marked";
		if (!t->nodes[node].child && !t->nodes[node].counter && node != t->cursor)
			wrong = "a leaf is not monitored";
		for (uint32_t c = t->nodes[node].child; c; c = t->nodes[c].next)
			hot_child |= marks[c] != MONITORED_NOT;
		if (marks[node] != MONITORED_HOT && (marks[node] == MONITORED_COLD) != hot_child)
			wrong = "the HCCT has other nodes than hot ones and their callers";
	}
	free(marks);
	return wrong;
}

/* Runs a random program: calls, returns, and calls that repeat. */
static const char *try_program(size_t calls, double epsilon, uint32_t skew, uint64_t *evictions)
{
	static uint32_t path[64];
	struct monitored_tree t;
	const char *wrong = NULL;
	size_t depth = 0;
	int r = monitored_tree_init(&t, epsilon);

	memset(exact, 0, sizeof(*exact) * (n_exact ? n_exact : 1));
	n_exact = 1;
	for (size_t i = 0; i < calls && !r; i++) {
		uint32_t key = tap_random(&state) % KEYS, *child;

		while (depth && (depth > 12 || tap_random(&state) % 8 < 4)) {
			monitored_tree_leave(&t);
			depth--;
		}
		if (tap_random(&state) % 8 < skew)
			key = 0;
		child = &exact[path[depth]].child[key];
		if (!*child) {
			if (n_exact == CONTEXTS)
				break;
			exact[n_exact] = (struct exact){0};
			*child = n_exact++;
		}
		path[++depth] = *child;
		exact[*child].count++;
		r = monitored_tree_go(&t, key);
		r = r ? r : monitored_tree_count(&t, 1);
	}
	wrong = r ? "no memory" : judge_tree(&t, epsilon, epsilon * 5 < 1 ? epsilon * 5 : 1);
	*evictions += n_exact > t.live;
	monitored_tree_free(&t);
	return wrong;
}

static void test_trees(void)
{
	const char *wrong = NULL;
	uint64_t evictions = 0, programs = 0, n_programs = tap_rounds(20000);

	for (; programs < n_programs && !wrong; programs++)
		wrong = try_program(1 + tap_random(&state) % 300,
				    1.0 / (2 + tap_random(&state) % 30), programs % 9, &evictions);
	tap_ok(!wrong, "random programs: the tree keeps its bounds", "program %llu: %s",
	       (unsigned long long)programs, wrong);
	tap_ok(evictions > n_programs / 2, "most of them evict contexts", "%llu do",
	       (unsigned long long)evictions);
	evictions = 0;
	for (uint32_t skew = 0; skew < 8 && !wrong; skew++)
		wrong = try_program(300000, 0.001, skew, &evictions);
	tap_ok(!wrong && evictions == 8, "long programs, too", "%s, %llu evict", wrong,
	       (unsigned long long)evictions);
}

/* ---- the rest ---------------------------------------------------------------------- */

static void test_queue(void)
{
	struct lazy_queue q;
	uint64_t wrong = 0;

	lazy_queue_init(&q, 50);
	for (int i = 0; i < 200000; i++) {
		uint64_t least = UINT64_MAX;
		size_t at = lazy_queue_min(&q);

		for (size_t k = 0; k < q.n; k++)
			least = q.counts[k] < least ? q.counts[k] : least;
		wrong += q.counts[at] != least;
		q.counts[i % 3 ? at : tap_random(&state) % q.n] +=
			i < 100000 ? 1 : 1 + tap_random(&state) % 5;
	}
	lazy_queue_free(&q);
	tap_ok(!wrong, "the lazy queue finds the minimum", "%llu times not",
	       (unsigned long long)wrong);
}

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
	test_queue();
	test_limits();
	test_many_merges();
	test_adversaries();
	test_trees();
	test_random_streams();
	return tap_done();
}
