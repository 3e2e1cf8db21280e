/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the public interface of the pcce runtime. A program that was linked with the flags of
 * pcce-config has it without further libraries.
 */
#ifndef PCCE_PCCE_H
#define PCCE_PCCE_H

#pragma GCC system_header

#include <pcce/abi.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Calls callback(page, arg) for each thread of this process that has an announced page, in no
 * particular order, until one call does not return 0. Returns what that call returned, or 0.
 *
 * The walk stops no thread and takes no lock: threads continue to run, begin and end. It may see or
 * miss a thread that begins or ends meanwhile. A page that the callback was given stays mapped
 * until the callback returns; the end of its thread waits if necessary. Pages of threads other than
 * the caller change while the callback reads them. Treat their content as possibly torn, unless
 * their thread is known to be stopped.
 *
 * Thread-safe and async-signal-safe: any thread and any signal handler may call it, also a handler
 * for a crash. The callback must not leave by longjmp, exception or thread exit, and must not wait
 * for the end of a thread.
 */
int pcce_threads_walk(int (*callback)(const struct pcce_page *page, void *arg), void *arg);

/*
 * For programs that switch stacks by other means than ucontext: coroutines and fibers. Contexts of
 * ucontext need none of this. Each stack of such a program has an encoding stack, which is kept in
 * a struct pcce_switch while another stack is in use:
 *
 *	pcce_switch_begin(&mine->pcce);
 *	switch_stacks(mine, other);            whatever does it
 *	pcce_switch_end(&mine->pcce);
 *
 * begin says that the calling stack is about to be left, end that it is in use again. Call both in
 * the same function, which must be compiled with the plugin. The function in which a new stack
 * begins must call pcce_switch_end(NULL) before anything else: its contexts begin there. Before a
 * stack is left for the last time, call pcce_switch_begin(NULL) on it. Samples between begin and
 * end are marked (lost_id). A stack may continue in another thread.
 *
 * The struct belongs to the program, and has 1280 bytes. It must begin as zeros, and stay where it
 * is while its stack is left. If its stack is never entered again, call pcce_switch_forget();
 * otherwise up to 17 MiB of address space stay reserved if the stack was deep.
 *
 * All three are async-signal-safe. They allocate nothing for the program and cannot fail: a stack
 * whose state could not be kept has marked contexts from then on. Without the runtime (a program
 * that was not linked with pcce) they do nothing. A switch copies the entries of at most two
 * segments of the encoding stack each way.
 */
struct pcce_switch {
	__u64 opaque[160];
};

void pcce_stack_leave(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));
void pcce_stack_enter(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));
void pcce_stack_forget(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));

/* Always inlined, at any optimisation level, and without tail calls: what they call must find the
 * caller's state. */
#define PCCE_INLINE static inline __attribute__((always_inline, unused))

PCCE_INLINE void pcce_switch_begin(struct pcce_switch *mine)
{
	if (pcce_stack_leave)
		pcce_stack_leave(mine);
	__asm__ volatile("" : : : "memory");
}

PCCE_INLINE void pcce_switch_end(struct pcce_switch *mine)
{
	if (pcce_stack_enter)
		pcce_stack_enter(mine);
	__asm__ volatile("" : : : "memory");
}

PCCE_INLINE void pcce_switch_forget(struct pcce_switch *mine)
{
	if (pcce_stack_forget)
		pcce_stack_forget(mine);
}

/*
 * Contexts as values.  A program asks for its own calling context:
 *
 *	char text[PCCE_TEXT_SIZE];
 *
 *	printf("%s: cannot open\n", pcce_context_text(pcce_context_id(), text));
 *
 * The context is that of the function that asks, with the place of the call.  All of these are
 * thread-safe and async-signal-safe.  They take no lock, allocate nothing on the heap and leave
 * errno as it was.  In a program without the runtime, or that is not encoded, they say in a few
 * instructions that there is no context.
 */

