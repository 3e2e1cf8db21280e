/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements disk_room.h: blocks behind the end of the file, which does not become larger. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcce/sample.h>
#include "base/clock.h"
#include "filter/disk_room.h"

#define STEP (64u << 10)       /* bytes */
#define ROOM_AT_END (4u << 20) /* bytes, for source lines and the like */

struct disk_room {
	struct stream stream;
	const struct datafile_writer *writer;
	int fd;
	const struct active_sampler *sampler;
	uint64_t end;	  /* the file system has room up to here; UINT64_MAX: nobody knows */
	bool full;	  /* it has no more */
	uint64_t refused; /* samples that were not written */
};

static struct disk_room *room_of(struct stream *s)
{
	return (struct disk_room *)s;
}

/* Is there room up to a size of the file? Once there is not, there never is. */
static bool reserve_room(struct disk_room *room, uint64_t size)
{
	struct rlimit most;
	struct stat st;

	if (room->full || size <= room->end)
		return !room->full;
	if (fstat(room->fd, &st) || !S_ISREG(st.st_mode)) {
		room->end = UINT64_MAX;
		return true;
	}
	size += STEP;
	if (!getrlimit(RLIMIT_FSIZE, &most) && size > most.rlim_cur) {
		room->full = true;
	} else if (!fallocate(room->fd, FALLOC_FL_KEEP_SIZE, (off_t)room->end,
			      (off_t)(size - room->end))) {
		room->end = size;
	} else if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
		room->full = true;
	} else if (errno != EINTR) {
		room->end = UINT64_MAX;
	}
	return !room->full;
}

static int room_event(struct stream *s, struct stream_event *e)
{
	struct disk_room *room = room_of(s);
	const struct active_sampler *a = room->sampler;

	if (!e->number ||
	    reserve_room(room, datafile_size(room->writer) + pcce_sample_size(e->sample) +
				       ROOM_AT_END + a->ops->rest(a->sampler)))
		return stream_pass(s->next, event, e);
	room->refused++;
	return 0;
}

static int room_end(struct stream *s)
{
	struct disk_room *room = room_of(s);
	const struct pcce_rec_lost lost = {.time = clock_ns(CLOCK_MONOTONIC),
					   .count = room->refused,
					   .reason = PCCE_LOSS_DISK,
					   .event = 1};
	int r = room->refused ? stream_pass(s->next, lost, &lost) : 0;

	return r ? r : stream_pass(s->next, end);
}

/* Gives back what the file does not use. */
static void free_room(struct stream *s)
{
	struct disk_room *room = room_of(s);
	struct stat st;

	/* If it fails, the file occupies more than it needs. */
	if (room->end && room->end != UINT64_MAX && !fstat(room->fd, &st) &&
	    ftruncate(room->fd, st.st_size))
		room->end = 0;
	free(room);
}

struct stream *disk_room_new(const struct datafile_writer *w, int fd,
			     const struct active_sampler *sampler)
{
	static const struct stream_ops ops = {
		.event = room_event, .end = room_end, .free = free_room};
	struct disk_room *room = calloc(1, sizeof(*room));

	if (!room)
		return NULL;
	room->stream.ops = &ops;
	room->writer = w;
	room->fd = fd;
	room->sampler = sampler;
	return &room->stream;
}
