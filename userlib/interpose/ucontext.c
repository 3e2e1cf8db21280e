// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gives each stack of the program that getcontext and its kin switch an encoding stack.
 *
 * ucontext_stubs.S is what the program calls; this file moves the state.
 *
 * A context is saved where the C library saves it, in getcontext and swapcontext. The state is what
 * the page says, the entries in its halves, and the address of the area. The area belongs to that
 * stack from then on. A context that makecontext makes begins with an empty encoding stack.
 *
 * To enter a context, the C library is given a copy of it that first leads to ucontext_stubs.S, on
 * the stack that is entered. There the state is put into the page. Meanwhile ext is
 * PCCE_EXT_CHANGING, so a sample is marked; before and after, it is exact. What the program can
 * see, its contexts and the frames on its stacks, is the same as without the runtime.
 *
 * A record is found by the address of the ucontext_t. It is valid as long as stack pointer and
 * instruction pointer in it are those that were saved. An unknown context is a copy, one that a
 * signal handler was given, or one that was made by hand. It is entered with PCCE_ID_LOST on an
 * empty stack, below which no segments can be read. So __pcce_restore in what is entered finds only
 * lost entries: all is marked there.
 *
 * Records are never removed, as nobody reports the end of a ucontext_t. The number of records of a
 * process is limited; contexts beyond it are unknown.
 *
 * stack_state.c says what a signal handler may do meanwhile.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "base/confined.h"
#include "internal.h"
#include "interpose/next.h"
#include "stack/segments.h"
#include "stack/stack_state.h"
#include "base/syscall.h"
#include "stack/unknown.h"

#define HIDDEN __attribute__((visibility("hidden")))

#ifdef PCCE_STATIC
extern void __getcontext(void), __setcontext(void), __swapcontext(void), __makecontext(void);
#endif

#define BUCKETS 1024
#define RECORDS_MAX (1u << 16)
#define CHUNK 32
#define CHUNK_BYTES (CHUNK * sizeof(struct record))

enum { KIND_NONE, KIND_SAVED, KIND_GOT, KIND_MADE };

struct record {
	uint64_t pc; /* first: ucontext_stubs.S reads it */
	struct record *next;
	const ucontext_t *ucp;
	uint64_t sp;
	uint32_t kind;
	struct stack_state state;
	ucontext_t copy;
};

/* Where contexts that are entered begin. ucontext_stubs.S passes these addresses with each call. */
struct context_entries {
	uint64_t landed; /* of a context that was saved */
	uint64_t start;	 /* of a context that was made */
	uint64_t end;	 /* the function of a context that was made returns to it */
};

static struct record *buckets[BUCKETS];

/* In the order of ucontext_stubs.S. A static program has the functions under a second name. */
#ifdef PCCE_STATIC
static void (*const functions[])(void) = {__getcontext, __setcontext, __swapcontext, __makecontext};
#define N_NAMES (sizeof(functions) / sizeof(*functions))
#else
static const char *const names[] = {"getcontext", "setcontext", "swapcontext", "makecontext"};
#define N_NAMES (sizeof(names) / sizeof(*names))
#endif

HIDDEN void *__pcce_context_real[N_NAMES];
HIDDEN uint64_t
	/* Where the C library makes a context's function return to. */
	__pcce_context_libc_end;
HIDDEN void *__pcce_context_resolve(unsigned int i);
HIDDEN void __pcce_context_get(const ucontext_t *ucp, uint64_t sp, uint64_t pc);
HIDDEN const ucontext_t *__pcce_context_enter(const ucontext_t *ucp,
					      const struct context_entries *entries);
HIDDEN const ucontext_t *__pcce_context_swap(const ucontext_t *from, const ucontext_t *to,
					     uint64_t sp, uint64_t pc,
					     const struct context_entries *entries);
HIDDEN void __pcce_context_made(const ucontext_t *ucp, const struct context_entries *entries);
HIDDEN void __pcce_context_begin(void);
HIDDEN const ucontext_t *__pcce_context_leave(const ucontext_t *link,
					      const struct context_entries *entries);
HIDDEN void __pcce_context_load(struct record *r);

HIDDEN void *__pcce_context_resolve(unsigned int i)
{
	int saved_errno = errno;
#ifdef PCCE_STATIC
	void *real = (void *)functions[i];
#else
	void *real = real_dlsym(RTLD_NEXT, names[i]);
#endif

	__atomic_store_n(&__pcce_context_real[i], real, __ATOMIC_RELAXED);
	errno = saved_errno;
	return real;
}

/* ---- records --------------------------------------------------------------------------- */

static struct record **record_bucket(const ucontext_t *ucp)
{
	return &buckets[((uint64_t)ucp >> 3) * 0x9e3779b97f4a7c15ULL >> 54];
}

static struct record *find_record(const ucontext_t *ucp)
{
	struct record *r = __atomic_load_n(record_bucket(ucp), __ATOMIC_ACQUIRE);

	while (r && r->ucp != ucp)
		r = r->next;
	return r;
}

/* Records are mapped in chunks, as they are needed. */
static struct record *chunk_of(uint32_t i)
{
	static struct record *chunks[RECORDS_MAX / CHUNK];
	struct record **chunk = &chunks[i / CHUNK],
		      *have = __atomic_load_n(chunk, __ATOMIC_ACQUIRE), *fresh;

