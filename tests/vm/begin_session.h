/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares how test programs in the guest start a session of the kernel module. */
#ifndef PCCE_VM_BEGIN_SESSION_H
#define PCCE_VM_BEGIN_SESSION_H

#include <stdint.h>
#include <pcce/kmod.h>

struct kmod_session;
/* Starts a session, or ends the program. c: gets the module's answer, too. offset: of the thread
 * page from the thread pointer; NULL: the session is told of no page. */
struct kmod_session *begin_session(struct pcce_kmod_setup *c, const int64_t *offset);

#endif
