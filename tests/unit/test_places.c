/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests the reader of the places in which a sampler counts (sampler/places.h). A simulated
 * sampler counts, claims places and writes records at random, also between the steps of the reader.
 * At the end, each state must have the samples and the weight that it had. In a second run, the
 * reader refuses states, some time later. Only these may be counted.
 */
#include <stdlib.h>
#include <string.h>

#include "sampler/places.h"
#include "tests/unit/tap.h"

#define CPUS 2
#define NUMBER 4 /* places of a CPU */
#define STATES 12
#define STEPS 300000
#define RING 64 /* records */

struct record {
	struct pcce_claim claim;
	struct pcce_sample sample; /* id: its state */
};

static struct pcce_place places[CPUS * NUMBER]; /* as the sampler writes them */
static uint32_t refused[CPUS * NUMBER];
static struct pcce_address addresses[PCCE_ADDRESSES];
static struct record ring[CPUS][RING];
static uint32_t head[CPUS], tail[CPUS];
static int holder[CPUS * NUMBER];  /* state, as the sampler knows */
static int claimed[CPUS * NUMBER]; /* state, as the reader knows */
static struct sums {
	uint64_t samples, weight;
} truth[STATES], got[STATES];
static uint64_t times[CPUS * NUMBER];
static uint64_t seed = 7, now = 1000, wrong_times, wrong_parts;

/* Of SAMPLER_COUNT_REFUSED: */
static bool refusing;
static struct {
	uint32_t place, claim;
} decided[RING];
static unsigned int n_decided;
static uint64_t counted, wrongly_counted;

static bool is_refused(int state)
{
	return state % 2;
}

static uint32_t any(uint32_t n)
{
	return tap_random(&seed) % n;
}

static uint32_t any_weight(void)
{
	return any(50) ? 1 + any(3) : UINT32_MAX - any(3);
}

/* What pcce/places.h does with a sample. */
static void take_sample(void)
{
	int cpu = (int)any(CPUS), state = (int)any(STATES);
	uint32_t weight = any_weight();
	struct record *r;

	state = any(3) ? state % 3 : state;
	if (head[cpu] - tail[cpu] == RING) /* lost */
		return;
	truth[state].samples++;
	truth[state].weight += weight;
	now += any(5);
	now -= any(50) ? 0 : 20; /* the clocks of CPUs are not as exact */
	for (int i = cpu * NUMBER; i < (cpu + 1) * NUMBER; i++) {
		if (holder[i] != state || !any(20))
			continue;
		if (refusing && refused[i] != places[i].claims + 1)
			continue;
		counted++;
		wrongly_counted += refusing && !is_refused(state);
		places[i].seq++;
		places[i].samples++;
		places[i].weight += weight;
		places[i].last = now;
		places[i].seq++;
		return;
	}
	r = &ring[cpu][head[cpu]++ % RING];
	*r = (struct record){
		.claim = {.place = PCCE_NO_PLACE},
		.sample = {.time = now,
			   .id = (uint64_t)state,
			   .weight = weight,
			   .cpu = (uint32_t)cpu},
	};
	if (any(2)) {
		uint32_t i = any(NUMBER);
		struct pcce_place *p = &places[cpu * NUMBER + (int)i];

		p->claims = (p->claims + 1) % PCCE_CLAIMS;
		r->claim = (struct pcce_claim){p->weight, p->last, p->samples,
					       p->claims << PCCE_CLAIM_SHIFT | i};
		holder[cpu * NUMBER + (int)i] = state;
	}
}

/* What belongs to a place must be in its order. */
static void take_time(uint32_t place, uint64_t time)
{
	wrong_times += time < times[place];
	times[place] = time;
}

static int add_counted(void *ctx, uint64_t time, uint32_t place, uint64_t samples, uint64_t weight)
{
	(void)ctx;
	take_time(place, time);
	got[claimed[place]].samples += samples;
	got[claimed[place]].weight += weight;
	wrong_parts += !samples || weight > samples * UINT32_MAX || weight < samples;
	return 0;
}

/* The reader is late. */
static void refuse_some(struct places *p, bool all)
{
	while (n_decided && (all || any(3))) {
		n_decided--;
		places_refuse(p, decided[n_decided].place, decided[n_decided].claim);
	}
}

static void decide(struct places *p, int state, const struct sampler_counting *c)
{
	if (!refusing || !is_refused(state))
		return;
	if (n_decided == RING)
		refuse_some(p, true);
	decided[n_decided].place = c->place;
	decided[n_decided++].claim = c->claim;
}

static int read_ring(struct places *p, int cpu)
{
	int err = 0;

	/* The sampler goes on. */
	for (uint32_t end = head[cpu]; tail[cpu] != end && !err; tail[cpu]++) {
		struct record *r = &ring[cpu][tail[cpu] % RING];
		struct sampler_counting c;

		err = places_claim(p, &r->sample, &r->claim, add_counted, NULL, &c);
		got[r->sample.id].samples++;
		got[r->sample.id].weight += r->sample.weight;
		if (c.place != PCCE_NO_PLACE) {
			take_time(c.place, c.time);
			claimed[c.place] = (int)r->sample.id;
			decide(p, claimed[c.place], &c);
		}
		if (!any(4))
			take_sample();
	}
	return err;
}

