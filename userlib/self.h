/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the self sampler's parts.
 *
 *   self_sampler.c  activation, signal, sources
 *   self_ring.c     the ring
 *   self_maps.c     where executable memory is
 *   local_libc.h    the C library functions of the handler
 *   verify.c        the unwinder, another library
 */
#ifndef PCCE_USERLIB_SELF_H
#define PCCE_USERLIB_SELF_H

#include <limits.h>
#include <pcce/datafile.h>
#include <pcce/selfring.h>
#include "internal.h"
#include "local_libc.h"

#pragma GCC visibility push(hidden)

/* self_ring.c: all except ring_open and ring_close are async-signal-safe. ring_open returns 0 or
 * -errno. */
struct ring {
	struct pcce_self_ring *head;
	char *data; /* mapped twice in a row */
	uint64_t mask;
};

int ring_open(struct ring *ring, const char *directory, uint64_t data_size, uint64_t now,
	      uint32_t pid);
void ring_close(struct ring *ring);
/* Returns room for a record of size bytes (rounded up), with size and type filled in. NULL if there
 * is no room. */
void *ring_reserve(struct ring *ring, size_t size, uint32_t type);
/* Publishes the record that ring_reserve() gave. */
void ring_commit(struct ring *ring, void *record);

/* self_maps.c */
/* In a forked child: a scan by a thread that does not exist there will not end. */
void maps_after_fork(void);
enum maps_mode {
	MAPS_IN_HANDLER, /* only new ones; not if another scan runs, or ran just now */
	MAPS_NEW,	 /* only new ones */
	MAPS_ALL
};
bool maps_scan(struct ring *ring, uint64_t now, uint32_t pid, enum maps_mode mode);
bool maps_know(uint64_t address);
/* True if maps_know() is true for each of the entries' sites. */
bool maps_know_sites(const struct pcce_entry *entries, unsigned int n);

#pragma GCC visibility pop

/*
 * In libpcce-verify.so: unwinds the real stack from a signal's ucontext, innermost address (the
 * interrupted one) first; with context NULL, from its caller. Writes at most max addresses, and
 * returns their number. *complete says whether the last frame has no caller according to its unwind
 * information.
 */
#define VERIFY_UNWIND "pcce_verify_unwind"
typedef int verify_unwind_fn(void *context, uint64_t *pcs, int max, int *complete);

#endif
