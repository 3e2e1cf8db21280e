/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the thread page, the calling thread's registry record, and debug output (page.c). */
#ifndef PCCE_USERLIB_PAGE_H
#define PCCE_USERLIB_PAGE_H

#include <stdbool.h>
#include <pcce/abi.h>

/* The page of the calling thread; in libpcce.so.0 it may be the executable's. */
extern __thread struct pcce_page pcce_page __attribute__((tls_model("initial-exec")));

#pragma GCC visibility push(hidden)

/* True if this runtime, of those in the process, is at work. */
extern bool pcce_active;
/* True if PCCE_DEBUG is set: pcce_debug() prints. */
extern bool page_debug;

/* True if pcce_page is the page that this runtime defines. */
bool page_is_own(void);
/* The calling thread's record; it is thread-local and zero at first. Async-signal-safe. */
struct pcce_thread *pcce_thread_self(void);
/* Writes "pcce: TEXT VALUE" to standard error if page_debug is set. Async-signal-safe. */
void pcce_debug(const char *text, long value);

#pragma GCC visibility pop

#endif
