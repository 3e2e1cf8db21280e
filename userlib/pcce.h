/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The public interface of the pcce runtime.  A program that was linked with the
 * flags of pcce-config has it without further libraries.
 */
#ifndef PCCE_PCCE_H
#define PCCE_PCCE_H

#include <pcce/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls callback(page, arg) for each thread of this process that has an announced
 * page, in no particular order, until one call does not return 0; returns what that
 * call returned, or 0.
 *
 * Nobody is stopped and no lock is taken: threads go on running, beginning and
 * ending meanwhile.  A thread that begins or ends during the walk is either
 * seen or not.  A page that the callback was given stays mapped until the callback
 * returns, and for that the end of its thread waits if it must.  Pages of
 * threads other than the caller change while they are read: treat what they say as
 * possibly torn, except when their thread is known to be stopped.
 *
 * Thread-safe and async-signal-safe: may be called from any thread and any signal
 * handler, also that of a crash.  The callback must not leave by longjmp,
 * exception or thread exit, and must not wait for the end of a thread.
 */
int pcce_threads_walk(int (*callback)(const struct pcce_page *page, void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif
