/* SPDX-License-Identifier: GPL-2.0 */
/* Declares what a session does when a CPU comes on line. */
#ifndef PCCE_HOTPLUG_H
#define PCCE_HOTPLUG_H

#include "session.h"

int pcce_hotplug_init(void);
void pcce_hotplug_exit(void);

void pcce_hotplug_prepare(struct pcce_session *s); /* once */
/* Follows the CPUs of a session whose scope is CPUs. The caller holds the session's lock. */
int pcce_hotplug_begin(struct pcce_session *s);
void pcce_hotplug_end(struct pcce_session *s);
/* Waits for the last work on the session. The caller does not hold the session's lock. */
void pcce_hotplug_sync(struct pcce_session *s);

/* Estimates the samples that were due on a CPU while it was on line without an event. */
u64 pcce_hotplug_lost(const struct pcce_session *s, const struct pcce_cpu *c);

#endif
