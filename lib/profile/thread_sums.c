/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds up the samples of one thread after the other by context. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "profile/profile_internal.h"

int thread_sums_new(const struct profile *p, struct thread_sums *s)
{
	int r;

	*s = (struct thread_sums){.p = p, .sum = calloc(p->tree.n, sizeof(*s->sum))};
	r = s->sum ? profile_by_thread(p, &s->first, &s->samples) : -ENOMEM;
	/* A thread's nodes overwrite its samples, which are at least as many. */
	s->nodes = s->samples;
	return r;
}

void thread_sums_free(struct thread_sums *s)
{
	free(s->first);
	free(s->samples);
	free(s->sum);
	*s = (struct thread_sums){0};
}

void thread_sums_go(struct thread_sums *s, uint32_t thread)
{
	const struct profile_internals *in = s->p->in;
	size_t begin = s->first[thread], end = s->first[thread + 1], nodes = s->p->tree.n;

	for (size_t i = 0; i < s->n; i++)
		s->sum[s->nodes[i]] = (struct profile_sum){0};
	s->nodes = s->samples + begin;
	s->n = 0;
	for (size_t i = begin; i < end; i++) {
		size_t sample = in->selected ? in->selected[s->samples[i]] : s->samples[i];
		uint32_t node = in->node_of[in->instruction[sample]];
		struct profile_sum one = profile_sum(in, sample), *sum = &s->sum[node];

		if (!sum->samples)
			s->nodes[s->n++] = node;
		sum->samples += one.samples;
		sum->weight += one.weight;
	}
	if (s->n < nodes / 32) {
		qsort(s->nodes, s->n, sizeof(*s->nodes), compare_u32);
		return;
	}
	s->n = 0;
	for (uint32_t node = 0; node < nodes; node++)
		if (s->sum[node].samples)
			s->nodes[s->n++] = node;
}
