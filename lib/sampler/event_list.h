/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the list of events that -e names: "cpu-clock,page-faults/period=10/,cycles:u". */
#ifndef PCCE_SAMPLER_EVENT_LIST_H
#define PCCE_SAMPLER_EVENT_LIST_H

#include "sampler/sampler.h"

/* The largest numbers of samples a second, and of events between samples, of an event. */
#define EVENT_FREQUENCY_MAX 1000000
#define EVENT_PERIOD_MAX INT64_MAX
#define EVENT_BYTES_MAX (1ULL << 40) /* between samples of allocations */

struct event_list {
	struct sampler_event of[SAMPLER_EVENTS];
	uint32_t n;
};

/* Adds the events of an argument of -e. 0, or -errno with a whole sentence in why. */
int event_list_add(struct event_list *l, const char *arg, struct error *why);

/* Gives a rate to the events that have none of their own. If both numbers are 0, rare events are
 * all sampled, and the others with a frequency of 999 Hz. */
void event_list_set_rates(struct event_list *l, uint64_t frequency, uint64_t period);

/* If the list is that of allocations, adds what a recording of them also has: what is live at the
 * end, what was live at the peak, and what was temporary. */
void event_list_complete(struct event_list *l);

#endif