	if (have || is_confined(CONFINED_NO_MMAP))
		return have;
	fresh = raw_mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(fresh))
		return NULL;
	if (__atomic_compare_exchange_n(chunk, &have, fresh, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return fresh;
	raw_syscall2(SYS_munmap, fresh, CHUNK_BYTES);
	return have;
}

static struct record *allocate_record(void)
{
	static uint32_t given;
	uint32_t i = __atomic_load_n(&given, __ATOMIC_RELAXED);

	while (i < RECORDS_MAX) {
		struct record *chunk = chunk_of(i);

		if (!chunk)
			return NULL;
		if (__atomic_compare_exchange_n(&given, &i, i + 1, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return chunk + i % CHUNK;
	}
	return NULL;
}

static struct record *find_or_add_record(const ucontext_t *ucp)
{
	struct record **bucket = record_bucket(ucp), *r = find_record(ucp);

	if (r)
		return r;
	r = allocate_record();
	if (!r)
		return NULL;
	r->ucp = ucp;
	r->next = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(bucket, &r->next, r, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	return r;
}

/* ---- the page -------------------------------------------------------------------------- */

static void mark_changing(void)
{
	*(volatile __u64 *)&pcce_page.ext = PCCE_EXT_CHANGING;
}

/* Runs on the stack that was entered. After a getcontext of instrumented code a __pcce_restore
 * follows, which clears ext. */
HIDDEN void __pcce_context_load(struct record *r)
{
	bool restored = r->kind == KIND_GOT && __pcce_from_site(r->state.ext, r->pc);

	__pcce_stack_load(&r->state, restored ? PCCE_EXT_CHANGING : r->state.ext);
}

/* ---- what the stubs call ----------------------------------------------------------------- */

/* A shadow stack says where a context continues; then the runtime cannot lead it elsewhere. */
static bool has_shadow_stack(void)
{
	uint64_t pointer = 0;

	__asm__ volatile("rdsspq %0" : "+r"(pointer));
	return pointer != 0;
}

static void save_context(const ucontext_t *ucp, uint64_t sp, uint64_t pc, uint32_t kind)
{
	struct record *r = find_or_add_record(ucp);

	if (!r)
		return;
	r->kind = KIND_NONE;
	r->sp = sp;
	r->pc = pc;
	if (__pcce_stack_keep(&r->state))
		r->kind = kind;
}

HIDDEN void __pcce_context_get(const ucontext_t *ucp, uint64_t sp, uint64_t pc)
{
	save_context(ucp, sp, pc, KIND_GOT);
}

HIDDEN void __pcce_context_made(const ucontext_t *ucp, const struct context_entries *entries)
{
	static uint64_t stack[64];
	struct record *r = find_or_add_record(ucp);

	if (!__pcce_context_libc_end && __pcce_context_resolve(3)) {
		void (*make)(ucontext_t *, void (*)(void), int, ...) = __pcce_context_real[3];
		ucontext_t c = {.uc_stack = {.ss_sp = stack, .ss_size = sizeof(stack)}};

		make(&c, (void (*)(void))entries->start, 0);
		__atomic_store_n(&__pcce_context_libc_end,
				 *(uint64_t *)c.uc_mcontext.gregs[REG_RSP], __ATOMIC_RELAXED);
	}
	if (r)
		r->kind = KIND_MADE;
}

/* Redirects the end of a made context's function to `end`. glibc leaves the return address at the
 * top of the stack, and the uc_link at rbx. False: this is not what glibc leaves. */
static bool redirect_end(const ucontext_t *c, uint64_t end)
{
	uint64_t *ret = (uint64_t *)c->uc_mcontext.gregs[REG_RSP];

	if (!__pcce_context_libc_end || (*ret != __pcce_context_libc_end && *ret != end) ||
	    *(const ucontext_t **)c->uc_mcontext.gregs[REG_RBX] != c->uc_link)
		return false;
	*ret = end;
	return true;
}

HIDDEN const ucontext_t *__pcce_context_enter(const ucontext_t *ucp,
					      const struct context_entries *entries)
{
	struct record *r = find_record(ucp);
	const greg_t *regs = ucp->uc_mcontext.gregs;
	greg_t *lead;

	mark_changing();
	if (r && !has_shadow_stack()) {
		lead = r->copy.uc_mcontext.gregs;
		if (r->kind == KIND_MADE && redirect_end(ucp, entries->end)) {
			r->copy = *ucp;
			lead[REG_R12] = regs[REG_RIP];
			lead[REG_RIP] = (greg_t)entries->start;
			return &r->copy;
		}
		if ((r->kind == KIND_SAVED || r->kind == KIND_GOT) &&
		    r->sp == (uint64_t)regs[REG_RSP] && r->pc == (uint64_t)regs[REG_RIP]) {
			r->copy = *ucp;
			lead[REG_RDI] = (greg_t)r;
			lead[REG_RSP] -= sizeof(r->pc);
			lead[REG_RIP] = (greg_t)entries->landed;
			return &r->copy;
		}
	}
	__pcce_segment_lost();
	return ucp;
}

HIDDEN const ucontext_t *__pcce_context_swap(const ucontext_t *from, const ucontext_t *to,
					     uint64_t sp, uint64_t pc,
					     const struct context_entries *entries)
{
	if (from == to)
		return to;
	save_context(from, sp, pc, KIND_SAVED);
	return __pcce_context_enter(to, entries);
}

/* Runs on the stack of a context that was made. */
HIDDEN void __pcce_context_begin(void)
{
	__pcce_stack_empty();
	*(volatile __u64 *)&pcce_page.id = 0;
	*(volatile __u64 *)&pcce_page.ext = 0;
}

/* The function of a context has returned: frees its area. Returns the context to enter next. */
HIDDEN const ucontext_t *__pcce_context_leave(const ucontext_t *link,
					      const struct context_entries *entries)
{
	uint64_t area;

	if (!link)
		return NULL;
	area = page_is_shared() ? 0 : pcce_page.area;
	link = __pcce_context_enter(link, entries);
	if (pcce_page.ext == PCCE_EXT_CHANGING)
		__pcce_stack_empty();
	__pcce_stack_free_area(area);
	return link;
}
