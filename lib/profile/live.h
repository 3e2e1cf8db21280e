/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes a profile of the samples of the last seconds, while they are taken. It ends the stream of a
 * sampler, as the writer of a recording does.
 *
 * Equal samples of a thread are counted as one state, and a state is decoded once. So what a sample
 * costs is a look into a hash table, however deep its stack is.
 */
#ifndef PCCE_PROFILE_LIVE_H
#define PCCE_PROFILE_LIVE_H

#include "profile/profile.h"
#include "stream/modules.h"

struct live_profile;

struct live_counts { /* since the beginning */
	uint64_t samples, lost;
};

/*
 * window: how many ns of samples the profile has; 0: those since the last turn. select: what
 * live_profile_turn() selects. The modules and select must outlive the profile. NULL: no memory.
 */
struct live_profile *live_profile_new(struct record_modules *m, uint64_t window,
				      const struct selection *select);
void live_profile_free(struct live_profile *l);

/* Returns the end of the stream. It takes samples with the stack below them (filter/state.h). Its
 * function `free` frees the profile. */
struct stream *live_profile_stage(struct live_profile *l);

/* Decodes what has come since the last turn, leaves out what is too old, and selects. All that was
 * read from the profile before is invalid then. 0 or -ENOMEM. */
int live_profile_turn(struct live_profile *l);
/* Returns the profile of the last turn, which is the same struct each time. */
struct profile *live_profile_get(struct live_profile *l);
struct live_counts live_profile_counts(const struct live_profile *l);
/* Returns how many ns the samples of the last turn span. */
uint64_t live_profile_span(const struct live_profile *l);

#endif
