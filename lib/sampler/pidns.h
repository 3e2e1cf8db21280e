/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Translates process numbers from other pid namespaces (pid_namespaces(7)), for processes that
 * report their own number.
 *
 * Each process gets its number in our namespace, if it can be found in /proc. A process that has
 * ended or is not accessible gets a number that no process can have. Threads keep their own
 * numbers.
 */
#ifndef PCCE_SAMPLER_PIDNS_H
#define PCCE_SAMPLER_PIDNS_H

#include <stdint.h>
#include <sys/types.h>

#define PIDNS_MADE_UP \
	0x40000000 /* numbers from here on are never the kernel's (its PID_MAX_LIMIT is 2^22) */

struct pidns;

struct pidns *pidns_new(void); /* NULL: out of memory */
void pidns_free(struct pidns *p);

/* Translates a number. ns: inode of the namespace; 0: unknown, treated as ours. The result is the
 * known process with this number. With fresh, it can be a new process. */
pid_t pidns_translate(struct pidns *p, uint64_t ns, pid_t pid, int fresh);

#endif
