/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The stage of a stream that collects names: of functions, files, modules and threads. */
#ifndef PCCE_STREAM_NAMES_H
#define PCCE_STREAM_NAMES_H

#include "stream/recording.h"
#include "stream/sample_streams.h"
#include "symbols/symbol_table.h"

struct recording_names {
	struct stream stream;
	struct symbol_table *names;
	struct sample_streams *streams; /* in the order of their first samples */
};

extern const struct stream_ops recording_names_ops;

/* After the last record. 0 or -ENOMEM. */
int recording_names_finish(struct recording_names *n, const struct recording *r);

#endif
