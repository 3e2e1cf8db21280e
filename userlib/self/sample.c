// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Copies the thread's context to the ring: the self sampler's one sample, in its signal handler.
 */
#include <dlfcn.h>
#include <pcce/labels.h>
#include <pcce/sample.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include "base/confined.h"
#include "labels/labels.h"
#include "self/self.h"
#include "base/syscall.h"

#ifndef RTLD_DEFAULT
#define RTLD_DEFAULT ((void *)0)
#endif

extern void *dlsym(void *, const char *) __attribute__((weak));
extern int __pthread_create(void) __attribute__((weak));

/* The executable's entry point: the main thread's outermost frame is there. */
static uint64_t entry_point;

/* The parts of the encoding stack that a sample gets: the current segment, and the unsent ones
 * below it. */
struct gathered {
	struct pcce_page_stack stack;
	const struct pcce_entry *entries;
	struct pcce_chosen chosen;
	uint32_t n_segments, flags;
};

/* The thread reads its own page. */
static int read_own(void *to, __u64 from, __u64 bytes)
{
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return 1;
}

/* The entries of the segment whose base is at an address. */
static const struct pcce_entry *entries_at(uint64_t base)
{
	return (const struct pcce_entry *)(uintptr_t)base + 1;
}

static void gather_stack(struct gathered *g, uint64_t sent)
{
	const struct pcce_page *page = &pcce_page;

	*g = (struct gathered){.chosen.last = sent};
	if (!pcce_page_is_valid(page, (uintptr_t)page) || !(page->state & PCCE_STATE_LIVE)) {
		g->flags = PCCE_SAMPLE_OUTSIDE;
		return;
	}
	g->flags = pcce_page_describe(&g->stack, page, (uintptr_t)page);
	g->entries = entries_at(g->stack.base);
	if (g->stack.n_below)
		g->stack.below = g->entries[-1].id;
	g->flags |= pcce_choose_unsent(&g->chosen, &g->stack, sent, read_own);
	g->n_segments = (uint32_t)(g->chosen.stored + g->chosen.kept);
}

static void describe_sites(const struct gathered *g)
{
	const struct pcce_segment *stored =
		(const struct pcce_segment *)(uintptr_t)pcce_stored_segment(&g->stack,
									    g->chosen.first);

	for (uint64_t i = 0; i < g->chosen.stored; i++)
		modules_describe_sites(stored[i].entry, PCCE_SEGMENT_ENTRIES);
	if (g->chosen.kept)
		modules_describe_sites(entries_at(g->stack.other), PCCE_SEGMENT_ENTRIES);
	modules_describe_sites(g->entries, g->stack.n_entries);
}

static void write_stack(const struct gathered *g, void *to, const uint64_t *stack, size_t n_stack)
{
	struct pcce_entry *entries = to;
	struct pcce_segment *segments = (struct pcce_segment *)(entries + g->stack.n_entries);

	if (g->stack.n_entries)
		memcpy(entries, g->entries, g->stack.n_entries * sizeof(*entries));
	pcce_copy_segments(segments, &g->stack, &g->chosen, read_own);
	if (n_stack)
		memcpy(segments + g->n_segments, stack, n_stack * sizeof(*stack));
}

/* A copy of the thread's labels: n words. */
struct labels {
	uint64_t words[PCCE_LABELS_BYTES / 8];
	uint32_t n;
};

static void gather_labels(struct labels *to, const struct pcce_thread *t, const struct gathered *g)
{
	to->n = self_state.want_labels && !(g->flags & PCCE_SAMPLE_OUTSIDE)
			? labels_copy(t, to->words)
			: 0;
}

static bool is_outermost(const struct pcce_thread *t, uint64_t pc)
{
	return pc == t->outermost || (pc >= entry_point && pc < entry_point + 64);
}

extern char __pcce_signal_entry[] __attribute__((visibility("hidden")));

/* Returns the context of the code that is meant. Both signals may be pending, as after each raise()
 * in which the period ended. Then the sampling signal arrives where a handler of the program is
 * about to begin, and the code that both interrupt is meant. That handler has done nothing yet. */
static ucontext_t *interrupted_code(ucontext_t *uc)
{
	if (uc->uc_mcontext.gregs[REG_RIP] == (greg_t)__pcce_signal_entry)
		uc = (ucontext_t *)uc->uc_mcontext.gregs[REG_RDX];
	return uc;
}

_Static_assert(PCCE_COPY_REGISTERS + PCCE_SELF_COPY_WORDS <= PCCE_SELF_STACK, "no room for a copy");

