// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements captures at any instruction; see capture.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "tests/oracle/capture.h"

/* What the runtime needs on the stack besides a signal frame. */
#define ROOM 6144
/* What the signal entry (userlib/interpose/signal_entry.S) takes of it, from the signal frame to
 * the call of the handler. */
#define ENTRY_FRAME 40

void capture_init(struct capture *c, FILE *out, uint64_t period)
{
	captured_init(&c->captured, out);
	c->out = out;
	c->period = period;
	c->random = 1;
	c->left = 1;
}

/* ---- a thread in its handler ----------------------------------------------------------- */

/* Continues the thread to its next SIGTRAP.  False: it has come to something else. */
static bool go(const struct capture_thread *t, enum __ptrace_request how, int signal, int *status)
{
	if (ptrace(how, t->tid, 0, signal))
		return false;
	while (waitpid(t->tid, status, __WALL) != t->tid)
		if (errno != EINTR)
			return false;
	return WIFSTOPPED(*status) && WSTOPSIG(*status) == SIGTRAP;
}

static bool read_area(pid_t pid, uint64_t address, struct capture_area *area)
{
	const size_t head = offsetof(struct capture_area, entries);
	size_t size;

	if (memory_read(pid, address, area, head) != head)
		return false;
	if ((int)area->result < 0)
		return true;
	if (area->context.n_entries > CAPTURE_ENTRIES)
		return false;
	size = area->context.n_entries * sizeof(*area->entries);
	return memory_read(pid, address + head, area->entries, size) == size;
}

/* The return address that the last call of the function in progress has left below its frame. */
static uint64_t last_return(const struct capture_thread *t, uint64_t sp)
{
	uint64_t address = 0;

	memory_read(t->space->pid, sp - 8, &address, sizeof(address));
	return address;
}

/* Extends the chain by the calls of the handler and, at the return address `ret` in it, of the
 * runtime's function. */
static void enter_handler(const struct capture_thread *t, const struct user_regs_struct *entry,
			  const struct user_regs_struct *handler, uint64_t ret, uint64_t callee)
{
	struct moment interrupted = {t->regs->rip, t->regs->rsp, t->regs->r11},
		      at = {.ip = entry->rip, .sp = entry->rsp},
		      call = {.ip = ret - 1, .sp = handler->rsp}, to = {.ip = ret};

	chain_signal(t->chain, t->space, interrupted, at, 0, 0);
	at.sp -= ENTRY_FRAME;
	to.sp = at.sp - 8;
	chain_step(t->chain, t->space, INSN_CALL, at, to);
	to = (struct moment){.ip = callee, .sp = call.sp - 8};
	chain_step(t->chain, t->space, INSN_CALL, call, to);
}

/* The handler has called one of the two functions.  Returns false if it has not. */
static bool take_result(struct capture *c, const struct capture_thread *t,
			const struct user_regs_struct *entry, unsigned int calls)
{
	static struct capture_area area;
	static enum outcome context;
	struct user_regs_struct now;
	struct chain_mark mark;
	uint64_t ret;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &now) || (uint32_t)now.rsi != calls ||
	    !read_area(t->space->pid, now.rdi, &area))
		return false;
	ret = last_return(t, now.rsp);
	if (ret >= now.rip || now.rip - ret > 512)
		return false;
	mark = chain_mark(t->chain);
	enter_handler(t, entry, &now, ret, area.context.ip);
	if (calls == 1)
		context = captured_context(&c->captured, t->chain, t->space, t->tid, &area);
	else
		captured_name(&c->captured, t->chain, t->space, &area, context);
	chain_rewind(t->chain, &mark);
	return true;
}

/* Runs the thread to rt_sigreturn and through it. */
static bool leave_handler(const struct capture_thread *t, int *status)
{
	struct user_regs_struct now;

	do {
		if (!go(t, PTRACE_SYSCALL, 0, status) || ptrace(PTRACE_GETREGS, t->tid, 0, &now))
			return false;
	} while (now.orig_rax != SYS_rt_sigreturn);
	if (!go(t, PTRACE_SINGLESTEP, 0, status) || ptrace(PTRACE_GETREGS, t->tid, 0, &now))
		return false;
	/* The kernel says that no system call is in progress. */
	now.orig_rax = t->regs->orig_rax;
	return !memcmp(&now, t->regs, sizeof(now));
}

