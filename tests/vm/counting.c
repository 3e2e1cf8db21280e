/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests that the module counts samples in places (pcce/places.h): that the ring is quiet once all
 * states have places, that each state has its samples when places change hands, and that only
 * refused states are counted if that is asked for.  Each getppid() is a sample.  At the end another
 * thread writes anything into all that user space may write.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "begin_session.h"
#include "guest.h"
#include "made_page.h"
#include "sampler/kmod_session.h"
#include "sampler/places.h"

#define STATES 7
#define ALL_PLACES (64 * 256) /* of all CPUs, at most */
#define CLASS 0x1234
#define EPOCH 5

struct reader {
	struct kmod_session *k;
	struct pcce_kmod_setup setup;
	struct places_memory memory;
	struct places *places;
	bool tells;	  /* the class of each address */
	uint64_t refuses; /* bit i: the claims of state i */
	uint64_t records, claims, counted;
	uint64_t got[STATES];
	uint32_t pid;
	uint64_t ip;
};

static uint64_t event;
static uint64_t truth[STATES];
static uint64_t claimed[ALL_PLACES]; /* state */

static void begin(struct reader *r, uint32_t flags, uint32_t n_places)
{
	int64_t offset = (int64_t)((char *)&page - (char *)__builtin_thread_pointer());

	*r = (struct reader){.setup = usual_setup()};
	memset(truth, 0, sizeof(truth));
	r->setup.type = PERF_TYPE_TRACEPOINT;
	r->setup.config = event;
	r->setup.rate = 1;
	r->setup.flags = PCCE_KMOD_COUNT | flags;
	r->setup.places = n_places;
	r->setup.ring_bytes = 1 << 20;
	r->k = begin_session(&r->setup, &offset);
	kmod_session_counters(r->k, &r->memory);
	r->places = places_new(&r->memory, (int)r->setup.n_rings, n_places);
	if (!r->places || r->setup.n_rings * n_places > ALL_PLACES)
		abort();
}

static int add_counted(void *ctx, uint64_t time, uint32_t place, uint64_t samples, uint64_t weight)
{
	struct reader *r = ctx;

	(void)time;
	(void)weight;
	r->counted += samples;
	r->got[claimed[place]] += samples;
	return 0;
}

static int add_record(void *ctx, const struct pcce_kmod_record *record, const struct pcce_sample *s,
		      size_t size)
{
	struct reader *r = ctx;
	struct sampler_counting c;
	int err = places_claim(r->places, s, kmod_session_claim(record), add_counted, r, &c);

	(void)size;
	if (err || s->id >= STATES)
		return err ? err : -1;
	r->records++;
	r->got[s->id]++;
	r->pid = s->pid;
	r->ip = s->ip;
	if (r->tells)
		places_set_class(r->places, s->pid, s->ip, CLASS, EPOCH);
	if (c.place == PCCE_NO_PLACE)
		return c.claim ? -1 : 0;
	r->claims++;
	claimed[c.place] = s->id;
	if (r->refuses >> s->id & 1)
		places_refuse(r->places, c.place, c.claim);
	return c.epoch == EPOCH ? 0 : -1;
}

static void read_all(struct reader *r)
{
	int err;

	places_look(r->places);
	err = kmod_session_read(r->k, add_record, r);
	if (!err)
		err = places_take(r->places, add_counted, r);
	if (err)
		expect("the counters and the ring can be read", err, 0);
}

static void points(unsigned int n, uint64_t state)
{
	page.id = state;
	truth[state] += n;
	while (n--)
		syscall(SYS_getppid);
}

static unsigned int wrong_states(const struct reader *r)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < STATES; i++)
		wrong += r->got[i] != truth[i];
	return wrong;
}

/* Ends the session.  It must have counted what its reader knows. */
static void end(struct reader *r, const char *name)
{
	struct pcce_kmod_stats stats = {0};
	uint64_t all = 0;
	long err;

	for (unsigned int i = 0; i < STATES; i++)
		all += truth[i];
	err = kmod_session_stop(r->k);
	read_all(r);
	err = err ? err : kmod_session_stats(r->k, &stats);
	result(!err && !wrong_states(r), "%s: each state has its samples", name);
	result(stats.samples == all && stats.counted == r->counted &&
		       r->records + r->counted == all,
	       "%s: %llu samples, %llu of them counted, %llu claims", name,
	       (unsigned long long)stats.samples, (unsigned long long)stats.counted,
	       (unsigned long long)r->claims);
	places_free(r->places);
	kmod_session_close(r->k);
}

/* ---- the tests ----------------------------------------------------------------------- */

static void quiet_ring(unsigned int below)
{
	struct reader r;
	uint64_t before = 0, records[4];

	make_page(PCCE_SEGMENT_ENTRIES / 2, below, false);
	begin(&r, 0, 64);
	for (int i = 0; i < 4; i++) {
		r.tells = i > 0;
		for (unsigned int state = 0; state < 3; state++)
			points(i == 1 ? 2 : 100, state);
		read_all(&r);
		records[i] = r.records - before;
		before = r.records;
	}
	printf("# records of each round:");
	for (int i = 0; i < 4; i++)
		printf(" %llu", (unsigned long long)records[i]);
	printf("\n");
	result(records[0] == 300, "without a class, all samples are in the ring");
	result(records[2] == 3 && r.claims == 3 && r.counted >= 297,
	       "each state claims a place once");
	for (int i = 0; i < 10; i++)
		points(1000, (uint64_t)i % 3);
	read_all(&r);
	result(r.records == before && records[3] == 0 && r.counted >= 10000,
	       "then %llu samples leave the ring quiet", (unsigned long long)r.counted);
	end(&r, below ? "quiet, deep" : "quiet");
}