/*
 * Copies registers and the stack (PCCE_SAMPLE_COPY). The kernel copies the stack: it knows where
 * the stack ends, and a program can have any number of stacks. This is the one system call of a
 * sampling path, and only of this mode. Without it, the copy ends with the page that sp is in.
 */
static unsigned int copy_stack(const greg_t *regs, uint64_t *to)
{
	static const unsigned char which[PCCE_COPY_REGISTERS] = {
		REG_RBX, REG_RBP, REG_R10, REG_R12, REG_R13, REG_R14, REG_R15, REG_RDI};
	uint64_t sp = (uint64_t)regs[REG_RSP], size = PCCE_SELF_COPY_WORDS * sizeof(*to), at = sp;
	struct iovec local = {to + PCCE_COPY_REGISTERS, size},
		     pages[PCCE_SELF_COPY_WORDS / 512 + 1];
	unsigned int n = 0;
	long copied = -1;

	for (unsigned int i = 0; i < PCCE_COPY_REGISTERS; i++)
		to[i] = (uint64_t)regs[which[i]];
	/* One for each page: the copy ends before a page that cannot be read. */
	while (at < sp + size) {
		uint64_t end = (at | (MEMORY_PAGE - 1)) + 1;

		if (end > sp + size)
			end = sp + size;
		pages[n++] = (struct iovec){(void *)at, end - at};
		at = end;
	}
	if (!is_confined(CONFINED))
		copied = raw_syscall6(SYS_process_vm_readv, self_state.pid, (long)&local, 1,
				      (long)pages, n, 0);
	if (copied <= 0) {
		copied = (long)pages[0].iov_len;
		memcpy(local.iov_base, pages[0].iov_base, pages[0].iov_len);
	}
	return PCCE_COPY_REGISTERS + (unsigned int)((unsigned long)copied / sizeof(*to));
}

uint64_t self_unread_for(uint64_t now)
{
	const struct pcce_self_ring *head = self_state.ring.head;
	uint64_t read_at = __atomic_load_n(&head->read_at, __ATOMIC_RELAXED);

	if (!read_at)
		read_at = head->start_time;
	return now > read_at ? now - read_at : 0;
}

/* The ring is full, because the recorder is slow or gone. */
void self_lose_sample(uint64_t now, uint32_t weight)
{
	self_count_lost(weight);
	if (self_unread_for(now) > PCCE_SELF_PATIENCE) {
		self_set_flag(PCCE_SELF_GAVE_UP);
		__atomic_store_n(&self_state.ring.head->stop, 1, __ATOMIC_RELAXED);
	}
}

/* Unwinds the stack. The unwinder may call functions that the program defines and that are
 * instrumented, such as its own sigprocmask(). No push saves the state for them. */
static int unwind_stack(struct pcce_thread *t, ucontext_t *uc, int *complete)
{
	volatile struct pcce_page *page = &pcce_page;
	uint64_t id = page->id, ext = page->ext;
	int n;

	page->ext = 0;
	n = self_state.unwind(uc, t->stack, PCCE_SELF_STACK, complete);
	page->ext = ext;
	page->id = id;
	return n;
}

/* Is there an unwinder that may run here? libunwind makes system calls. */
static bool can_unwind(const struct pcce_thread *t)
{
	return self_state.unwind && t->stack && !is_confined(CONFINED);
}

/* Puts the sample into the ring. s: without time, page and what is gathered. labels: those of the
 * thread. Returns false if there is no room. */
static bool put_sample(struct pcce_sample *s, const struct gathered *g, const uint64_t *stack,
		       const struct labels *labels, uint32_t type)
{
	const struct pcce_page *page = &pcce_page;
	struct pcce_self_sample *to;

	modules_describe(s->ip);
	describe_sites(g);
	/* After the modules: no module that the sample needs is described later than this. */
	s->time = self_now();
	s->pid = self_state.pid;
	s->tid = page->tid;
	s->id = page->id;
	s->ext = page->ext;
	s->flags |= g->flags | labels->n << PCCE_SAMPLE_LABELS_SHIFT;
	s->n_entries = g->stack.n_entries;
	s->n_segments = g->n_segments;
	s->n_below = g->stack.n_below;
	s->cpu = (uint32_t)sched_getcpu();
	s->below = g->stack.below;
	to = ring_reserve(&self_state.ring,
			  sizeof(*to) + s->n_entries * sizeof(struct pcce_entry) +
				  s->n_segments * sizeof(struct pcce_segment) +
				  (s->n_stack + labels->n) * sizeof(*stack),
			  type);
	if (!to)
		return false;
	to->sample = *s;
	write_stack(g, to + 1, stack, s->n_stack);
	memcpy((char *)&to->sample + pcce_sample_size(s), labels->words,
	       labels->n * sizeof(*stack));
	ring_commit(&self_state.ring, to);
	return true;
}

