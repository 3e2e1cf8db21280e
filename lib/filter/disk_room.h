/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps room in the recording's file for what the sampler delivers at its end, such as the counts
 * of --count: samples of the second event would fill the disk, and are refused. They count as lost.
 */
#ifndef PCCE_FILTER_DISK_ROOM_H
#define PCCE_FILTER_DISK_ROOM_H

#include "sampler/sampler.h"
#include "stream/writer.h"

/* fd: the writer's. All must outlive it. NULL: no memory. */
struct stream *disk_room_new(const struct datafile_writer *w, int fd,
			     const struct active_sampler *sampler);

#endif
