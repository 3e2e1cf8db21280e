/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the reader of the current thread's page, for interrupts of any kind. */
#ifndef PCCE_PAGE_READ_H
#define PCCE_PAGE_READ_H

#include "reading.h"
#include "session.h"

/*
 * Reads the page to `to`, which has room bytes, at least PCCE_SHORT. Fills r. Afterwards entries
 * and segments are at to + PCCE_HEAD. Errors are flags in r.
 */
void pcce_read_page(const struct pcce_session *s, struct pcce_cpu *c, void *to, size_t room,
		    struct pcce_reading *r);

#endif
