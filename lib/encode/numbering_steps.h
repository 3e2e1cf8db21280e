/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The steps of the numbering, in the order of their work:
 *
 *   numbering_weight.c   how often each site is executed, estimated for the whole program
 *   numbering_cycles.c   which sites are back edges
 *   numbering_ranges.c   the ranges of ids, and which sites are cut where they overflow
 *
 * Each returns 0 or -ENOMEM; numbering_ranges() also -E2BIG, see most_cuts.
 */
#ifndef PCCE_ENCODE_NUMBERING_STEPS_H
#define PCCE_ENCODE_NUMBERING_STEPS_H

#include "encode/numbering_graph.h"

int numbering_weigh(struct numbering_work *w);
int numbering_break_cycles(struct numbering_work *w);
int numbering_ranges(struct numbering_work *w);

#endif
