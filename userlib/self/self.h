/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the self sampler's parts.
 *
 *   sampler.c   begin and end: processes, threads, forks
 *   state.c     what all parts share, and the activation
 *   signal.c    the signal: what is ours, what the program's
 *   altstack.c  the stack that the handler runs on
 *   source.c    what sends the signal: a perf event or a timer
 *   sample.c    one sample
 *   allocation.c  a sample of an allocation, instead of the signal and its parts
 *   modules.c   where executable files are mapped
 *   ring.c      the ring
 *   local_libc.h     the C library functions of the handler
 *   verify.c         the unwinder, another library
 *
 * A sampling path (self_on_signal and all below it) takes no lock, allocates nothing, and makes no
 * system call.  Exceptions are named where they are made; none is made once the program has
 * confined itself (confined.h).
 */
#ifndef PCCE_USERLIB_SELF_H
#define PCCE_USERLIB_SELF_H

#include <limits.h>
#include <signal.h>
#include <pcce/allocation.h>
#include <pcce/datafile.h>
#include <pcce/selfring.h>
#include <ucontext.h>
#include "internal.h"
#include "base/local_libc.h"

#pragma GCC visibility push(hidden)

/* ring.c: all except ring_open and ring_close are async-signal-safe. ring_open returns 0 or
 * -errno. */
struct ring {
	struct pcce_self_ring *head;
	char *data; /* mapped twice in a row */
	uint64_t mask;
	struct pcce_self_counter *counters; /* head->n_counters; NULL: none */
};

/* n_counters: how many counters the ring gets, if there is room for them. */
int ring_open(struct ring *ring, const char *directory, uint64_t data_size, uint64_t n_counters,
	      uint64_t now, uint32_t pid);
void ring_close(struct ring *ring);
/* Returns room for a record of size bytes (rounded up), with size and type filled in. NULL if there
 * is no room. */
void *ring_reserve(struct ring *ring, size_t size, uint32_t type);
/* Publishes the record that ring_reserve() gave. */
void ring_commit(struct ring *ring, void *record);

/*
 * In libpcce-verify.so: unwinds the real stack from a signal's ucontext, innermost address (the
 * interrupted one) first; with context NULL, from its caller. Writes at most max addresses, and
 * returns their number. *complete says whether the last frame has no caller according to its unwind
 * information.
 */
#define VERIFY_UNWIND "pcce_verify_unwind"
typedef int verify_unwind_fn(void *context, uint64_t *pcs, int max, int *complete);

/* state.c */
struct self_state {
	bool active;	/* threads are sampled */
	bool installed; /* the handler is in the kernel, also after sampling has ended */
	int signal;
	uint32_t pid;
	uint64_t interval; /* ns of CPU time between samples */
	/* Bytes between samples of allocations, 1: every allocation; 0: CPU time is sampled. */
	uint64_t allocations;
	uint64_t threads;	 /* that have begun, if allocations are sampled */
	int (*after_fork)(void); /* of libpcce-malloc.so; NULL: allocations are not sampled */
	uint64_t ring_size, n_counters;
	bool want_verify, want_copy, want_task_clock, want_timer, want_labels;
	struct ring ring;
	verify_unwind_fn *unwind;
	char directory[PATH_MAX];
};
extern struct self_state self_state;

/* Reads PCCE_SELF into self_state; false if there is none. */
bool self_state_read(void);
uint64_t self_now(void);
void self_set_flag(uint32_t flag);
void self_count_lost(uint64_t n);
/* Counts periods that have passed: see struct pcce_self_ring. */
void self_count_due(uint64_t due, uint64_t kernel, uint64_t throttled);

/* modules.c */
/* At the start: puts all executable mappings of files into the ring. False if it cannot. */
bool modules_begin(void);
/* In a forked child, which has another pid: all is to be described again. */
void modules_after_fork(void);
/* Puts the module that holds an address into the ring, unless it is there. */
void modules_describe(uint64_t address);
/* Puts the modules of the entries' sites into the ring, unless they are there. */
void modules_describe_sites(const struct pcce_entry *entries, unsigned int n);

/* sample.c */
void self_sample_begin(void);
/* Puts a sample of the thread into the ring. */
void self_sample(struct pcce_thread *t, ucontext_t *uc, uint32_t weight);
/* Puts a sample of an allocation into the ring: s has ip, sp and kip. caller: the return address of
 * the allocating function. Returns false if there is no room. */
bool self_sample_allocation(struct pcce_thread *t, struct pcce_sample *s, uint64_t caller);
/* Counts a sample that found no room in the ring. */
void self_lose_sample(uint64_t now, uint32_t weight);
/* How long ago the recorder last looked at the ring, in ns. */
uint64_t self_unread_for(uint64_t now);
/* Gives the thread what verify mode needs, and takes it back. */
void self_sample_thread_begin(struct pcce_thread *t);
void self_sample_thread_end(struct pcce_thread *t);

/* altstack.c: false if the handler has no stack in this thread, and must not run there. */
bool altstack_begin(struct pcce_thread *t);
void altstack_end(struct pcce_thread *t);

/* source.c */
/* Arms the calling thread's source, if there is one. Not in a handler. */
void source_arm(struct pcce_thread *t);
void source_disarm(struct pcce_thread *t);
/* Is the signal that of the thread's source, now or formerly? */
bool source_sent(const struct pcce_thread *t, const siginfo_t *info);

/* Counts the periods that have passed since the last call. Returns how many of them the next sample
 * represents; 0: an earlier one does. */
uint32_t source_take_periods(struct pcce_thread *t, const siginfo_t *info);

/* signal.c */
typedef void self_entry_fn(int sig, siginfo_t *info, void *context);
/* Makes entry, which calls self_on_signal(), the signal's handler. */
bool signal_install(self_entry_fn *entry);

#pragma GCC visibility pop

#endif
