/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ends a stream in pcce.data: writes what comes as records. */
#ifndef PCCE_STREAM_EVENT_WRITER_H
#define PCCE_STREAM_EVENT_WRITER_H

#include "stream/stream.h"
#include "stream/writer.h"

/* The writer must outlive it. NULL: no memory. An error is that of the writer: -EBADMSG for events
 * that no reader would accept. */
struct stream *event_writer_new(struct datafile_writer *w);

#endif
