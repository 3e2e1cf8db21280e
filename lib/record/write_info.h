/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes how a recording was made: when, where, of what command, with which sampler and events. */
#ifndef PCCE_RECORD_WRITE_INFO_H
#define PCCE_RECORD_WRITE_INFO_H

#include "record/record.h"
#include "sampler/sampler.h"

/* 0, or the error of the stream. */
int write_info(struct stream *to, const struct record_options *o,
	       const struct sampler_config *config, const struct sampler_ops *ops);

#endif
