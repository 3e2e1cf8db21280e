// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes what the C library does without a call that another interposed function sees: _Fork(),
 * and the threads that timer_create() makes for SIGEV_THREAD. Not in static executables, where the
 * C library's own functions would be missing.
 *
 * Each expiration of such a timer is a new thread of the C library, which calls the program's
 * function. The timer gets begin_notified() in place of that function. Its argument leads to the
 * function and its argument. Timers with equal ones share them, so a place is never given back. If
 * all places are taken, threads of a timer have no samples, which is counted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include "internal.h"
#include "interpose/next.h"
#include "interpose/own.h"

#define PLACES 512

struct notified {
	void (*function)(union sigval);
	union sigval value;
};

static struct notified places[PLACES];
static unsigned int n_places;
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

pid_t pcce_own__Fork(void)
{
	static void *found;
	pid_t (*real)(void) = (pid_t(*)(void))next_function(&found, NULL, "_Fork", NULL);
	pid_t pid;

	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	pid = real();
	if (pid == 0)
		pcce_after_raw_fork();
	return pid;
}

PUBLIC_NAME(_Fork, _Fork);

static void begin_notified(union sigval to)
{
	const struct notified *n = to.sival_ptr;

	pcce_thread_begin();
	n->function(n->value);
}

/* NULL if there is no place left. */
static struct notified *place_for(const struct sigevent *event)
{
	struct notified *n = places, *end;

	pthread_mutex_lock(&places_lock);
	end = places + n_places;
	while (n < end && (n->function != event->sigev_notify_function ||
			   n->value.sival_ptr != event->sigev_value.sival_ptr))
		n++;
	if (n == end && n_places < PLACES) {
		n->function = event->sigev_notify_function;
		n->value = event->sigev_value;
		n_places++;
	} else if (n == end) {
		n = NULL;
	}
	pthread_mutex_unlock(&places_lock);
	return n;
}

int pcce_own_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	static void *found;
	int (*real)(clockid_t, struct sigevent *, timer_t *) =
		(int (*)(clockid_t, struct sigevent *, timer_t *))next_function(
			&found, NULL, "timer_create", NULL);
	struct sigevent with_place;
	struct notified *n;

	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	if (!event || event->sigev_notify != SIGEV_THREAD || !pcce_runtime_init())
		return real(clock, event, timer);
	n = place_for(event);
	if (!n) {
		self_count_unseen();
		return real(clock, event, timer);
	}
	with_place = *event;
	with_place.sigev_notify_function = begin_notified;
	with_place.sigev_value.sival_ptr = n;
	return real(clock, &with_place, timer);
}

PUBLIC_NAME(timer_create, timer_create);
