/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements disk_room.h: blocks behind the end of the file, which does not become larger. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "record/disk_room.h"

#define STEP (1u << 20) /* bytes */

bool disk_room_reserve(struct disk_room *room, int fd, uint64_t size)
{
	struct rlimit most;
	struct stat st;

	if (room->full || size <= room->end)
		return !room->full;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		room->end = UINT64_MAX;
		return true;
	}
	size += STEP;
	if (!getrlimit(RLIMIT_FSIZE, &most) && size > most.rlim_cur) {
		room->full = true;
	} else if (!fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)room->end,
			      (off_t)(size - room->end))) {
		room->end = size;
	} else if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
		room->full = true;
	} else if (errno != EINTR) {
		room->end = UINT64_MAX;
	}
	return !room->full;
}

void disk_room_release(const struct disk_room *room, int fd, uint64_t size)
{
	/* If it fails, the file occupies more than it needs. */
	if (room->end && room->end != UINT64_MAX && ftruncate(fd, (off_t)size))
		return;
}
