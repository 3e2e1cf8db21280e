/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Replaces the copy of the stack that a sample brings by the frames that are restored from it
 * (pcce-record --frames). Without a restorer, it removes the copy.
 */
#ifndef PCCE_FILTER_FRAMES_H
#define PCCE_FILTER_FRAMES_H

#include "filter/restorer.h"
#include "sampler/sampler.h"

struct frames_config {
	enum sampler_copy which; /* of which samples frames are restored */
	const struct reuse_ops *reuse;
};

/* All must outlive it. The stage before it keeps the spaces, which only a restorer needs. NULL: no
 * memory. */
struct stream *frames_new(const struct frames_config *config, const struct record_modules *m,
			  struct address_spaces *spaces, const struct active_sampler *sampler);

#endif