void self_sample(struct pcce_thread *t, ucontext_t *context, uint32_t weight)
{
	ucontext_t *uc = interrupted_code(context);
	const greg_t *regs = uc->uc_mcontext.gregs;
	struct pcce_sample s = {
		.ip = (uint64_t)regs[REG_RIP],
		.r11 = (uint64_t)regs[REG_R11],
		.sp = (uint64_t)regs[REG_RSP],
		.weight = weight,
	};
	bool unwinds = can_unwind(t);
	int n_stack = 0, complete = 0;
	struct labels labels;
	struct gathered g;

	if (unwinds)
		n_stack = unwind_stack(t, uc, &complete);
	gather_stack(&g, t->sent);
	gather_labels(&labels, t, &g);
	if (unwinds) {
		s.flags |= PCCE_SAMPLE_STACK;
		if (n_stack <= 0 || !complete || !is_outermost(t, t->stack[n_stack - 1]))
			s.flags |= PCCE_SAMPLE_UNWIND_BAD;
		if (n_stack < 0)
			n_stack = 0;
	} else if (self_state.want_copy && t->stack && !(g.flags & PCCE_SAMPLE_OUTSIDE)) {
		n_stack = (int)copy_stack(regs, t->stack);
		s.flags |= PCCE_SAMPLE_COPY;
	}
	s.n_stack = (uint32_t)n_stack;
	if (put_sample(&s, &g, t->stack, &labels, PCCE_SELF_SAMPLE))
		t->sent = g.chosen.last;
	else
		self_lose_sample(s.time, weight);
}

/* Unwinds the stack from the call that returns to `caller`. Sets *stack to the sample's return
 * addresses, which begin with ip, and returns how many they are. */
static uint32_t unwind_caller(struct pcce_thread *t, struct pcce_sample *s, uint64_t caller,
			      const uint64_t **stack)
{
	int complete = 0, n = unwind_stack(t, NULL, &complete), at = 0;

	s->flags |= PCCE_SAMPLE_STACK;
	while (at < n && t->stack[at] != caller)
		at++;
	if (at >= n || !complete || !is_outermost(t, t->stack[n - 1]))
		s->flags |= PCCE_SAMPLE_UNWIND_BAD;
	if (at >= n)
		return 0;
	if (s->ip != caller && at > 0)
		t->stack[--at] = s->ip;
	*stack = t->stack + at;
	return (uint32_t)(n - at);
}

bool self_sample_allocation(struct pcce_thread *t, struct pcce_sample *s, uint64_t caller)
{
	const uint64_t *stack = NULL;
	struct labels labels;
	struct gathered g;

	s->flags = 0;
	s->n_stack = can_unwind(t) ? unwind_caller(t, s, caller, &stack) : 0;
	gather_stack(&g, 0);
	/* What a counter counts has many labels. */
	labels.n = 0;
	if (!s->kip)
		gather_labels(&labels, t, &g);
	return put_sample(s, &g, stack, &labels, PCCE_SELF_ALLOCATION);
}

void self_sample_begin(void)
{
	entry_point = getauxval(AT_ENTRY);
	if (!self_state.want_verify)
		return;
	/* Not in a static program. Nor with ThreadSanitizer, whose checks of the locks that an
	 * unwinder takes do not work in handlers. */
	if (dlsym && !__pthread_create && !__tsan_init)
		self_state.unwind =
			(verify_unwind_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, VERIFY_UNWIND);
	if (!self_state.unwind)
		self_set_flag(PCCE_SELF_NO_UNWINDER);
}

void self_sample_thread_begin(struct pcce_thread *t)
{
	uint64_t *stack;
	int complete = 0, n;

	if (!self_state.unwind && !self_state.want_copy)
		return;
	stack = raw_mmap(NULL, PCCE_SELF_STACK * sizeof(*stack), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(stack))
		return;
	n = !self_state.unwind ? 0 : self_state.unwind(NULL, stack, PCCE_SELF_STACK, &complete);
	t->outermost = n > 0 && complete ? stack[n - 1] : 0;
	__atomic_store_n(&t->stack, stack, __ATOMIC_RELEASE);
}

void self_sample_thread_end(struct pcce_thread *t)
{
	uint64_t *stack = t->stack;

	t->stack = NULL;
	if (stack)
		raw_syscall2(SYS_munmap, stack, PCCE_SELF_STACK * sizeof(*stack));
}
