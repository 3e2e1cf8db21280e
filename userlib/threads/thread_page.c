// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Announces the thread page at a thread's start, and withdraws it at its end.
 *
 * Slots work on the page (page.c) whether or not it was announced. To announce it, the runtime sets
 * tid and state, and then magic. In this order a reader that finds the magic also finds the rest.
 * The registry then holds the thread.
 *
 *   begin   The constructor for the main thread, the start wrapper in thread_create.c for all
 *           others.
 *   end     The destructor of a thread-specific key: after a return from the start routine,
 *           pthread_exit() and cancellation alike.  It asks to be called again until the last
 *           round, so that the program's own destructors still run under an announced page.  With
 *           ThreadSanitizer it ends in the last round but one.  In the last round ThreadSanitizer
 *           takes the thread for gone.  It fails if that thread, or a sample in it, calls anything
 *           that it watches, such as clocks.
 *   fork    The child's one thread keeps its context; its tid and the registry are corrected. After
 *           _Fork() and vfork() nothing is done: such a child may call only async-signal-safe
 *           functions until its exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include "base/confined.h"
#include "contexts/modules.h"
#include "contexts/crash.h"
#include "contexts/dictionary.h"
#include "internal.h"
#include "labels/labels.h"
#include "stack/page.h"
#include "stack/segments.h"
#include "stack/stack_state.h"
#include "base/syscall.h"
#include "stack/unknown.h"

static pthread_key_t end_key;
static bool end_key_valid;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void pcce_thread_begin(void)
{
	struct pcce_thread *t = pcce_thread_self();
	struct pcce_page *page = &pcce_page;

	if (!pcce_active || t->listed)
		return;
	t->page = page;
	page->version = PCCE_PAGE_VERSION;
	page->size = PCCE_PAGE_SIZE;
	/* Without a number if the program's seccomp filter would kill it. */
	page->tid = is_confined(CONFINED_NO_GETTID) ? 0 : (uint32_t)raw_syscall0(SYS_gettid);
	page->state |= PCCE_STATE_LIVE;
	/* An inline pop on an empty stack goes to __pcce_pop_slow: see pushpop.S. */
	page->base.site = PCCE_MARK_WORD;
	page->guard[0].site = page->guard[1].site = PCCE_MARK_WORD;
	/* The page may cross a page of memory. A sampler can read it only if both parts exist. */
	__asm__ volatile("orb $0, %0"
			 : "+m"(((char *)page)[PCCE_PAGE_SIZE - 1])
			 :
			 : "cc", "memory");
	labels_thread_begin();
	__atomic_store_n(&page->magic, PCCE_PAGE_MAGIC, __ATOMIC_RELEASE);
	registry_add(t);
	if (end_key_valid)
		pthread_setspecific(end_key, (void *)1L);
	crash_thread_begin(t);
	self_thread_begin(t);
}

void pcce_thread_end(void)
{
	struct pcce_thread *t = pcce_thread_self();
	struct pcce_page *page = &pcce_page;
	uint64_t area;
	void *jumps;

	if (!t->listed)
		return;
	self_thread_end(t);
	crash_thread_end(t);
	labels_thread_end(t);
	page->state &= ~PCCE_STATE_LIVE;
	registry_remove(t);
	/* Another task may still use it. */
	if (page_is_shared())
		return;
	/* The encoding stack holds entries of frames that are gone. Order: nothing may refer to the
	 * area when it is unmapped. */
	page->id = 0;
	page->ext = 0;
	*(volatile __u64 *)&page->position = 0;
	page->base.id = 0;
	area = page->area;
	jumps = (void *)(uintptr_t)page->jumps;
	__asm__ volatile("" ::: "memory");
	page->area = 0;
	page->jumps = 0;
	__asm__ volatile("" ::: "memory");
	__pcce_stack_free_area(area);
	if (jumps)
		raw_syscall2(SYS_munmap, jumps, JUMPS_BYTES);
}

static void on_thread_end(void *round)
{
	int saved_errno = errno;
	long n = (long)round, last = PTHREAD_DESTRUCTOR_ITERATIONS - (__tsan_init ? 1 : 0);

	if (n < last && pthread_setspecific(end_key, (void *)(n + 1)) == 0) {
		errno = saved_errno;
		return;
	}
	pcce_thread_end();
	errno = saved_errno;
}

static void fork_prepare(void)
{
	registry_lock();
}

static void fork_parent(void)
{
	registry_unlock();
}

static void forget_thread(struct pcce_thread *t)
{
	struct pcce_page *page = t->page;

	page->state = 0;
	page->magic = 0;
	labels_thread_end(t);
	__pcce_stack_free_area(page->area);
	page->area = 0;
	if (page->jumps)
		raw_syscall2(SYS_munmap, (void *)(uintptr_t)page->jumps, JUMPS_BYTES);
	page->jumps = 0;
}

static void begin_child(bool raw)
{
	int saved_errno = errno;

	registry_after_fork(pcce_thread_self(), forget_thread);
	pcce_page.tid = is_confined(CONFINED_NO_GETTID) ? 0 : (uint32_t)raw_syscall0(SYS_gettid);
	self_after_fork(pcce_thread_self(), raw);
	errno = saved_errno;
}

static void fork_child(void)
{
	begin_child(false);
}

/* In a child that had no handlers of pthread_atfork(). Another thread of the parent may have held
 * any lock; the list of threads can be read in any case. */
void pcce_after_raw_fork(void)
{
	if (pcce_active)
		begin_child(true);
}

/* Is this libpcce.so.0 in a process whose executable has a runtime, but hides it
 * (PCCE_TABLE_HIDDEN)? That runtime alone takes samples. */
static bool is_second_runtime(void)
{
	return main_module.encoded &&
	       !is_in_module(&main_module, (uint64_t)(uintptr_t)is_second_runtime);
}

static void init_runtime(void)
{
	if (!page_is_own())
		return;
	context_modules_begin();
	if (is_second_runtime())
		return;
	pcce_active = true;
	if (!getauxval(AT_SECURE) && getenv("PCCE_DEBUG"))
		page_debug = true;
	registry_init();
	end_key_valid = pthread_key_create(&end_key, on_thread_end) == 0;
	if (!end_key_valid)
		pcce_debug("no thread-specific key left: ended threads stay in the registry", 0);
	dictionary_begin();
	crash_begin();
	pthread_atfork(fork_prepare, fork_parent, fork_child);
	self_start();
}

/* Initialises the runtime once. True if this runtime is the one at work. */
bool pcce_runtime_init(void)
{
	pthread_once(&once, init_runtime);
	return pcce_active;
}

__attribute__((constructor(101))) static void start_runtime(void)
{
	int saved_errno = errno;

	/* This may not be the main thread: a thread that no other runtime has seen may have called
	 * dlopen(). */
	if (pcce_runtime_init())
		pcce_thread_begin();
	errno = saved_errno;
}
