/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The self sampler's parts: self_sampler.c (activation, signal, sources), self_ring.c
 * (the ring), self_maps.c (where executable memory is), verify.c (the unwinder, a
 * library of its own).
 */
#ifndef PCCE_USERLIB_SELF_H
#define PCCE_USERLIB_SELF_H

#include <limits.h>
#include <pcce/datafile.h>
#include <pcce/selfring.h>
#include "internal.h"

#pragma GCC visibility push(hidden)

/* self_ring.c: all but ring_open and ring_close are async-signal-safe. */
struct ring {
	struct pcce_self_ring *head;
	char *data; /* mapped twice in a row */
	uint64_t mask;
};

int ring_open(struct ring *ring, const char *directory, uint64_t data_size, uint64_t now,
	      uint32_t pid);
void ring_close(struct ring *ring);
/* Room for a record of size bytes (rounded up), with size and type filled in; NULL if
 * there is none. */
void *ring_reserve(struct ring *ring, size_t size, uint32_t type);
/* Publishes what ring_reserve() gave. */
void ring_commit(struct ring *ring, void *record);

/* self_maps.c */
/* In a forked child: a scan of a thread that is gone will not end. */
void maps_after_fork(void);
enum maps_mode {
	MAPS_IN_HANDLER, /* what is new; not if another scan is at work or was just now */
	MAPS_NEW,	 /* what is new */
	MAPS_ALL
};
bool maps_scan(struct ring *ring, uint64_t now, uint32_t pid, enum maps_mode mode);
bool maps_know(uint64_t address);
/* maps_know() for each of the entries' sites. */
bool maps_know_sites(const struct pcce_entry *entries, unsigned int n);

#pragma GCC visibility pop

/*
 * In libpcce-verify.so: the real stack from a signal's ucontext, innermost pc (the
 * interrupted one) first.  With context NULL, that of the caller. Returns the number of
 * pcs; *complete says whether the last one's frame has no caller by its unwind information.
 */
#define VERIFY_UNWIND "pcce_verify_unwind"
typedef int verify_unwind_fn(void *context, uint64_t *pcs, int max, int *complete);

#endif
