/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tells when samples begin and end, for formats that draw time. A sample of a wait was taken at its
 * end, and its weight tells to one period how long it was. Other samples take no time, nor do waits
 * of a thread that pcce-merge joined from several, because they overlap.
 */
#ifndef PCCE_FORMAT_SAMPLE_SPANS_H
#define PCCE_FORMAT_SAMPLE_SPANS_H

#include "profile/profile.h"

struct sample_span {
	uint64_t begin, end; /* ns, CLOCK_MONOTONIC */
};

struct sample_spans {
	const struct profile *p;
	uint64_t *periods; /* by event: ns of one unit of weight of waits; 0: it has no waits */
	uint64_t first;	   /* before all spans */
	struct sample_span *list;
};

/* 0 or -ENOMEM. */
int sample_spans_new(const struct profile *p, struct sample_spans *s);
void sample_spans_free(struct sample_spans *s);

/* Fills s->list with the spans of a thread's samples, which are sorted by time. */
void sample_spans_fill(struct sample_spans *s, const uint32_t *samples, size_t n);

/* Whether a function of the kernel with this name is the reason for a wait. */
bool sample_spans_is_reason(const char *name);

#endif
