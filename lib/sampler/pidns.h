/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Processes that tell their own number, which means something in their pid namespace only
 * (pid_namespaces(7)).
 *
 * Each gets the number that it has in ours, as long as it can be found in /proc; one that
 * has ended, or may not be looked at, gets a number that no process can have.  Threads keep
 * their own numbers.
 */
#ifndef PCCE_SAMPLER_PIDNS_H
#define PCCE_SAMPLER_PIDNS_H

#include <stdint.h>
#include <sys/types.h>

#define PIDNS_MADE_UP \
	0x40000000 /* and beyond: not the kernel's numbers (its PID_MAX_LIMIT is 2^22) */

struct pidns;

struct pidns *pidns_new(void); /* NULL: out of memory */
void pidns_free(struct pidns *p);

/* ns: inode number of the namespace, 0: unknown, taken for ours. A process that is known by that
 * number is meant; with fresh, it may be another one. */
pid_t pidns_translate(struct pidns *p, uint64_t ns, pid_t pid, int fresh);

#endif
