/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the counting of samples in places (pcce/places.h). */
#ifndef PCCE_COUNT_H
#define PCCE_COUNT_H

#include <pcce/places.h>

#include "session.h"

/* What a record has room for, beside PCCE_KMOD_RECORD_MAX. */
static inline u32 pcce_count_room(const struct pcce_kmod_setup *config)
{
	return config->flags & PCCE_KMOD_COUNT ? sizeof(struct pcce_claim) : 0;
}

/*
 * For the handler, in a session with COUNT: returns true if the sample with these entries is
 * counted. Otherwise it has to be sent. Sets the sample's field event, and claim->place, which is
 * PCCE_NO_PLACE if the sample claims none.
 */
bool pcce_count_sample(const struct pcce_session *s, struct pcce_cpu *c, struct pcce_sample *sample,
		       const struct pcce_entry *entries, struct pcce_claim *claim);

#endif
