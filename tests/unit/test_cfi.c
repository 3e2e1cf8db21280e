/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests unwinding by .eh_frame on this very process, with reuse of frames and without, against what
 * the C library's backtrace() says: in deep calls, in a callback of the C library, in a signal
 * handler, and with frames whose size only a register knows.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include "restore/cfi_rule.h"
#include "tests/unit/tap.h"
#include "unwind/cfi_unwind.h"

#define MAX_MODULES 64
#define MAX_FRAMES 512
#define NOINLINE __attribute__((noinline, noclone))

static struct module {
	uint64_t base, start, end;
	struct cfi *cfi;
} modules[MAX_MODULES];
static size_t n_modules;

static struct restore_map map;
static struct restore_counts counts;
static struct unwind_sequence whole;

static int add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	int fd = strstr(path, "vdso") ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct cfi *cfi = cfi_open(fd);

	(void)size;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum && n_modules < MAX_MODULES; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			modules[n_modules++] =
				(struct module){info->dlpi_addr, info->dlpi_addr + p->p_vaddr,
						info->dlpi_addr + p->p_vaddr + p->p_memsz, cfi};
	}
	return 0;
}

/* Reads the stacks of callers, where AddressSanitizer expects nobody. */
__attribute__((no_sanitize_address)) static bool read_own(void *ctx, uint64_t address,
							  uint64_t *word)
{
	(void)ctx;
	*word = *(const volatile uint64_t *)(uintptr_t)address;
	return true;
}

static enum unwind_step unwind_own(void *ctx, const struct unwind_state *state,
				   struct restore_frame *f)
{
	enum unwind_step step;
	uint64_t pc = state->pc - !state->inner;
	const struct cfi_row *row;

	for (size_t i = 0; i < n_modules; i++) {
		if (pc < modules[i].start || pc >= modules[i].end)
			continue;
		pc -= modules[i].base;
		row = modules[i].cfi ? cfi_at(modules[i].cfi, pc) : NULL;
		step = row ? cfi_unwind(row, read_own, ctx, state, &f->is) : UNWIND_STEP_FAILED;
		if (step == UNWIND_STEP_FRAME)
			cfi_rule_set(row, pc, state, f);
		return step;
	}
	return UNWIND_STEP_FAILED;
}

static enum unwind_step unwind_plain(void *ctx, const struct unwind_state *state,
				     struct unwind_frame *f)
{
	struct restore_frame element;
	enum unwind_step step = unwind_own(ctx, state, &element);

	*f = element.is;
	return step;
}

static const struct unwind_ops plain = {.read = read_own, .unwind = unwind_plain};
static const struct restore_ops own = {.read = read_own, .unwind = unwind_own};

/* The number of return addresses that both name, from here outwards; negative: they differ. */
static NOINLINE int compare_stacks(void)
{
	static const int numbers[UNWIND_REGISTERS] = {REG_RBX, REG_RBP, REG_R10, REG_R12,
						      REG_R13, REG_R14, REG_R15, REG_RDI};
	struct unwind_state state = {.inner = true, .known = 0xff};
	void *want[MAX_FRAMES];
	ucontext_t here;
	int n, result, skip;

	getcontext(&here);
	n = backtrace(want, MAX_FRAMES);
	state.pc = (uint64_t)here.uc_mcontext.gregs[REG_RIP];
	state.sp = (uint64_t)here.uc_mcontext.gregs[REG_RSP];
	for (int i = 0; i < UNWIND_REGISTERS; i++)
		state.reg[i] = (uint64_t)here.uc_mcontext.gregs[numbers[i]];
	result = restore_frames(&map, &own, NULL, &state, 0, &counts);
	/* The first of backtrace() is in this function, or in AddressSanitizer's backtrace(). */
	skip = n - (int)map.n;
	if (result != UNWIND_COMPLETE || skip < 1 || skip > 2)
		return -1 - (int)map.n;
	for (size_t i = 0; i < map.n; i++)
		if (map.frames[i].is.ret != (uint64_t)(uintptr_t)want[i + (size_t)skip])
			return -1 - (int)map.n;
	if (unwind_frames(&plain, NULL, &state, &whole) != result || whole.n != map.n)
		return -1 - (int)map.n;
	for (size_t i = 0; i < map.n; i++)
		if (map.frames[i].is.ret != whole.ret[i])
			return -1 - (int)map.n;
	return n;
}

static volatile int found, none;

static NOINLINE int any_size(int n)
{
	char room[n * 40 + 16];

	memset(room, n, sizeof(room));
	found = compare_stacks();
	return room[n] + found;
}

static NOINLINE int recurse(int n)
{
	int sum = n ? recurse(n - 1) : any_size(3);

	return sum + none;
}

static int call_back(const void *a, const void *b)
{
	if (!found)
		found = compare_stacks();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	(void)sig;
	found = compare_stacks();
}

/* A frame whose return address is 0 is wrong: the stack does not end there. */
static void test_ends(void)
{
	static const uint64_t stack[] = {0, 0x1234};
	struct cfi_row row = {.cfa = {.how = CFI_IS, .reg = CFI_SP, .offset = 8}};
	struct unwind_state state = {.sp = (uintptr_t)stack};
	enum unwind_step zero, call, end;
	struct unwind_frame f;

	for (int i = 0; i < CFI_REGISTERS; i++)
		row.rule[i].how = CFI_SAME;
	row.rule[CFI_SP].how = CFI_IS;
	row.rule[CFI_PC] = (struct cfi_rule){.how = CFI_AT, .offset = -8};
	zero = cfi_unwind(&row, read_own, NULL, &state, &f);
	state.sp += 8;
	call = cfi_unwind(&row, read_own, NULL, &state, &f);
	row.rule[CFI_PC].how = CFI_UNDEFINED;
	end = cfi_unwind(&row, read_own, NULL, &state, &f);
	tap_ok(zero == UNWIND_STEP_FAILED && call == UNWIND_STEP_FRAME && end == UNWIND_STEP_END,
	       "only unwind information ends a stack, no return address of 0", "%d, %d, %d", zero,
	       call, end);
}

int main(void)
{
	int numbers[] = {3, 2, 1}, sum = 0;
	uint64_t unwound;

	dl_iterate_phdr(add_module, NULL);
	found = 0;
	sum += recurse(100);
	tap_ok(found > 100, "deep calls, and a frame of any size", "%d", found);
	found = 0;
	qsort(numbers, 3, sizeof(numbers[0]), call_back);
	tap_ok(found > 4, "a callback of the C library", "%d", found);
	signal(SIGUSR1, on_signal);
	found = 0;
	raise(SIGUSR1);
	tap_ok(found > 4, "a signal handler", "%d", found);
	found = 0;
	sum += recurse(200);
	unwound = counts.unwound;
	sum += recurse(200);
	tap_ok(found > 200 && counts.unwound - unwound < 10, "the same stack again: it is reused",
	       "%d, %llu frames unwound", found, (unsigned long long)(counts.unwound - unwound));
	unwound = counts.unwound;
	sum += recurse(190);
	tap_ok(found > 190, "another stack", "%d", found);
	restore_map_free(&map);
	free(whole.ret);
	test_ends();
	return tap_done() || !sum;
}
