/* SPDX-License-Identifier: GPL-2.0 */
/* Reading the current thread's page from an interrupt of any kind. */
#ifndef PCCE_PAGE_READ_H
#define PCCE_PAGE_READ_H

#include "reading.h"
#include "session.h"

/*
 * to: room bytes, PCCE_SHORT at least. Afterwards entries and segments are at to + PCCE_HEAD.
 */
void pcce_read_page(const struct pcce_session *s, struct pcce_cpu *c, void *to, size_t room,
		    struct pcce_reading *r);

#endif