static void few_places(void)
{
	struct reader r;
	uint64_t random = 1;

	make_page(3, 0, false);
	begin(&r, 0, PCCE_PLACES_MIN);
	r.tells = true;
	for (int i = 0; i < 3000; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		points(1 + (random >> 40) % 5, (random >> 50) % STATES);
		if (i % 64 == 0)
			read_all(&r);
	}
	read_all(&r);
	result(r.claims > 100 && r.counted > 100, "states take places from each other");
	end(&r, "few places");
}

static void only_refused(void)
{
	struct reader r;
	uint64_t wanted;

	make_page(3, 0, false);
	begin(&r, PCCE_KMOD_COUNT_REFUSED, 256);
	r.tells = true;
	points(1, 0);
	read_all(&r);
	for (unsigned int i = 0; i < 200; i++)
		points(5, i % STATES);
	read_all(&r);
	result(!r.counted && r.claims, "no state is counted before it is refused");
	end(&r, "none refused");

	begin(&r, PCCE_KMOD_COUNT_REFUSED, 256);
	r.tells = true;
	r.refuses = 0x2a;
	for (int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < STATES; i++)
			points(10, i);
		read_all(&r);
	}
	wanted = 0;
	for (unsigned int i = 0; i < STATES; i++)
		if (r.refuses >> i & 1)
			wanted += truth[i];
	result(r.counted > wanted / 2 && r.counted < wanted,
	       "of %llu samples of refused states, %llu are counted", (unsigned long long)wanted,
	       (unsigned long long)r.counted);
	end(&r, "some refused");
}

/* ---- any values -------------------------------------------------------------------- */

static volatile bool enough;
static volatile uint64_t scribbles;

static void *scribble(void *arg)
{
	struct reader *r = arg;
	size_t n = (size_t)r->setup.n_rings * r->setup.places;
	uint64_t random = 7;

	while (!enough) {
		struct pcce_address *a;
		uint32_t *words, place;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* Often 1 + the number of the last claim, which refuses it. */
		place = (uint32_t)(random % n);
		r->memory.refused[place] =
			r->memory.places[place].claims + (uint32_t)(random >> 32 & 3);
		a = &r->memory.addresses[random >> 20 & 1 ? pcce_address_index(r->pid, r->ip)
							  : random % PCCE_ADDRESSES];
		words = (uint32_t *)a;
		words[random >> 30 & 7] = (uint32_t)(random >> 33);
		/* Often the right element. */
		a->address = random >> 40 & 3 ? r->ip : random;
		a->pid = random >> 42 & 3 ? r->pid : (uint32_t)random;
		a->seq &= ~(uint32_t)(random >> 44 & 1);
		scribbles++;
	}
	return NULL;
}

static int drop_record(void *ctx, const struct pcce_kmod_record *record,
		       const struct pcce_sample *s, size_t size)
{
	uint64_t *n = ctx;

	(void)record;
	(void)size;
	*n += s->id >= STATES ? 1000000 : 1;
	return 0;
}

static void any_values(uint32_t flags, const char *name)
{
	struct pcce_kmod_stats stats = {0};
	uint64_t all = 0, records = 0;
	struct reader r;
	pthread_t t;
	int err = 0;

	make_page(5, 0, false);
	begin(&r, flags, 16);
	points(1, 0);
	read_all(&r);
	enough = false;
	if (pthread_create(&t, NULL, scribble, &r))
		abort();
	for (unsigned int i = 0; i < 4000; i++) {
		/* A guest may have one CPU, and the other thread must have its turns. */
		for (uint64_t seen = scribbles; scribbles == seen;)
			sched_yield();
		points(5, i % STATES);
		err |= kmod_session_read(r.k, drop_record, &records);
	}
	enough = true;
	pthread_join(t, NULL);
	kmod_session_stop(r.k);
	err |= kmod_session_read(r.k, drop_record, &records);
	kmod_session_stats(r.k, &stats);
	for (unsigned int i = 0; i < STATES; i++)
		all += truth[i];
	result(!err && stats.counted && stats.samples == all &&
		       records + stats.counted + 1 == stats.samples,
	       "%s: any classes and refusals: each of %llu samples is in the ring or counted "
	       "(%llu)",
	       name, (unsigned long long)all, (unsigned long long)stats.counted);
	places_free(r.places);
	kmod_session_close(r.k);
}

int main(void)
{
	event = tracepoint("syscalls/sys_enter_getppid");
	make_area();
	quiet_ring(0);
	quiet_ring(SEGMENTS);
	few_places();
	only_refused();
	any_values(0, "all");
	any_values(PCCE_KMOD_COUNT_REFUSED, "only refused");
	return 0;
}
