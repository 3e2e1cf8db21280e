/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the steps of the numbering, in their order:
 *
 *   weight.c   estimates how often each site is executed in the whole program
 *   cycles.c   chooses the back edges
 *   limit.c    chooses the limit of ids, and runs the next two steps
 *   anchors.c  cuts sites so that ids stay small, if that takes many cuts
 *   ranges.c   assigns the ranges of ids, and cuts sites where they overflow
 *
 * Each returns 0 or -ENOMEM. numbering_ranges() also returns -E2BIG: see most_cuts.
 */
#ifndef PCCE_NUMBERING_STEPS_H
#define PCCE_NUMBERING_STEPS_H

#include "numbering/graph.h"

int numbering_weigh(struct numbering_work *w);
int numbering_break_cycles(struct numbering_work *w);
int numbering_limit(struct numbering_work *w);
/* hot_first: keeps the hottest sites, however many others are cut. */
int numbering_anchors(struct numbering_work *w, uint64_t limit, bool hot_first);
int numbering_ranges(struct numbering_work *w);

#endif
