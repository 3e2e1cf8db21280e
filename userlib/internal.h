/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares what the runtime's files share. They all follow these rules:
 *
 *  - Never end the program, never print unless PCCE_DEBUG is set, never change errno.
 *  - Keep no file descriptor open; programs close descriptors that they do not know.
 *  - Code that can run in a signal handler, or before a thread's start is finished, uses only raw
 *    system calls and its own memory.
 *  - Nothing here is instrumented. All names except the public ones are hidden.
 */
#ifndef PCCE_USERLIB_INTERNAL_H
#define PCCE_USERLIB_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <pcce/abi.h>
#include "stack/page.h"
#include "pcce.h"

/*
 * liburcu's list is used as a header. Its licence, LGPL-2.1, lets small inline functions of a
 * header go into an object file without conditions (section 5). The header offers them under this
 * macro. Nothing of the library is linked, so a program that contains the runtime has no obligation
 * from it.
 */
#define URCU_INLINE_SMALL_FUNCTIONS
#include <urcu/rculist.h>

#pragma GCC visibility push(hidden)

/* A thread's record in the registry. It is in the thread's page (page.c). */
struct pcce_thread {
	struct cds_list_head node;
	struct pcce_page *page;
	bool listed;
	bool sampled;	    /* the self sampler's source is armed */
	bool had_source;    /* has_timer and what follows name a source, armed or not */
	bool paused;	    /* the source is off while the program blocks the signal really */
	bool masks_signal;  /* the program believes that it blocks the self sampler's signal */
	bool has_stack;	    /* sigaltstack() is self/altstack.c's in this thread */
	bool own_stack_set; /* the kernel's alternate stack is own_stack */
	bool in_handler;    /* the self sampler's handler runs in this thread */
	bool has_timer;	    /* the source is `timer`, a POSIX timer; else perf_page */
	int timer;
	int perf_fd; /* the number of its descriptor, which is closed; signals name it */
	void *perf_page;
	uint32_t perf_bytes; /* size of its mapping: with one page, there is no log */
	bool throttled;	     /* the kernel has stopped the event since the log's last sample */
	uint64_t due;	     /* periods that are counted */
	uint64_t armed_at;   /* ns of the thread's CPU time */
	char *own_stack;
	char *crash_stack;     /* an alternate stack of crash_stack.c, or NULL */
	stack_t program_stack; /* the alternate stack that the program has set */
	/* Self sampler: the ring has all segments of the encoding stack up to this generation. */
	uint64_t sent;
	uint64_t *stack;      /* verify mode and copies: room for PCCE_SELF_STACK words */
	uint64_t quiet_until; /* verify mode: no sample before this time */
	uint32_t skipped;     /* verify mode: periods that passed meanwhile */
	uint64_t serial;      /* of the thread in its process, if allocations are sampled */
	/* Verify mode: the address in the thread's first frame; 0: not known. */
	uint64_t outermost;
	struct thread_labels *labels; /* labels.c; NULL: it has never set one */
};

/* Every function that the program (or a signal) enters through preserves errno. */
#define KEEP_ERRNO_BEGIN int saved_errno__ = errno
#define KEEP_ERRNO_END (errno = saved_errno__)

/* thread_page.c */
bool pcce_runtime_init(void);
void pcce_thread_begin(void);
/* In a child without the handlers of pthread_atfork(). */
void pcce_after_raw_fork(void);
void pcce_thread_end(void);

/* Present only with ThreadSanitizer. */
extern void __tsan_init(void) __attribute__((weak, visibility("default")));

/* registry.c */
void registry_init(void);
void registry_add(struct pcce_thread *t);
void registry_remove(struct pcce_thread *t);
void registry_lock(void);
void registry_unlock(void);
void registry_each(void (*visit)(struct pcce_thread *t, void *arg), void *arg);
void registry_after_fork(struct pcce_thread *self, void (*dead)(struct pcce_thread *t));

/* interpose/prctl.c: sets errno, and returns -1. */
long pcce_syscall_error(long error);

/* main_exit.c */
void main_exit_prepare(void);

/* site.c: returns the run-time address of the site that ext names. */
uint64_t __pcce_site_address(uint64_t ext);
/* Did instrumented code make the call that returns to pc, through the site that ext names? */
bool __pcce_from_site(uint64_t ext, uint64_t pc);

/* interpose/jump.c: size of the area at pcce_page.jumps. */
#define JUMPS_BYTES 77824UL

/* interpose/clone.c: the program is about to make a task by syscall(). */
struct clone_args;

/* contexts/context_id.c: names the state for the code at pc, without a line in the dictionary. All
 * zeros: there is no context. */
void state_name_unlisted(struct pcce_id *id, uint64_t pc);
/* Is pc the return address of the call that ext names? */
bool state_is_of_call(uint64_t pc);

/* self/sampler.c */
void self_start(void);
void self_thread_begin(struct pcce_thread *t);
void self_thread_end(struct pcce_thread *t);
/* raw: without the handlers of pthread_atfork() */
void self_after_fork(struct pcce_thread *t, bool raw);
/* The program is about to create a process or thread that will not be sampled. */
void self_count_unseen(void);
/* The program is about to forbid itself the time-stamp counter, or the return from handlers. */
void self_clock_forbidden(void);
void self_forbidden(void);

/* self/signal.c: the self sampler's signal, as the program sees it */
bool self_has_signal(int sig); /* is it the sampling signal? */
uint64_t self_signal_bit(void);
/* sigaction() for the sampling signal. */
int self_program_action(const struct sigaction *action, struct sigaction *old);
/* Keeps an action that another sigaction() has installed, and installs the sampler's again. */
int self_take_back(const struct sigaction *installed);
/* Takes the sampling signal from a set of signals that is to change the thread's mask, and keeps
 * that it was in it; *was_masked is what was kept before. */
uint64_t self_filter_mask(int how, uint64_t set, bool *was_masked);
void self_mask_changed(void);

static inline unsigned int count_bits(uint64_t bits)
{
	unsigned int n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

#pragma GCC visibility pop

#endif