static int read_all(struct places *p, bool look)
{
	int err = 0;

	refuse_some(p, false);
	if (look)
		places_look(p);
	for (uint32_t n = look ? any(3) : 0; n; n--)
		take_sample();
	for (int cpu = 0; cpu < CPUS && !err; cpu++)
		err = read_ring(p, cpu);
	return look && !err ? places_take(p, add_counted, NULL) : err;
}

/* Runs both. Then the sampler stops, and all is read. Returns how many states have wrong sums. */
static int run_both(struct places *p, int *err)
{
	int wrong = 0;

	for (int i = 0; i < STEPS && !*err; i++) {
		if (any(8))
			take_sample();
		else
			*err = read_all(p, any(2));
	}
	for (int i = 0; i < 20 && !*err; i++)
		*err = read_all(p, true);
	places_look(p);
	for (int cpu = 0; cpu < CPUS && !*err; cpu++)
		for (; tail[cpu] != head[cpu] && !*err;)
			*err = read_ring(p, cpu);
	places_look(p);
	*err = *err ? *err : places_take(p, add_counted, NULL);
	for (int i = 0; i < STATES; i++)
		wrong += truth[i].samples != got[i].samples || truth[i].weight != got[i].weight;
	return wrong;
}

static void test_counts(struct places *p)
{
	int err = 0, wrong;

	memset(holder, -1, sizeof(holder));
	wrong = run_both(p, &err);
	tap_ok(!err && !wrong, "each state has its samples and weights", "error %d, %d states", err,
	       wrong);
	tap_ok(truth[0].samples > 1000 && truth[STATES - 1].samples > 1000, "there are many",
	       "%llu", (unsigned long long)truth[0].samples);
	tap_ok(!wrong_times, "times are in order", "%llu are not", (unsigned long long)wrong_times);
	tap_ok(!wrong_parts, "weights are possible", "%llu are not",
	       (unsigned long long)wrong_parts);
}

static void test_refusals(struct places *p)
{
	int err = 0, wrong;

	refusing = true;
	counted = 0;
	wrong = run_both(p, &err);
	tap_ok(!err && !wrong, "refused: each state has its samples and weights",
	       "error %d, %d states", err, wrong);
	tap_ok(counted > 1000, "refused: the sampler counts", "%llu", (unsigned long long)counted);
	tap_ok(!wrongly_counted, "others are not counted", "%llu are",
	       (unsigned long long)wrongly_counted);
}

static void test_classes(struct places *p)
{
	unsigned int known = 0, odd = 0;

	tap_ok(!places_has_class(p, 1, 0x1000, 0), "at first there are no classes", " ");
	places_set_class(p, 1, 0x1000, 0x800, 5);
	tap_ok(places_has_class(p, 1, 0x1000, 5), "a class is known", " ");
	tap_ok(!places_has_class(p, 1, 0x1000, 6) && !places_has_class(p, 2, 0x1000, 5),
	       "in its epoch and its process only", " ");
	places_set_class(p, 1, 0x1000, 0x900, 6);
	tap_ok(places_has_class(p, 1, 0x1000, 6) && !places_has_class(p, 1, 0x1000, 5),
	       "a later one replaces it", " ");
	places_set_class(p, 2, 0x1000, 0x800, 5);
	places_forget_classes(p, 1);
	tap_ok(!places_has_class(p, 1, 0x1000, 6) && places_has_class(p, 2, 0x1000, 5),
	       "those of one process are forgotten", " ");
	/* More than have a place. */
	for (uint64_t a = 0; a < 2 * PCCE_ADDRESSES; a++)
		places_set_class(p, 3, a, a + 1, 1);
	for (uint64_t a = 0; a < 2 * PCCE_ADDRESSES; a++)
		known += places_has_class(p, 3, a, 1);
	for (uint32_t i = 0; i < PCCE_ADDRESSES; i++)
		odd += addresses[i].seq & 1;
	tap_ok(known > PCCE_ADDRESSES / 2 && known <= PCCE_ADDRESSES && !odd,
	       "the array keeps as many as it can", "%u of %u", known, PCCE_ADDRESSES);
}

/* The number of a refused claim can be in the place itself. */
static void test_refusal_in_place(void)
{
	struct places_memory m = {.places = places,
				  .refused = &places->refused,
				  .refused_step = sizeof(*places) / sizeof(uint32_t),
				  .addresses = addresses};
	struct places *p = places_new(&m, CPUS, NUMBER);

	if (!p)
		abort();
	places_refuse(p, 3, 77);
	tap_ok(places[3].refused == 78 && !places[2].refused && !places[4].refused,
	       "a refusal in its place", "%u", places[3].refused);
	places_free(p);
}

int main(void)
{
	struct places_memory m = {
		.places = places, .refused = refused, .refused_step = 1, .addresses = addresses};
	struct places *p = places_new(&m, CPUS, NUMBER);

	if (!p)
		return 1;
	tap_ok(places_number(1, 1) == PCCE_PLACES_MIN && places_number(2, 100) == 64 &&
		       places_number(2, 1000000) == PCCE_PLACES_MAX &&
		       places_number(512, 1000000) < PCCE_PLACES_MAX,
	       "the number of places", " ");
	test_counts(p);
	test_refusals(p);
	test_classes(p);
	test_refusal_in_place();
	places_free(p);
	return tap_done();
}
