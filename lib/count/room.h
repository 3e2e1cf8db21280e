/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds out how much memory the counting may take, where that is limited. */
#ifndef PCCE_COUNT_ROOM_H
#define PCCE_COUNT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define COUNT_ROOM_MIN (1ULL << 22) /* bytes */

struct count_room {
	uint64_t size;	   /* bytes, for each of the engine's two reservations */
	const char *limit; /* what limits it; NULL: nothing */
	bool accounted;	   /* a page that comes late may fail: all pages must be there before */
};

/* For a command that is started now. */
struct count_room count_room_find(void);

#endif
