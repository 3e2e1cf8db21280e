/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Allocates lazy priority queues. */
#include <errno.h>
#include <stdlib.h>
#include "hot/lazy_queue.h"

int lazy_queue_init(struct lazy_queue *q, size_t n)
{
	*q = (struct lazy_queue){.counts = calloc(n, sizeof(*q->counts)), .n = n};
	return q->counts ? 0 : -ENOMEM;
}

void lazy_queue_free(struct lazy_queue *q)
{
	free(q->counts);
	*q = (struct lazy_queue){0};
}
