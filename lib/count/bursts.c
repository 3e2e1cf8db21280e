/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Turns the counting on and off: see bursts.h. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/sorted.h"
#include "count/bursts.h"

#define NS_PER_SECOND 1000000000ULL
#define LEAST 10000 /* ns: below, the sleeps of the recorder last longer */

#define LOG 65536 /* bursts that are remembered */

struct burst {
	uint64_t on, off; /* ns; off: UINT64_MAX while it lasts */
};

struct burst_driver {
	struct count_bursts bursts;
	struct pcce_count_area *area;
	pthread_t thread;
	int stop; /* an eventfd that is written to end the thread */
	bool on;
	uint64_t edge, last; /* ns: the next change is due; the last burst began */
	struct burst_times times;
	pthread_mutex_t lock;  /* of log */
	uint64_t n_log;	       /* bursts so far */
	struct burst log[LOG]; /* burst number i is at i % LOG */
};

static int not_bursts(struct error *why, const char *text, const char *what)
{
	return error_set(why, -EINVAL, "'%s' %s", text, what);
}

/* Parses a time, and returns what follows; NULL: it is none. */
static const char *parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double n = strtod(text, &end);

	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(end, units[i].name, length) || !(n > 0) || n * units[i].ns > 1e18)
			continue;
		*ns = (uint64_t)llround(n * units[i].ns);
		return end + length;
	}
	return NULL;
}

/* Parses ",adaptive[=RATIO]", or nothing. */
static bool parse_adaptive(const char *text, uint64_t *every)
{
	static const char word[] = ",adaptive";
	double ratio = 0;
	char *end;

	*every = 0;
	if (!*text)
		return true;
	if (strncmp(text, word, strlen(word)))
		return false;
	text += strlen(word);
	*every = COUNT_BURSTS_EVERY;
	if (!*text)
		return true;
	if (*text == '=')
		ratio = strtod(text + 1, &end);
	if (!(ratio >= 1e-6 && ratio <= 0.5) || *end)
		return false;
	*every = (uint64_t)llround(1 / ratio);
	return true;
}

int count_bursts_parse(const char *text, struct count_bursts *out, struct error *why)
{
	const char *end = parse_time(text, &out->length);

	if (!end || *end != '/')
		return not_bursts(why, text, "is not LENGTH/INTERVAL, such as 2ms/20ms");
	end = parse_time(end + 1, &out->interval);
	if (!end || (*end && *end != ','))
		return not_bursts(why, text,
				  "has an INTERVAL that is not a number with us, ms or s");
	if (!parse_adaptive(end, &out->every))
		return not_bursts(why, text,
				  "has an end that is not adaptive=RATIO, from 0.000001 to 0.5");
	if (out->length < LEAST)
		return not_bursts(why, text, "has a LENGTH below 10us");
	if (out->interval < out->length + LEAST)
		return not_bursts(why, text, "has an INTERVAL that is not 10us above LENGTH");
	return 0;
}

/* A burst has a number, which is not 0. The log begins before the burst and ends behind it: the
 * thread may be late between the clock and the flag. */
static void turn_on(struct burst_driver *d, uint64_t now)
{
	uint32_t number = (uint32_t)++d->times.n;

	pthread_mutex_lock(&d->lock);
	d->log[d->n_log++ % LOG] = (struct burst){clock_ns(CLOCK_MONOTONIC), UINT64_MAX};
	__atomic_store_n(&d->area->burst, number ? number : 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&d->lock);
	d->on = true;
	d->last = now;
	d->edge = now + d->bursts.length;
}

static void turn_off(struct burst_driver *d, uint64_t now)
{
	pthread_mutex_lock(&d->lock);
	__atomic_store_n(&d->area->burst, 0, __ATOMIC_RELEASE);
	d->log[(d->n_log - 1) % LOG].off = clock_ns(CLOCK_MONOTONIC);
	pthread_mutex_unlock(&d->lock);
	d->on = false;
	d->times.counted += now - d->last;
	d->edge = d->last + d->bursts.interval;
}

bool burst_driver_was_on(struct burst_driver *d, uint64_t time)
{
	uint64_t low, high;
	bool on;

	pthread_mutex_lock(&d->lock);
	/* The last burst that began before: number high - 1. */
	low = d->n_log < LOG ? 0 : d->n_log - LOG;
	high = low + SORTED_COUNT(i, d->n_log - low, d->log[(low + i) % LOG].on <= time);
	on = high > low && time < d->log[(high - 1) % LOG].off;
	pthread_mutex_unlock(&d->lock);
	return on;
}

/* Sleeps. Returns false if the driver must end, and sets the time. */
static bool pause_driver(const struct burst_driver *d, uint64_t ns, uint64_t *now)
{
	struct pollfd stop = {.fd = d->stop, .events = POLLIN};
	struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_SECOND),
			     .tv_nsec = (long)(ns % NS_PER_SECOND)};
	int n = ppoll(&stop, 1, &t, NULL);

	*now = clock_ns(CLOCK_MONOTONIC);
	return n <= 0;
}

/*
 * The first burst begins with the first counted call. Before, the program may be loaded for longer
 * than bursts last. Nothing says when that call comes, so this looks often at first, and then less.
 * Returns false if the driver must end before.
 */
static bool await_call(const struct burst_driver *d, uint64_t *now)
{
	uint64_t begun = *now;

	while (!__atomic_load_n(&d->area->n_threads, __ATOMIC_RELAXED)) {
		uint64_t ns = d->bursts.length / 4 + (*now - begun) / 16;

		if (!pause_driver(d, ns < d->bursts.interval ? ns : d->bursts.interval, now))
			return false;
	}
	return true;
}

static void *drive(void *arg)
{
	struct burst_driver *d = arg;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), begun = now;

	/* Sleeps that are 0.05 ms longer would be too long. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	turn_on(d, now);
	if (await_call(d, &now)) {
		begun = d->last = now;
		d->edge = now + d->bursts.length;
	}
	while (pause_driver(d, d->edge > now ? d->edge - now : 0, &now)) {
		if (now < d->edge)
			continue;
		if (d->on)
			turn_off(d, now);
		else
			turn_on(d, now);
	}
	if (d->on)
		turn_off(d, now);
	d->times.all = now - begun;
	return NULL;
}

struct burst_driver *burst_driver_start(const struct count_bursts *bursts,
					struct pcce_count_area *area)
{
	struct burst_driver *d = calloc(1, sizeof(*d));
	sigset_t all, before;
	int err;

	if (!d)
		return NULL;
	d->bursts = *bursts;
	d->area = area;
	pthread_mutex_init(&d->lock, NULL);
	d->stop = eventfd(0, EFD_CLOEXEC);
	/* Signals are for the recorder's own thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = d->stop < 0 ? -errno : pthread_create(&d->thread, NULL, drive, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		return d;
	if (d->stop >= 0)
		close(d->stop);
	free(d);
	return NULL;
}

void burst_driver_stop(struct burst_driver *d, struct burst_times *out)
{
	if (!d)
		return;
	eventfd_write(d->stop, 1);
	pthread_join(d->thread, NULL);
	*out = d->times;
	close(d->stop);
	free(d);
}