/*
 * The name of a context.  It is equal for equal contexts of one build, in every run and on every
 * machine, and differs for different ones (a hash of 128 bits).  All zeros: there is no context, or
 * the runtime has not begun (its constructor has priority 101).
 * A context of which a part is not known has a name, too; decoding shows the gap.  In a signal
 * handler that has interrupted an instrumented call, the beginning of a function, or uninstrumented
 * code of an encoded file, one context can have several names.  Each of them decodes to that
 * context.
 *
 * A dictionary says what names mean (pcce-decode(1) reads it).  If the environment has
 * PCCE_DICTIONARY=FILE when the program starts, the runtime appends to that file whenever a context
 * is named for the first time in the process.  Otherwise call pcce_dictionary_flush().
 */
struct pcce_id {
	unsigned char bytes[16];
};

/*
 * A copy of the thread's state, from which libpcce-decode computes the context
 * (pcce_decode_process_state).  The entries follow, oldest first.
 */
struct pcce_context {
	__u64 ip;  /* the place in uninstrumented code that asked, else in the runtime */
	__u64 r11; /* 0 */
	__u64 id;
	__u64 ext;
	__u64 n_entries; /* entries that follow: the newest ones */
	__u64 missing;	 /* older entries that are not here */
};

int pcce_state_copy(struct pcce_context *to, __u64 size) __attribute__((weak, leaf, nothrow));
void pcce_state_id(struct pcce_id *id) __attribute__((weak, leaf, nothrow));
__u64 pcce_state_key(void) __attribute__((weak, leaf, nothrow));
int pcce_dictionary_write(int fd) __attribute__((weak, nothrow));

/*
 * Copies the context to a buffer of `size` bytes, at least sizeof(struct pcce_context).  Returns 0,
 * 1 if older entries of the thread are missing because the buffer is too small or they are not
 * known, or -1 if there is no context.  Only those that its creator had may be missing with 0.
 */
PCCE_INLINE int pcce_capture(struct pcce_context *to, __u64 size)
{
	int r = -1;

	if (pcce_state_copy)
		r = pcce_state_copy(to, size);
	__asm__ volatile("" : : : "memory");
	return r;
}

PCCE_INLINE const struct pcce_entry *pcce_context_entries(const struct pcce_context *c)
{
	return (const struct pcce_entry *)(c + 1);
}

PCCE_INLINE struct pcce_id pcce_context_id(void)
{
	struct pcce_id id = {{0}};

	if (pcce_state_id)
		pcce_state_id(&id);
	__asm__ volatile("" : : : "memory");
	return id;
}

/*
 * A key of 64 bits for tables of contexts, in place of a hash of return addresses: the first half
 * of the context's name, as a number.  It takes about 10 ns at any depth.  The dictionary gets no
 * line for it.  So who meets a key for the first time also calls pcce_context_id() or
 * pcce_capture(), which say what the context is.  0: there is no context.
 */
PCCE_INLINE __u64 pcce_stack_id(void)
{
	__u64 key = 0;

	if (pcce_state_key)
		key = pcce_state_key();
	__asm__ volatile("" : : : "memory");
	return key;
}

/* "pcce:" and 32 hexadecimal digits.  Writes PCCE_TEXT_SIZE bytes to text, and returns it. */
#define PCCE_TEXT_SIZE 38

PCCE_INLINE const char *pcce_context_text(struct pcce_id id, char *text)
{
	char *to = text;

	*to++ = 'p';
	*to++ = 'c';
	*to++ = 'c';
	*to++ = 'e';
	*to++ = ':';
	for (int i = 0; i < 16; i++) {
		*to++ = "0123456789abcdef"[id.bytes[i] >> 4];
		*to++ = "0123456789abcdef"[id.bytes[i] & 15];
	}
	*to = 0;
	return text;
}

/*
 * Writes to fd what the dictionary has got since the last call: lines of text.  Any number of
 * processes may append to one file that they have opened with O_APPEND.  Returns 0, or -errno.
 * Like write(2), it may raise SIGPIPE or SIGXFSZ.
 */
PCCE_INLINE int pcce_dictionary_flush(int fd)
{
	return pcce_dictionary_write ? pcce_dictionary_write(fd) : 0;
}

