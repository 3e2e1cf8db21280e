/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts what comes of each event of a recording: samples taken, left out and lost. At the end, it
 * writes how many were due. What is neither taken, nor left out, nor merged, nor in the kernel, nor
 * lost for a known reason is lost without one.
 */
#ifndef PCCE_FILTER_ACCOUNTS_H
#define PCCE_FILTER_ACCOUNTS_H

#include "sampler/sampler.h"

#define ACCOUNTS SAMPLER_EVENTS /* at least two */

/* What the records of earlier windows have told, or those of one window. */
struct event_told {
	uint64_t samples, left_out, lost, merged, kernel;
};

/* What became of the samples of one event. With --count and samples beside it, the calls are the
 * first event. */
struct event_account {
	uint64_t samples, left_out, lost;
	uint64_t outside;			  /* of samples */
	uint64_t lost_reasons[PCCE_LOSS_MAX + 1]; /* of lost, by enum pcce_loss */
	struct sampler_due due;			  /* after the end */
	struct event_told told;
};

struct accounts {
	struct stream stream;
	const struct active_sampler *sampler;
	struct event_account of[ACCOUNTS];
	uint32_t n;
	struct event_told
		ended;	  /* samples and losses of the window that has ended, of all events */
	uint64_t threads; /* at least as many as there were */
};

/* n: events of the recording. NULL: no memory. */
struct accounts *accounts_new(const struct active_sampler *sampler, uint32_t n);

#endif
