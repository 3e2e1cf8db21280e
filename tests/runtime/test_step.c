// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests every instruction of the helpers, single-stepped under ptrace.  The state that its range
 * tells must decode to the caller's id and encoding stack.  r11 must be the key or the slot's end.
 *
 * In one run a signal handler interrupts before each of these instructions, pushes and pops across
 * several segments, and returns.  All must be as without the handler.
 *
 * The child runs operations.  Before each operation to be watched it publishes what must be decoded
 * and raises a breakpoint.  The parent steps from there to the next breakpoint.  Outside the
 * ranges, ext must name the site (the detour to go to another segment).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "entries.h"

#define STACK_MAX 1200
#define VISITS 65536

/* Shared by both processes. */
static struct watch {
	bool watching;
	bool is_pop;
	uint64_t word; /* what r11 must be; 0: any (slow stubs) */
	uint64_t id;   /* the caller's: before a push, after a pop */
	size_t n;      /* its stack */
	struct pushed stack[STACK_MAX];
} * watch;

static struct pushed model[STACK_MAX];
static size_t n_model;
static bool stored = true;

static void trap(void)
{
	__asm__ volatile("int3" ::: "memory");
}

static void watched(enum op op, uint64_t word)
{
	bool is_pop = op == OP_POP || op == OP_POP_SLOW;

	watch->is_pop = is_pop;
	watch->word = op == OP_PUSH || op == OP_POP ? word : 0;
	if (is_pop) {
		watch->id = model[--n_model].id;
	} else {
		watch->id = pcce_page.id;
	}
	watch->n = n_model;
	memcpy(watch->stack, model, n_model * sizeof(*model));
	watch->watching = true;
	trap();
	call_helper(op, word, 0);
	trap();
	watch->watching = false;
	if (!is_pop) {
		uint64_t site = op == OP_PUSH_SLOW ? regs_out.r11 : word;

		model[n_model++] = (struct pushed){watch->id, site};
	}
}

static void fill_to(size_t n)
{
	while (n_model < n) {
		pcce_page.id = n_model + 1;
		model[n_model] = (struct pushed){n_model + 1, SITE(n_model)};
		call_helper(OP_PUSH, SITE(n_model), 0);
		n_model++;
	}
}

static void scenario(void)
{
	/* Stale counts above the top: an entry that is claimed but not filled must not be taken for
	 * a repetition. */
	for (int i = 0; i < 300; i++)
		call_helper(OP_PUSH, SITE(9), 0);
	for (int i = 0; i < 300; i++)
		call_helper(OP_POP, 1, 0);
	for (int round = 0; round < 2; round++) {
		pcce_page.id = 3;
		pcce_page.ext = 8;
		watched(OP_PUSH, SITE(1));
		watched(OP_PUSH, SITE(1));
		watched(OP_PUSH, SITE(1));
		watched(OP_PUSH_SLOW, 0);
		watched(OP_PUSH, SITE(2));
		watched(OP_PUSH, SITE(2));
		while (n_model)
			watched(n_model & 1 ? OP_POP : OP_POP_SLOW, 77);
	}
	/* Across a boundary for the first time, with the way to the area; later with a segment to
	 * store, and one to fetch back. At 16 the area grows. Without an area only as far as the
	 * page reaches. */
	for (unsigned int boundary = 1; boundary <= (stored ? 17u : 1u);
	     boundary += boundary == 4 ? 11 : 1) {
		fill_to(boundary * PCCE_SEGMENT_ENTRIES - 2);
		/* Two fill the segment, two are counted there. */
		for (int i = 0; i < 8; i++) {
			pcce_page.id = 500;
			watched(i & 4 ? OP_PUSH_SLOW : OP_PUSH, SITE(3));
		}
		for (int i = 0; i < 7; i++)
			watched(i & 1 ? OP_POP_SLOW : OP_POP, 5);
		for (int i = 0; i < 6; i++) {
			pcce_page.id = 600;
			watched(OP_PUSH, SITE(4));
		}
	}
	while (n_model)
		watched(OP_POP, 5);
}

/* Not call_helper(), which keeps what it needs in static memory. */
static void call_in_handler(enum op op, uint64_t word)
{
	register uint64_t r11 __asm__("r11") = word;

	__asm__ volatile("subq $128, %%rsp\n call *%1\n addq $128, %%rsp"
			 : "+r"(r11)
			 : "r"(helper_address(op))
			 : "r10", "memory", "cc");
}

/* Three segments up and down again. */
static void handler(int sig)
{
	uint64_t id = pcce_page.id, ext = pcce_page.ext;

	(void)sig;
	for (unsigned int i = 0; i < 3 * PCCE_SEGMENT_ENTRIES; i++) {
		pcce_page.id = 1000000 + i;
		call_in_handler(OP_PUSH, SITE(500 + i));
	}
	for (unsigned int i = 0; i < 3 * PCCE_SEGMENT_ENTRIES; i++)
		call_in_handler(OP_POP, 9);
	pcce_page.id = id;
	pcce_page.ext = ext;
	trap();
}

static int child(bool area)
{
	struct sigaction interrupt = {.sa_handler = handler};

	struct rlimit none = {1 << 20, 1 << 20};

	stored = area;
	if (!area)
		setrlimit(RLIMIT_AS, &none);
	sigaction(SIGUSR1, &interrupt, NULL);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	scenario();
	_exit(0);
}

