/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the places of a sampler, refuses their states, and writes its array of addresses. For each
 * place it keeps how much of the counters is delivered. */
#include <errno.h>
#include <stdlib.h>

#include "sampler/places.h"

#define ALL_MAX (4ull << 20) /* for the places of all CPUs: each look reads them */
#define TRIES 100
#define PIDS (1u << 16)

struct counted {
	/* What is delivered; and the time of the claim or of the last delivery. */
	uint64_t weight, time;
	uint32_t samples;
	bool claimed;
	/* What places_look() found: */
	uint32_t now_samples;
	uint64_t now_weight, now_time;
};

struct places {
	struct places_memory memory;
	int cpus;
	uint32_t number;
	struct counted *counted;
	bool has_classes[PIDS]; /* processes whose pid is this modulo PIDS */
};

uint32_t places_number(int cpus, uint64_t wanted)
{
	uint32_t n = PCCE_PLACES_MAX;

	while (n > PCCE_PLACES_MIN &&
	       (n > wanted || n * sizeof(struct pcce_place) * (unsigned)cpus > ALL_MAX))
		n /= 2;
	return n;
}

struct places *places_new(const struct places_memory *memory, int cpus, uint32_t number)
{
	struct places *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->memory = *memory;
	p->cpus = cpus;
	p->number = number;
	p->counted = calloc((size_t)cpus * number, sizeof(*p->counted));
	if (p->counted)
		return p;
	free(p);
	return NULL;
}

void places_free(struct places *p)
{
	if (!p)
		return;
	free(p->counted);
	free(p);
}

/* ---- counters ----------------------------------------------------------------------- */

/* False if the sampler counts just now. */
static bool read_counters(const struct pcce_place *place, struct counted *c)
{
	uint32_t seq = __atomic_load_n(&place->seq, __ATOMIC_ACQUIRE);
	uint64_t weight = __atomic_load_n(&place->weight, __ATOMIC_RELAXED);
	uint64_t last = __atomic_load_n(&place->last, __ATOMIC_RELAXED);
	uint32_t samples = __atomic_load_n(&place->samples, __ATOMIC_RELAXED);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (seq & 1 || __atomic_load_n(&place->seq, __ATOMIC_RELAXED) != seq)
		return false;
	c->now_weight = weight;
	c->now_time = last;
	c->now_samples = samples;
	return true;
}

void places_look(struct places *p)
{
	for (size_t i = 0; i < (size_t)p->cpus * p->number; i++) {
		/* If it fails, what was found the last time is still true. */
		for (int tries = 0;
		     tries < TRIES && !read_counters(&p->memory.places[i], &p->counted[i]); tries++)
			;
	}
}

/* Delivers what the counters have beyond what was delivered. */
static int deliver_counts(struct places *p, size_t i, uint32_t samples, uint64_t weight,
			  uint64_t time, places_sink *sink, void *ctx)
{
	struct counted *c = &p->counted[i];
	uint32_t n = samples - c->samples;
	uint64_t sum = weight - c->weight;

	if (time > c->time)
		c->time = time;
	c->samples = samples;
	c->weight = weight;
	return n ? sink(ctx, c->time, (uint32_t)i, n, sum) : 0;
}

int places_claim(struct places *p, const struct pcce_sample *s, const struct pcce_claim *claim,
		 places_sink *sink, void *ctx, struct sampler_counting *counting)
{
	struct counted *c;
	uint32_t place;
	size_t i;
	int err;

	*counting = (struct sampler_counting){
		.time = s->time, .place = PCCE_NO_PLACE, .epoch = s->event};
	if (!claim || claim->place == PCCE_NO_PLACE)
		return 0;
	place = claim->place & ((1u << PCCE_CLAIM_SHIFT) - 1);
	i = (size_t)s->cpu * p->number + place;
	if (place >= p->number || s->cpu >= (uint32_t)p->cpus)
		return -EPROTO;
	c = &p->counted[i];
	if (!c->claimed && claim->samples)
		return -EPROTO;
	err = deliver_counts(p, i, claim->samples, claim->weight,
			     claim->last < s->time ? claim->last : s->time, sink, ctx);
	/* The sampler's clock may go back by a moment. */
	if (s->time > c->time)
		c->time = s->time;
	c->claimed = true;
	counting->time = c->time;
	counting->place = (uint32_t)i;
	counting->claim = claim->place >> PCCE_CLAIM_SHIFT;
	return err;
}

int places_take(struct places *p, places_sink *sink, void *ctx)
{
	int err = 0;

	for (size_t i = 0; i < (size_t)p->cpus * p->number && !err; i++) {
		struct counted *c = &p->counted[i];

		/* If nothing is beyond, or the claim came later. */
		if ((int32_t)(c->now_samples - c->samples) <= 0)
			continue;
		err = deliver_counts(p, i, c->now_samples, c->now_weight, c->now_time, sink, ctx);
	}
	return err;
}

void places_refuse(struct places *p, uint32_t place, uint32_t claim)
{
	__atomic_store_n(&p->memory.refused[(size_t)place * p->memory.refused_step], claim + 1,
			 __ATOMIC_RELAXED);
}

/* ---- classes ------------------------------------------------------------------------ */

static bool is_address(const struct pcce_address *a, uint32_t pid, uint64_t address)
{
	return a->address == address && a->pid == pid;
}

bool places_has_class(const struct places *p, uint32_t pid, uint64_t address, uint32_t epoch)
{
	const struct pcce_address *a = &p->memory.addresses[pcce_address_index(pid, address)];

	for (int i = 0; i < 2; i++)
		if (is_address(&a[i], pid, address) && a[i].epoch == epoch)
			return a[i].class;
	return false;
}

static void write_class(struct pcce_address *a, uint32_t pid, uint64_t address, uint64_t class,
			uint32_t epoch)
{
	uint32_t seq = a->seq;

	__atomic_store_n(&a->seq, seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&a->pid, pid, __ATOMIC_RELAXED);
	__atomic_store_n(&a->address, address, __ATOMIC_RELAXED);
	__atomic_store_n(&a->class, class, __ATOMIC_RELAXED);
	__atomic_store_n(&a->epoch, epoch, __ATOMIC_RELAXED);
	__atomic_store_n(&a->seq, seq + 2, __ATOMIC_RELEASE);
}

void places_set_class(struct places *p, uint32_t pid, uint64_t address, uint64_t class,
		      uint32_t epoch)
{
	struct pcce_address *a = &p->memory.addresses[pcce_address_index(pid, address)];

	/* An older class of the address, or a free element, or the one that was written longer
	 * ago. */
	if (!is_address(a, pid, address) &&
	    (is_address(a + 1, pid, address) || (a->class && (!a[1].class || a[1].seq < a->seq))))
		a++;
	p->has_classes[pid % PIDS] = true;
	write_class(a, pid, address, class, epoch);
}

void places_forget_classes(struct places *p, uint32_t pid)
{
	if (!p->has_classes[pid % PIDS])
		return;
	for (uint32_t i = 0; i < PCCE_ADDRESSES; i++)
		if (p->memory.addresses[i].pid == pid && p->memory.addresses[i].class)
			write_class(&p->memory.addresses[i], pid, p->memory.addresses[i].address, 0,
				    0);
}
