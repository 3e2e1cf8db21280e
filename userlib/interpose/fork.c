// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Follows children that are created without the handlers of pthread_atfork(), and have memory of
 * their own: by _Fork() (timer.c has it), and by the system calls fork, clone and clone3.
 *
 * syscall_stub.S is syscall(), and calls pcce_watch_fork() here before such a call. In the child it
 * calls pcce_after_raw_fork(), but only if the child has the parent's stack and thread pointer.
 * Other children have no samples, and are counted. A `syscall` instruction of the program is not
 * seen.
 */
#include <sched.h>
#include <stdint.h>
#include "internal.h"
#include "base/syscall.h"

#define CLONE3_STACK 5 /* words of struct clone_args */
#define CLONE3_WORDS 8

/* syscall_stub.S: before fork, clone and clone3. Returns whether the child is to call
 * pcce_after_raw_fork(). */
__attribute__((visibility("hidden"))) bool pcce_watch_fork(unsigned long number, unsigned long a,
							   unsigned long b)
{
	uint64_t flags = 0, stack = 0;

	if (number == SYS_clone) {
		flags = a;
		stack = b;
	} else if (number == SYS_clone3) {
		const uint64_t *args = (const uint64_t *)a;

		if (!args || b < CLONE3_WORDS * sizeof(*args))
			return false; /* the kernel will refuse it */
		flags = args[0];
		stack = args[CLONE3_STACK];
	}
	if (flags & CLONE_VM)
		return false;
	if (!stack && !(flags & CLONE_SETTLS))
		return true;
	self_count_unseen();
	return false;
}
