/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Lets a stopped thread ask for its own context, at any instruction, as a program may in a signal
 * handler: sends CAPTURE_SIGNAL, whose handler (programs/capture_handler.c) calls pcce_capture()
 * and pcce_context_id(), and compares what they say (captured.h).
 *
 * The thread does all of it as in real life: the kernel builds the frame, the runtime's entry
 * pushes the interrupted state, and rt_sigreturn goes back to the interrupted instruction.  The
 * handler runs at full speed, and the other threads wait.  It leaves the witness's chain as it was.
 * All registers must be as before.
 *
 * The handler is not sent, and this is counted, in these cases:
 *
 *   no_handler  the program has not installed it yet, or no more: the dynamic linker runs, or the
 *               process has just called execve()
 *   no_page     the thread has no thread page, or none that it has announced
 *   blocked     the thread blocks signals.  The runtime and the C library do so where no handler
 *               may run
 *   no_room     the stack has no room for a signal frame, or the thread changes stacks and the
 *               witness does not know this one yet
 *   frame       the kernel has just built the frame of a signal, and reports that in a way in which
 *               no other signal can be sent.  The runtime's signal entry begins there
 *   restart     the kernel will do an interrupted system call again; a handler would change that
 */
#ifndef ORACLE_CAPTURE_H
#define ORACLE_CAPTURE_H

#include <sys/user.h>
#include "tests/oracle/captured.h"

enum capture_skip {
	CAPTURE_NO_HANDLER,
	CAPTURE_NO_PAGE,
	CAPTURE_BLOCKED,
	CAPTURE_NO_ROOM,
	CAPTURE_FRAME,
	CAPTURE_RESTART,
	CAPTURE_SKIPS
};

struct capture {
	struct captured captured;
	uint64_t period; /* 0: never; else on average at each period-th instruction */
	uint64_t left, random, distances;
	uint64_t sent, skipped[CAPTURE_SKIPS], failed;
	FILE *out;
};

/* A thread that has stopped, with its registers. */
struct capture_thread {
	pid_t tid;
	struct chain *chain;
	struct space *space;
	const struct user_regs_struct *regs;
	bool handles;	 /* its process has the handler */
	bool with_frame; /* a handler begins here */
	enum outcome sampled;
};

void capture_init(struct capture *c, FILE *out, uint64_t period);
/* Returns false if the thread is gone; *status is then what waitpid() said. */
bool capture_now_and_then(struct capture *c, const struct capture_thread *t, int *status);
bool capture_failed(const struct capture *c);
void capture_print(const struct capture *c);

#endif