/*
 * Installs a handler that appends the contexts of all threads to a file when the process gets
 * SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP or SIGSYS.  Then the signal takes its course:
 * to the handler that was installed before, or to a core dump.  Each signal is reported once, and
 * only the first one with contexts.  `pcce-decode --crash=FILE` prints the report.  PCCE_CRASH=FILE
 * in the environment does the same without a change of the program.
 *
 * The handler reads no stack, so it works where the stack is damaged.  It does not allocate, and it
 * runs on an alternate stack: threads that begin later, and the caller, get one of 64 KiB if they
 * have none.  It waits up to 3 seconds for threads that do not answer.  The file is opened when the
 * program crashes; a name that does not begin with a slash is in the present working directory.
 *
 * Returns 0, or -errno; -ENOSYS without the runtime.  Not async-signal-safe.  Call it again for
 * another file.
 */
int pcce_crash_install(const char *path) __attribute__((weak, nothrow));

PCCE_INLINE int pcce_crash_report(const char *path)
{
	return pcce_crash_install ? pcce_crash_install(path) : -38; /* ENOSYS */
}

/*
 * Triggers.  A program acts only in certain contexts:
 *
 *	struct pcce_contexts *faulty;                  pcce-decode --select writes the file
 *
 *	pcce_contexts_open(&faulty, "faulty.set");
 *	if (pcce_on_context(faulty) > 0)
 *		return -ENOMEM;                        inject a fault
 *
 * A set of contexts is computed before, from an expression over functions and the program's
 * encoding (pcce-decode(1), pcce_decode_select).  The test compares the id with a few numbers, and
 * so it does for each entry of the encoding stack, up to 16.  It remembers the answer for older
 * entries.
 *
 * Reads a set.  Returns 0, or -errno: -ENOEXEC if the file is no set or is damaged, -ESTALE if it
 * is of another program or the program was built or encoded again, -ENOSYS without the runtime.
 * *set is then NULL.  Memory is mapped, and no lock is taken.
 */
struct pcce_contexts;

int pcce_set_read(struct pcce_contexts **set, const char *path) __attribute__((weak, nothrow));
void pcce_set_unmap(struct pcce_contexts *set) __attribute__((weak, nothrow));
int pcce_state_is_in(struct pcce_contexts *set) __attribute__((weak, leaf, nothrow));

PCCE_INLINE int pcce_contexts_open(struct pcce_contexts **set, const char *path)
{
	*set = 0;
	return pcce_set_read ? pcce_set_read(set, path) : -38; /* ENOSYS */
}

/* No thread may be testing it. */
PCCE_INLINE void pcce_contexts_close(struct pcce_contexts *set)
{
	if (set && pcce_set_unmap)
		pcce_set_unmap(set);
}

/*
 * Is the calling context in the set?  1: yes, certainly.  0: no, certainly.  -1: a part of the
 * context is not known, and the answer depends on it; or set is NULL.  Not known are: code that a
 * signal interrupted, unless it was a call out of instrumented code; modules that are not in the
 * set; what pcce marks as not exact.
 *
 * The context ends where the thread began.  Functions that were inlined are not in it.
 * Async-signal-safe, without a lock or a system call, apart from two calls that block and unblock
 * signals when a deep encoding stack is read.  Leaves errno as it was.
 */
PCCE_INLINE int pcce_on_context(struct pcce_contexts *set)
{
	int r = -1;

	if (set && pcce_state_is_in)
		r = pcce_state_is_in(set);
	__asm__ volatile("" : : : "memory");
	return r;
}

/*
 * Labels: what a thread works on.  Samples of the thread have them, so a report can say which
 * request, tenant or route time belongs to:
 *
 *	pcce_label_set("tenant", name);
 *	{
 *		PCCE_SPAN("parse");                    up to the end of the block
 *		...
 *	}
 *	pcce_label_set("tenant", NULL);
 *
 * They are in the thread context record of OpenTelemetry (OTEP 4947, otel_thread_ctx_v1), where
 * other profilers find them, too.  If an SDK in the program has set that variable in the thread,
 * samples have the labels of the SDK, and the functions below change nothing and return -EBUSY.
 *
 * A key has at most 63 bytes, a value at most 255.  All labels of a thread together have at most
 * 612 bytes, with 5 more for each label.  A process has at most 254 keys.  A new thread has no
 * labels.
 *
 * All functions are thread-safe and async-signal-safe, and take no lock.  A thread's first change
 * maps memory of the runtime.  They return 0, or -errno, and then nothing has changed: -E2BIG
 * (too long), -ENOSPC (too many keys), -EINVAL, -EBUSY, -EAGAIN (a signal handler has interrupted a
 * change), -ENOMEM, -ESRCH (the runtime does not know the thread), -ENOSYS without the runtime.
 */

