/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Takes out samples that only carry segments (PCCE_SAMPLE_CARRIER). The samplers take them when a
 * thread leaves its CPU, since they cannot read its segments when the wait is over.
 */
#ifndef PCCE_FILTER_CARRIERS_H
#define PCCE_FILTER_CARRIERS_H

#include "stream/stack_store.h"
#include "stream/stream.h"

/* stacks: gives the other samples the segments that carriers have brought; NULL: a later stage does
 * so. It must outlive the stage, and a stage before fills it. NULL: no memory. */
struct stream *carriers_new(struct stack_store *stacks);

#endif
