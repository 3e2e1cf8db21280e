// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the thread page's state at each setjmp, so that a longjmp can restore it.
 *
 * jump_stubs.S is what the program calls; this file is its memory.
 *
 * A record is found by stack pointer and return address of the setjmp, and not by the address of
 * its jmp_buf, since programs copy jmp_bufs. The jmp_buf itself holds these two. The state of a
 * function's activation is the same at each of its setjmps. A record of a function that has
 * returned is harmless: before the pair can be used again, a setjmp there has renewed the record.
 *
 * How libc hides the two values in a jmp_buf is not documented. If libc changes it, no record is
 * found any more, and what a jump enters is undecodable up to __pcce_restore, as in a static
 * program. The jump itself does not depend on any of this.
 *
 * Each thread has an area that its first setjmp reserves: sets of records, of which the least
 * recent is replaced. It needs no lock, since only the thread itself and its signal handlers use
 * it. A handler that interrupts a writer may take the same record. So the writer first gives the
 * record a mark that no other writer uses. It publishes the record only if the mark is still there;
 * else it begins again. The record that it has overwritten is the handler's, whose functions have
 * returned by then.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include "base/confined.h"
#include "internal.h"
#include "interpose/jmp_buf.h"
#include "interpose/next.h"
#include "base/syscall.h"
#include "stack/unknown.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* As in jump_stubs.S. */
enum { JUMP_NOTHING, JUMP_RECORD, JUMP_DIRECT };

struct jump_state {
	uint64_t id, ext, word, top_id, position;
};

struct jump {
	uint64_t sp; /* 0: free; odd: being written */
	uint64_t pc;
	uint64_t id, ext, word, top_id;
	uint64_t position;
	uint64_t how; /* JUMP_* */
	uint64_t used;
};

#define WAYS 4
#define SETS 256

struct jumps {
	uint64_t clock;
	uint64_t reserved[7];
	struct jump set[SETS][WAYS];
};

_Static_assert(sizeof(struct jumps) <= JUMPS_BYTES, "thread_page.c unmaps JUMPS_BYTES");

/* In the order of jump_stubs.S. */
static const char *const names[] = {"_setjmp",	"setjmp",     "__sigsetjmp",  "longjmp",
				    "_longjmp", "siglongjmp", "__longjmp_chk"};
#define N_NAMES (sizeof(names) / sizeof(*names))

HIDDEN void *__pcce_jump_real[N_NAMES];
HIDDEN void *__pcce_jump_resolve(unsigned int i);
HIDDEN void __pcce_jump_keep(uint64_t sp, uint64_t pc);
HIDDEN int __pcce_jump_find(const uint64_t *jmp_buf, struct jump_state *out);

HIDDEN void *__pcce_jump_resolve(unsigned int i)
{
	int saved_errno = errno;
	void *real = real_dlsym(RTLD_NEXT, names[i]);

	__atomic_store_n(&__pcce_jump_real[i], real, __ATOMIC_RELAXED);
	errno = saved_errno;
	return real;
}

__attribute__((constructor(101))) static void resolve_jumps(void)
{
	for (unsigned int i = 0; i < N_NAMES; i++)
		__pcce_jump_resolve(i);
}

/* One instruction, because of the thread's own handlers. No other thread writes there. */
static uint64_t compare_exchange(uint64_t *at, uint64_t expected, uint64_t value)
{
	__asm__ volatile("cmpxchgq %2, %0"
			 : "+m"(*at), "+a"(expected)
			 : "r"(value)
			 : "cc", "memory");
	return expected;
}

static struct jumps *jump_area(void)
{
	struct jumps *jumps = (struct jumps *)(uintptr_t)pcce_page.jumps;
	void *fresh;

	if (jumps || !(pcce_page.state & PCCE_STATE_LIVE) || is_confined(CONFINED_NO_MMAP))
		return jumps;
	fresh = raw_mmap(NULL, JUMPS_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(fresh))
		return NULL;
	if (compare_exchange((uint64_t *)&pcce_page.jumps, 0, (uint64_t)fresh))
		raw_syscall2(SYS_munmap, fresh, JUMPS_BYTES);
	return (struct jumps *)(uintptr_t)pcce_page.jumps;
}

static struct jump *jump_set(struct jumps *jumps, uint64_t sp, uint64_t pc)
{
	uint64_t hash = ((sp >> 3) ^ pc << 13) * 0x9e3779b97f4a7c15ULL;

	return jumps->set[hash >> 56];
}

static struct jump *entry_to_replace(struct jumps *jumps, uint64_t sp, uint64_t pc)
{
	struct jump *set = jump_set(jumps, sp, pc), *oldest = set;

	for (struct jump *j = set; j < set + WAYS; j++) {
		if (j->sp == sp && j->pc == pc)
			return j;
		if (j->used < oldest->used)
			oldest = j;
	}
	return oldest;
}

HIDDEN void __pcce_jump_keep(uint64_t sp, uint64_t pc)
{
	const struct pcce_page *page = &pcce_page;
	struct jumps *jumps = page_is_shared() ? NULL : jump_area();
	const struct pcce_entry *top =
		(const struct pcce_entry *)((const char *)&page->base + page->off);
	uint64_t mark;

	if (!jumps || (page->off & ~(uint32_t)PCCE_OFF_HALF) > PCCE_OFF_FULL)
		return;
	mark = (uint64_t)&mark | 1;
	for (int tries = 0; tries < 3; tries++) {
		volatile struct jump *j = entry_to_replace(jumps, sp, pc);

		j->sp = mark;
		j->pc = pc;
		j->id = page->id;
		j->ext = page->ext;
		j->word = top->site;
		j->top_id = top->id;
		j->position = *(const volatile __u64 *)&page->position;
		j->how = __pcce_from_site(page->ext, pc) ? JUMP_RECORD : JUMP_DIRECT;
		j->used = ++jumps->clock;
		if (compare_exchange((uint64_t *)&j->sp, mark, sp) == mark)
			return;
	}
}

HIDDEN int __pcce_jump_find(const uint64_t *jmp_buf, struct jump_state *out)
{
	struct jumps *jumps = (struct jumps *)(uintptr_t)pcce_page.jumps;
	uint64_t sp, pc;

	if (!jumps || page_stays_shared())
		return JUMP_NOTHING;
	sp = jmp_buf_reveal(jmp_buf[JMP_BUF_SP]);
	pc = jmp_buf_reveal(jmp_buf[JMP_BUF_PC]);
	for (volatile struct jump *j = jump_set(jumps, sp, pc), *end = j + WAYS; j < end; j++) {
		uint64_t used = j->used;
		int how;

		if (j->sp != sp || j->pc != pc)
			continue;
		*out = (struct jump_state){j->id, j->ext, j->word, j->top_id, j->position};
		how = (int)j->how;
		if (j->sp != sp || j->pc != pc || j->used != used)
			return JUMP_NOTHING;
		j->used = ++jumps->clock;
		/* The record hides ext from the decoder, so there is none where ext says where the
		 * thread is. */
		return how == JUMP_RECORD && pcce_page.ext ? JUMP_NOTHING : how;
	}
	return JUMP_NOTHING;
}
