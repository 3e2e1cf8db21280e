/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the copy of the kernel's own call stack (PCCE_KMOD_KERNEL_STACKS). */
#ifndef PCCE_KERNEL_STACK_H
#define PCCE_KERNEL_STACK_H

#include <linux/ptrace.h>

#include "reading.h"
#include "session.h"

/* Frames of the handler and of the interrupt, which lie above those that are wanted. */
#define PCCE_HANDLER_FRAMES 33

/* What a record has room for, beside all else. */
static inline u32 pcce_kernel_stack_room(const struct pcce_kmod_setup *config)
{
	if (!(config->flags & PCCE_KMOD_KERNEL_STACKS))
		return 0;
	return (PCCE_KERNEL_FRAMES + PCCE_HANDLER_FRAMES) * sizeof(u64);
}

/*
 * For the handler: copies the return addresses of current's kernel stack, from the instruction ip
 * on, behind all else that r counts of the record at `to`, which has room for
 * pcce_kernel_stack_room() more. Sets r->n_kernel and PCCE_SAMPLE_KERNEL_STACK. Copies nothing if
 * the session does not ask for it, or if ip is not found.
 */
void pcce_copy_kernel_stack(const struct pcce_session *s, u64 ip, void *to, struct pcce_reading *r);

#endif