/* A copy of a thread's labels.  It can be given to any thread of the process. */
struct pcce_labels {
	__u64 opaque[80];
};

int pcce_label_change(const char *key, const char *value) __attribute__((weak, leaf, nothrow));
int pcce_labels_copy(struct pcce_labels *to) __attribute__((weak, leaf, nothrow));
int pcce_labels_restore(const struct pcce_labels *from) __attribute__((weak, leaf, nothrow));
int pcce_trace_change(const unsigned char *trace, const unsigned char *span)
	__attribute__((weak, leaf, nothrow));

/* Sets a label of the calling thread.  value NULL: removes it. */
PCCE_INLINE int pcce_label_set(const char *key, const char *value)
{
	int r = -38; /* ENOSYS */

	if (pcce_label_change)
		r = pcce_label_change(key, value);
	__asm__ volatile("" : : : "memory");
	return r;
}

/* Sets the trace id (16 bytes) and the span id (8 bytes) of the calling thread, as in W3C Trace
 * Context.  NULL: removes both. */
PCCE_INLINE int pcce_trace_set(const unsigned char *trace, const unsigned char *span)
{
	int r = -38; /* ENOSYS */

	if (pcce_trace_change)
		r = pcce_trace_change(trace, span);
	__asm__ volatile("" : : : "memory");
	return r;
}

/* Copies the calling thread's labels and ids, for pcce_labels_apply() in this thread or another
 * one: so a worker gets the labels of the request that it works on. */
PCCE_INLINE int pcce_labels_get(struct pcce_labels *to)
{
	int r = -38; /* ENOSYS */

	to->opaque[3] = 3; /* apply does nothing */
	if (pcce_labels_copy)
		r = pcce_labels_copy(to);
	__asm__ volatile("" : : : "memory");
	return r;
}

/* Replaces all labels and ids of the calling thread by those of a copy. */
PCCE_INLINE int pcce_labels_apply(const struct pcce_labels *from)
{
	int r = -38; /* ENOSYS */

	if (pcce_labels_restore)
		r = pcce_labels_restore(from);
	__asm__ volatile("" : : : "memory");
	return r;
}

/*
 * A span: sets the label "span" to a name.  Its end restores all labels and ids as they were when
 * it began, whatever has changed since then.  So spans nest, and an outer span that ends also ends
 * inner ones that a longjmp() has left; until then their labels stay.  One thread makes both calls.
 */
PCCE_INLINE int pcce_span_begin(struct pcce_labels *before, const char *name)
{
	int r = pcce_labels_get(before);

	return r ? r : pcce_label_set("span", name);
}

PCCE_INLINE void pcce_span_end(struct pcce_labels *before)
{
	pcce_labels_apply(before);
}

/* A span up to the end of the block, in C and C++.  An exception ends it, too. */
#define PCCE_SPAN(name) PCCE_SPAN_OF(name, __LINE__)
#define PCCE_SPAN_OF(name, line) PCCE_SPAN_IN(name, line)
#define PCCE_SPAN_IN(name, line) PCCE_SPAN_AS(name, pcce_span_at_##line)
#define PCCE_SPAN_AS(name, variable)                                                 \
	__attribute__((cleanup(pcce_span_end), unused)) struct pcce_labels variable; \
	pcce_span_begin(&variable, name)

#pragma GCC visibility pop
#ifdef __cplusplus
}

namespace pcce
{
/* The same as an object. */
class span
{
	struct pcce_labels before;

      public:
	explicit span(const char *name)
	{
		pcce_span_begin(&before, name);
	}
	~span()
	{
		pcce_span_end(&before);
	}
	span(const span &) = delete;
	span &operator=(const span &) = delete;
};
} // namespace pcce
#endif

#undef PCCE_INLINE

#endif