static bool read_child(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Applies a range's rule to the page; this is the oracle. */
static bool decodes(pid_t pid, const struct user_regs_struct *regs, unsigned int state,
		    bool outside)
{
	static struct pushed stack[STACK_MAX + 8];
	static struct pcce_segment area[STACK_MAX / PCCE_SEGMENT_ENTRIES];
	struct pcce_page page;
	size_t n, places;
	uint64_t id;

	if (!read_child(pid,
			regs->fs_base +
				((uintptr_t)&pcce_page - (uintptr_t)__builtin_thread_pointer()),
			&page, sizeof(page)))
		return false;
	places = PCCE_AREA_CAPACITY(page.area);
	if (places > sizeof(area) / sizeof(*area))
		places = sizeof(area) / sizeof(*area);
	if (places && !read_child(pid, PCCE_AREA_ADDRESS(page.area), area, places * sizeof(*area)))
		return false;
	id = page.id;
	/* A pop on the way: the entry is still there. */
	if (outside)
		state = watch->is_pop ? PCCE_HELPER_PUSHED : PCCE_HELPER_NOTHING;
	/* Claimed: the top entry, whatever its words are, goes as a whole. */
	if (state == PCCE_HELPER_CLAIMED)
		page.off -= 16;
	n = expand(&page, page.area ? area : NULL, stack, STACK_MAX + 8);
	if (state == PCCE_HELPER_PUSHED) {
		if (n == 0)
			return false;
		id = stack[--n].id;
	}
	return id == watch->id && n == watch->n &&
	       memcmp(stack, watch->stack, n * sizeof(*stack)) == 0;
}

/* Runs the handler, up to the instruction that was interrupted.  The same instruction on the way
 * back does not count, although it is stepped too. */
static bool interrupted(pid_t pid, const struct user_regs_struct *at)
{
	struct user_regs_struct regs;
	int status;

	ptrace(PTRACE_CONT, pid, 0, SIGUSR1);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return false;
	for (int i = 0; i < 20000; i++) {
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) != SIGTRAP)
			return false;
		ptrace(PTRACE_GETREGS, pid, 0, &regs);
		if (regs.rip == at->rip && regs.rsp == at->rsp)
			return true;
	}
	return false;
}

static void wrong(unsigned long *bad, uint64_t rip, int state, const char *what)
{
	if ((*bad)++ < 10)
		printf("# at text+0x%llx, state %d: %s\n", (unsigned long long)(rip - entries.text),
		       state, what);
}

static void run(bool area, bool interrupt)
{
	static unsigned char visits[VISITS];
	unsigned long steps = 0, bad = 0, detour = 0, handlers = 0;
	bool seen[PCCE_HELPER_RESTORING] = {false};
	struct user_regs_struct regs;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		child(area);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status)) {
		ok(false, "cannot trace the child");
		return;
	}
	ptrace(PTRACE_CONT, pid, 0, 0);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		const struct pcce_table_helper *h;
		bool outside;

		if (WSTOPSIG(status) != SIGTRAP) {
			printf("# signal %d\n", WSTOPSIG(status));
			ptrace(PTRACE_KILL, pid, 0, 0);
			break;
		}
		ptrace(PTRACE_GETREGS, pid, 0, &regs);
		if (!watch->watching) {
			ptrace(PTRACE_CONT, pid, 0, 0);
			continue;
		}
		h = helper_at(regs.rip);
		outside = !h && regs.rip >= entries.text && regs.rip < entries.text_end;
		if (outside) {
			/* The state is the caller's, and ext names the site. */
			struct pcce_page page;

			read_child(pid,
				   regs.fs_base + ((uintptr_t)&pcce_page -
						   (uintptr_t)__builtin_thread_pointer()),
				   &page, sizeof(page));
			detour++;
			if (watch->word ? page.ext != watch->word : page.ext == 0)
				wrong(&bad, regs.rip, -1, "ext names another slot");
		}
		/* Twice at each place: a segment that is being fetched back has to be fetched
		 * again. */
		if (interrupt && (h || outside) &&
		    visits[(regs.rip - entries.text) % VISITS]++ < 2) {
			if (!interrupted(pid, &regs)) {
				wrong(&bad, regs.rip, h ? (int)h->state : -1,
				      "the handler did not come back");
				ptrace(PTRACE_KILL, pid, 0, 0);
				break;
			}
			handlers++;
		}
		if (h || outside) {
			steps++;
			if (!decodes(pid, &regs, h ? h->state : 0, outside) ||
			    (h && watch->word && regs.r11 != watch->word)) {
				wrong(&bad, regs.rip, h ? (int)h->state : -1,
				      "decodes to another state");
			}
			if (h)
				seen[h->state] = true;
		}
		/* The second breakpoint ends the watch. */
		ptrace(h || outside || watch->watching ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, 0,
		       0);
	}
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ran to its end%s%s",
	   area ? "" : " without an area", interrupt ? ", interrupted everywhere" : "");
	ok(steps > 1000 && seen[0] && seen[1] && seen[2],
	   "%lu instruction boundaries seen, in all states", steps);
	ok(detour > 20, "%lu of them on the way to the area", detour);
	ok(!interrupt || handlers > 300, "%lu handlers", handlers);
	ok(bad == 0, "%lu decode to another state than the caller's", bad);
}

int main(void)
{
	watch = mmap(NULL, sizeof(*watch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	run(true, false);
	run(false, false);
	run(true, true);
	return done_testing();
}
