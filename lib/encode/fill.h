/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Steps that fill slots by the numbering: see pipeline.c. */
#ifndef PCCE_ENCODE_FILL_H
#define PCCE_ENCODE_FILL_H

#include "encode/pipeline.h"

/*
 * Decides who sets the id at the start of a segment. A function that can be entered from outside
 * sets it itself, since the id has no meaning there. For all others the push site clears it.
 */
int fill_find_setters(struct pipeline *p, struct error *why);
/* Fills the slots of sites in a copy of the image, and describes the sites for the table. */
int fill_sites(struct pipeline *p, struct error *why);
/* Fills entry slots there, and leads sites past them. */
int fill_entries(struct pipeline *p, struct error *why);

#endif
