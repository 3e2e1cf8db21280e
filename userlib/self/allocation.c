// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Samples allocations, which libpcce-malloc.so reports (include/pcce/allocation.h).
 *
 * If each allocation is a sample, then one that goes into the ring would cost more than the
 * allocation, and the recording would be too large. So the ring gets a sample for each context of
 * each thread, once, and a counter counts (include/pcce/selfring.h). A context is recognized by its
 * name (context_id.c), whose price does not depend on depth. To this the counter's key adds the
 * thread and the allocating function.
 *
 * Counters also have what is live in their contexts, which the library itself adds up.
 *
 * All other samples go into the ring: those by bytes, which are rare, those of verify mode, whose
 * stacks are to be compared, and those of contexts for which no counter is left. If the ring is
 * full, and each allocation is a sample, the thread waits as long as the recorder reads.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <pcce/allocation.h>
#include <pcce/dictionary.h>
#include "base/confined.h"
#include "self/self.h"
#include "base/syscall.h"

#define PROBES 64
#define PAUSE_NS 1000000
#define PATIENCE_NS 1000000000ULL /* without a look of the recorder at the ring */

__attribute__((visibility("default"))) __typeof__(pcce_allocation_begin) pcce_allocation_begin;
__attribute__((visibility("default"))) __typeof__(pcce_allocation_take) pcce_allocation_take;
__attribute__((visibility("default"))) __typeof__(pcce_allocation_sums) pcce_allocation_sums;

__u64 pcce_allocation_begin(__u32 new_unseen, int (*after_fork)(void))
{
	if (pcce_runtime_init())
		pcce_thread_begin();
	if (!self_state.allocations || !self_state.active)
		return 0;
	self_state.after_fork = after_fork;
	self_set_flag(PCCE_SELF_HOOKED | (new_unseen ? PCCE_SELF_NEW_UNSEEN : 0));
	return self_state.allocations;
}

/* The number of the thread tells apart processes that have one ring. */
static uint64_t key_of(const struct pcce_thread *t, const void *function, uint64_t caller)
{
	struct pcce_name name;
	struct pcce_id id;

	state_name_unlisted(&id, caller);
	memcpy(&name, id.bytes, sizeof(name));
	/* Without a context, the sample has only its place. */
	name = pcce_name_step(name, name.b ? (uint64_t)(uintptr_t)function : caller, t->serial,
			      pcce_page.tid);
	return (name.a ^ name.b) | 1;
}

/* Returns the counter of a key, or NULL: none is left for it. */
static struct pcce_self_counter *counter_of(const struct ring *ring, uint64_t key)
{
	for (uint64_t i = 0; i < PROBES; i++) {
		struct pcce_self_counter *c =
			&ring->counters[((key >> 1) + i) & (self_state.n_counters - 1)];
		uint64_t there = __atomic_load_n(&c->key, __ATOMIC_RELAXED);

		if (!there && __atomic_compare_exchange_n(&c->key, &there, key, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return c;
		if (there == key)
			return c;
	}
	return NULL;
}

/* Waits until there may be room in the ring. Returns false if that is hopeless. */
static bool wait_for_room(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (self_state.allocations != 1 || is_confined(CONFINED) ||
	    __atomic_load_n(&self_state.ring.head->stop, __ATOMIC_RELAXED) ||
	    self_unread_for(self_now()) > PATIENCE_NS)
		return false;
	raw_syscall2(SYS_nanosleep, &pause, NULL);
	return true;
}

/* Returns false if there is no room. */
static bool put_allocation(struct pcce_thread *t, struct pcce_sample *s, uint64_t caller)
{
	do {
		if (self_sample_allocation(t, s, caller))
			return true;
	} while (wait_for_room());
	return false;
}

/* Returns a sample of an allocation, without what self_sample_allocation() fills in. As in
 * capture.c: if ext names the call, then the allocating function is innermost. */
static struct pcce_sample sample_of(const void *function, uint64_t caller, uint64_t bytes)
{
	return (struct pcce_sample){
		.ip = state_is_of_call(caller) ? (uint64_t)(uintptr_t)function : caller,
		.sp = bytes,
		.weight = 1,
	};
}

/* Adds to a counter. A thread with a serial number is alone in its counters, except for its signal
 * handlers. These cannot interrupt an instruction. */
static void add_to(__u64 *sum, uint64_t n, bool alone)
{
	if (alone)
		__asm__ volatile("addq %1, %0" : "+m"(*sum) : "r"(n) : "cc");
	else
		__atomic_add_fetch(sum, n, __ATOMIC_RELAXED);
}

/* Returns false if there is no room in the ring. */
static bool put_new(struct pcce_thread *t, const void *function, uint64_t caller, uint64_t bytes,
		    const struct pcce_self_counter *counter)
{
	struct pcce_sample s = sample_of(function, caller, bytes);

	if (counter)
		s.kip = 1 + (uint64_t)(counter - self_state.ring.counters);
	return put_allocation(t, &s, caller);
}

/* Returns the counter of the allocation, or NULL. */
static struct pcce_self_counter *take_allocation(struct pcce_thread *t, const void *function,
						 uint64_t caller, uint64_t bytes)
{
	struct ring *ring = &self_state.ring;
	struct pcce_self_counter *counter =
		ring->counters ? counter_of(ring, key_of(t, function, caller)) : NULL;

	if (counter) {
		add_to(&counter->samples, 1, t->serial);
		add_to(&counter->bytes, bytes, t->serial);
	} else if (ring->counters) {
		__atomic_add_fetch(&ring->head->ledger.unfollowed, 1, __ATOMIC_RELAXED);
	}
	if ((!counter || self_state.allocations > 1) && !put_new(t, function, caller, bytes, NULL))
		self_lose_sample(self_now(), 1);
	/* If a counter's sample finds no room, the next allocation of the context tries again. */
	if (counter && !__atomic_load_n(&counter->announced, __ATOMIC_RELAXED) &&
	    put_new(t, function, caller, bytes, counter))
		__atomic_store_n(&counter->announced, 1, __ATOMIC_RELAXED);
	return counter;
}

static bool is_taking(void)
{
	return self_state.active && self_state.allocations &&
	       !__atomic_load_n(&self_state.ring.head->stop, __ATOMIC_RELAXED);
}

__u32 pcce_allocation_take(const void *function, __u64 caller, __u64 bytes)
{
	struct pcce_thread *t = pcce_thread_self();
	const struct pcce_self_counter *counter;

	if (!is_taking())
		return 0;
	/* The unwinder may allocate. */
	if (self_state.unwind) {
		if (t->in_handler)
			return 0;
		t->in_handler = true;
	}
	KEEP_ERRNO_BEGIN;
	counter = take_allocation(t, function, caller, bytes);
	KEEP_ERRNO_END;
	t->in_handler = false;
	return counter ? 1 + (uint32_t)(counter - self_state.ring.counters) : 0;
}

struct pcce_allocation_sums pcce_allocation_sums(void)
{
	if (!is_taking())
		return (struct pcce_allocation_sums){0};
	return (struct pcce_allocation_sums){self_state.ring.head, self_state.ring.counters};
}