static bool run_handler(struct capture *c, const struct capture_thread *t, int *status)
{
	struct user_regs_struct entry;

	return go(t, PTRACE_SINGLESTEP, CAPTURE_SIGNAL, status) &&
	       !ptrace(PTRACE_GETREGS, t->tid, 0, &entry) &&
	       space_helper(t->space, entry.rip) == PCCE_HELPER_HANDLER &&
	       go(t, PTRACE_CONT, 0, status) && take_result(c, t, &entry, 1) &&
	       go(t, PTRACE_CONT, 0, status) && take_result(c, t, &entry, 2) &&
	       leave_handler(t, status);
}

/* ---- when ------------------------------------------------------------------------------ */

static bool is_blocked(pid_t tid)
{
	uint64_t mask = ~0ULL;

	ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask);
	return mask & 1ULL << (CAPTURE_SIGNAL - 1);
}

/* Has a system call been interrupted (-ERESTARTSYS and the like)? */
static bool is_interrupted_call(const struct user_regs_struct *regs)
{
	return (int64_t)regs->orig_rax >= 0 && (int64_t)regs->rax >= -516 &&
	       (int64_t)regs->rax <= -512;
}

static enum capture_skip why_not(const struct capture_thread *t)
{
	static uint64_t room;

	if (!room)
		room = getauxval(AT_MINSIGSTKSZ) + ROOM;
	if (!t->handles)
		return CAPTURE_NO_HANDLER;
	if (t->with_frame)
		return CAPTURE_FRAME;
	if (t->sampled == OUTCOME_OUTSIDE)
		return CAPTURE_NO_PAGE;
	if (!chain_has_room(t->chain, t->regs->rsp, room))
		return CAPTURE_NO_ROOM;
	if (is_interrupted_call(t->regs))
		return CAPTURE_RESTART;
	return is_blocked(t->tid) ? CAPTURE_BLOCKED : CAPTURE_SKIPS;
}

/* 1 to 2 * period - 1.  Sometimes more: a handler that moves to another segment of the encoding
 * stack may undo what a move has done that it interrupts (FILLING of abi.h).  If each move were
 * interrupted, the program would come to no end. */
static uint64_t next_distance(struct capture *c)
{
	c->random = c->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return 1 + (c->random >> 33) % (2 * c->period - 1) + (++c->distances % 256 ? 0 : 1024);
}

bool capture_now_and_then(struct capture *c, const struct capture_thread *t, int *status)
{
	enum capture_skip skip;

	if (!c->period || --c->left)
		return true;
	c->left = next_distance(c);
	skip = why_not(t);
	if (skip < CAPTURE_SKIPS) {
		c->skipped[skip]++;
		return true;
	}
	c->sent++;
	*status = 0;
	if (run_handler(c, t, status))
		return true;
	if (!c->failed++)
		fprintf(c->out, "capture: thread %d at %s did not come back (status 0x%x)\n",
			(int)t->tid, space_name(t->space, t->regs->rip), *status);
	return *status == 0 || WIFSTOPPED(*status);
}

bool capture_failed(const struct capture *c)
{
	return c->period && (c->failed || captured_failed(&c->captured));
}

void capture_print(const struct capture *c)
{
	static const char *const names[CAPTURE_SKIPS] = {
		[CAPTURE_NO_HANDLER] = "no_handler", [CAPTURE_NO_PAGE] = "no_page",
		[CAPTURE_BLOCKED] = "blocked",	     [CAPTURE_NO_ROOM] = "no_room",
		[CAPTURE_FRAME] = "frame",	     [CAPTURE_RESTART] = "restart",
	};

	if (!c->period)
		return;
	fprintf(c->out, "captures: %" PRIu64 "\ncaptures_failed: %" PRIu64 "\n", c->sent,
		c->failed);
	for (int i = 0; i < CAPTURE_SKIPS; i++)
		fprintf(c->out, "not_captured_%s: %" PRIu64 "\n", names[i], c->skipped[i]);
	captured_print(&c->captured);
}
