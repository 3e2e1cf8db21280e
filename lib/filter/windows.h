/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ends a stream in several recordings, one for each window of time (pcce-record --switch-output).
 *
 * Each recording is complete by itself. What earlier windows have told is written again when the
 * first sample of a window needs it: a process with its mappings, its modules with their tables,
 * and the name of a thread. So a window has only what its samples use.
 */
#ifndef PCCE_FILTER_WINDOWS_H
#define PCCE_FILTER_WINDOWS_H

#include "stream/address_space.h"
#include "stream/modules.h"
#include "stream/stream.h"
#include "stream/writer.h"

/* An earlier stage keeps the spaces, and one completes samples (carriers.h): both begin a window
 * when this stage does. The writer must outlive it. NULL: no memory. */
struct stream *windows_new(struct datafile_writer *w, const struct record_modules *m,
			   struct address_spaces *spaces);

/* After stream_pass(window): what comes next goes to another writer. 0 or -ENOMEM. */
int windows_switch(struct stream *s, struct datafile_writer *w);

/* Returns the modules of the window by their numbers there, and sets *n. */
const uint32_t *windows_modules(const struct stream *s, size_t *n);

#endif
