/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps room in the recording's file for what the recorder writes at its end, such as the counts of
 * --count: samples that come before would fill the disk.
 */
#ifndef PCCE_RECORD_DISK_ROOM_H
#define PCCE_RECORD_DISK_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct disk_room {
	uint64_t end;	  /* the file system has room up to here; UINT64_MAX: nobody knows */
	bool full;	  /* it has no more */
	uint64_t refused; /* samples that were not written */
};

/* Is there room up to a size of the file? Once there is not, there never is. */
bool disk_room_reserve(struct disk_room *room, int fd, uint64_t size);

/* Gives back what a file of this size does not use. */
void disk_room_release(const struct disk_room *room, int fd, uint64_t size);

#endif
