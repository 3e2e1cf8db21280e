/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Measures what one call sequence of this program costs, by call depth and by how much of the stack
 * has changed since the last request. Four unwinders read the same stack:
 *
 *   incremental   restore_frames() with the map of the last request
 *   full          unwind_frames(), as in a build without RESTORE=1
 *   libunwind     unw_init_local() and unw_step(), with its default cache
 *   elfutils      dwfl_getthread_frames(), with callbacks that read this process's memory
 *
 *   walk DEPTH CHANGED REQUESTS
 *
 * The innermost CHANGED of DEPTH frames return between two requests, and others take their place.
 * Prints one line: depth, changed, frames of a sequence; frames unwound by a request, incremental
 * and full; ns of a request, for each unwinder (medians). It fails if two unwinders see different
 * sequences.
 */
#define _GNU_SOURCE
#define UNW_LOCAL_ONLY
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <libunwind.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "restore/cfi_rule.h"
#include "unwind/cfi_unwind.h"

#define MODULES_MAX 32
#define UNWINDERS 4

enum unwinder { INCREMENTAL, FULL, LIBUNWIND, ELFUTILS };

struct module {
	uint64_t base, start, end;
	struct cfi *cfi;
};

struct sequence {
	size_t n;
	uint64_t hash;
};

static struct module modules[MODULES_MAX];
static size_t n_modules;
static struct restore_map map;
static struct unwind_sequence full;
static struct restore_counts counts[2]; /* INCREMENTAL, FULL */
static Dwfl *dwfl;
static unw_context_t context;
static uint64_t *times[UNWINDERS];
static size_t requests, n_requests;
static size_t frames;
static unsigned int depth, changed;
extern const void *__libc_stack_end; /* of the dynamic linker */
static uint64_t seed = 1;
static volatile unsigned int sink;

static void fail(const char *what)
{
	fprintf(stderr, "walk: cannot %s\n", what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void add_frame(struct sequence *s, uint64_t pc)
{
	s->n++;
	s->hash = (s->hash ^ pc) * 0x9e3779b97f4a7c15ull;
	s->hash ^= s->hash >> 29;
}

/* ---- lib/restore ----------------------------------------------------------------- */

static int note_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct module *m = &modules[n_modules];
	const char *name = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	(void)size;
	(void)ctx;
	if (fd < 0 || n_modules == MODULES_MAX)
		return 0;
	m->base = info->dlpi_addr;
	m->start = UINT64_MAX;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (m->base + p->p_vaddr < m->start)
			m->start = m->base + p->p_vaddr;
		m->end = m->base + p->p_vaddr + p->p_memsz;
	}
	m->cfi = cfi_open(fd);
	n_modules += m->cfi != NULL;
	return 0;
}

static bool read_memory(void *ctx, uint64_t address, uint64_t *word)
{
	(void)ctx;
	*word = *(const uint64_t *)address;
	return true;
}

/* From the place of the registers to the end of the stack, which is in the main thread. */
static const uint64_t *own_stack(void *ctx, size_t *n)
{
	const uint64_t *sp = (const uint64_t *)context.uc_mcontext.gregs[REG_RSP];

	(void)ctx;
	*n = (size_t)((const uint64_t *)__libc_stack_end - sp);
	return sp;
}

/* rule: what only restore_frames() needs; or NULL */
static enum unwind_step unwind(void *ctx, const struct unwind_state *state, struct unwind_frame *f,
			       struct restore_frame *rule)
{
	enum unwind_step step;
	uint64_t pc = state->pc - !state->inner;

	for (size_t i = 0; i < n_modules; i++) {
		const struct module *m = &modules[i];
		const struct cfi_row *row;

		if (pc < m->start || pc >= m->end)
			continue;
		row = cfi_at(m->cfi, pc - m->base);
		step = row ? cfi_unwind(row, read_memory, ctx, state, f) : UNWIND_STEP_FAILED;
		if (rule && step == UNWIND_STEP_FRAME)
			cfi_rule_set(row, pc - m->base, state, rule);
		return step;
	}
	return UNWIND_STEP_FAILED;
}

static enum unwind_step unwind_frame(void *ctx, const struct unwind_state *state,
				     struct unwind_frame *f)
{
	return unwind(ctx, state, f, NULL);
}

static enum unwind_step unwind_element(void *ctx, const struct unwind_state *state,
				       struct restore_frame *f)
{
	return unwind(ctx, state, &f->is, f);
}

static struct sequence restore(enum unwinder u)
{
	static const struct restore_ops ops = {
		.read = read_memory, .unwind = unwind_element, .stack = own_stack};
	static const struct unwind_ops plain = {.read = read_memory, .unwind = unwind_frame};
	static const int numbers[UNWIND_REGISTERS] = {REG_RBX, REG_RBP, REG_R10, REG_R12,
						      REG_R13, REG_R14, REG_R15, REG_RDI};
	const greg_t *r = context.uc_mcontext.gregs;
	struct unwind_state state = {.pc = (uint64_t)r[REG_RIP], .sp = (uint64_t)r[REG_RSP]};
	struct sequence s = {0};

	/* r10 and rdi are not known after the call of unw_getcontext(). */
	for (unsigned int i = 0; i < UNWIND_REGISTERS; i++) {
		state.reg[i] = (uint64_t)r[numbers[i]];
		if (numbers[i] != REG_R10 && numbers[i] != REG_RDI)
			state.known |= 1u << i;
	}
	add_frame(&s, state.pc);
	if (u == FULL) {
		if (unwind_frames(&plain, NULL, &state, &full) != UNWIND_COMPLETE)
			fail("unwind the call sequence");
		counts[u].unwound += full.n;
		for (size_t i = 0; i < full.n; i++)
			add_frame(&s, full.ret[i]);
		return s;
	}
	if (restore_frames(&map, &ops, NULL, &state, 0, &counts[u]) != UNWIND_COMPLETE)
		fail("restore the call sequence");
	for (size_t i = 0; i < map.n; i++)
		add_frame(&s, map.frames[i].is.ret);
	return s;
}

/* ---- the others -------------------------------------------------------------------- */

static struct sequence walk_libunwind(void)
{
	struct sequence s = {0};
	unw_cursor_t cursor;
	unw_word_t pc;

	if (unw_init_local(&cursor, &context))
		fail("begin with libunwind");
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc)
			add_frame(&s, pc);
	} while (pc && unw_step(&cursor) > 0);
	return s;
}

static pid_t next_thread(Dwfl *d, void *ctx, void **thread)
{
	(void)d;
	if (*thread)
		return 0;
	*thread = ctx;
	return getpid();
}

static bool get_thread(Dwfl *d, pid_t tid, void *ctx, void **thread)
{
	(void)d;
	(void)tid;
	*thread = ctx;
	return true;
}

static bool read_word(Dwfl *d, Dwarf_Addr address, Dwarf_Word *word, void *ctx)
{
	(void)d;
	(void)ctx;
	*word = *(const Dwarf_Word *)address;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *ctx)
{
	/* In DWARF's order. */
	static const int numbers[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
	Dwarf_Word words[17];

	(void)ctx;
	for (int i = 0; i < 17; i++)
		words[i] = (Dwarf_Word)context.uc_mcontext.gregs[numbers[i]];
	dwfl_thread_state_register_pc(thread, words[16]);
	return dwfl_thread_state_registers(thread, 0, 17, words);
}

static int note_frame(Dwfl_Frame *frame, void *ctx)
{
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	add_frame(ctx, pc);
	return DWARF_CB_OK;
}

static void open_elfutils(void)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo};
	static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
						      .get_thread = get_thread,
						      .memory_read = read_word,
						      .set_initial_registers = set_registers};

	dwfl = dwfl_begin(&callbacks);
	if (!dwfl || dwfl_linux_proc_report(dwfl, getpid()) || dwfl_report_end(dwfl, NULL, NULL) ||
	    !dwfl_attach_state(dwfl, NULL, getpid(), &threads, &map))
		fail("begin with elfutils");
}

static struct sequence walk_elfutils(void)
{
	struct sequence s = {0};

	if (dwfl_getthread_frames(dwfl, getpid(), note_frame, &s) && !s.n)
		fail("walk with elfutils");
	return s;
}

/* ---- the program ------------------------------------------------------------------- */

static __attribute__((noinline)) void request(void)
{
	struct sequence s[UNWINDERS];

	unw_getcontext(&context);
	for (int u = 0; u < UNWINDERS; u++) {
		uint64_t start = now();

		switch (u) {
		case INCREMENTAL:
		case FULL:
			s[u] = restore(u);
			break;
		case LIBUNWIND:
			s[u] = walk_libunwind();
			break;
		default:
			s[u] = walk_elfutils();
		}
		times[u][requests] = now() - start;
	}
	for (int u = FULL; u < UNWINDERS; u++)
		if (s[u].n != s[0].n || s[u].hash != s[0].hash)
			fail("agree on a call sequence: two unwinders saw different frames");
	frames = s[0].n;
	requests++;
}

static void descend(unsigned int left);

/* Functions with frames of different sizes, which save different registers. */
#define FUNCTION(name, words)                                                \
	static __attribute__((noinline)) void name(unsigned int left)        \
	{                                                                    \
		volatile unsigned int local[words];                          \
		unsigned int a = sink, b = sink * 3, c = sink + words;       \
                                                                             \
		local[left % (words)] = left;                                \
		descend(left - 1);                                           \
		sink += local[left % (words)] + a + (words > 8 ? b + c : 0); \
	}
FUNCTION(small, 2)
FUNCTION(medium, 12)
FUNCTION(large, 40)
FUNCTION(larger, 90)

static void (*const functions[])(unsigned int) = {small, medium, large, larger};

static __attribute__((noinline)) void descend(unsigned int left)
{
	/* The functions above and this one take turns. */
	if (left == changed / 2 && requests < n_requests) {
		do {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			if (left)
				functions[seed >> 60 & 3](left);
			else
				request();
		} while (requests < n_requests);
	} else if (left) {
		functions[(seed >> (left % 32 + 20)) & 3](left);
	} else {
		request();
	}
	sink++;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};

	if (argc != 4) {
		fprintf(stderr, "usage: walk DEPTH CHANGED REQUESTS\n");
		return 2;
	}
	depth = (unsigned int)atoi(argv[1]);
	changed = (unsigned int)atoi(argv[2]);
	n_requests = (size_t)atoi(argv[3]);
	if (!getenv("WALK_STACK")) { /* the limit holds from the next exec on */
		setrlimit(RLIMIT_STACK, &unlimited);
		setenv("WALK_STACK", "1", 1);
		execv("/proc/self/exe", argv);
		fail("run again with a larger stack");
	}
	for (int u = 0; u < UNWINDERS; u++)
		times[u] = calloc(n_requests + 1, sizeof(uint64_t));
	dl_iterate_phdr(note_module, NULL);
	open_elfutils();
	descend(depth / 2);
	for (int u = 0; u < UNWINDERS; u++)
		qsort(times[u], requests, sizeof(uint64_t), compare);
	printf("%u,%u,%zu,%.1f,%.1f", depth, changed, frames,
	       (double)counts[INCREMENTAL].unwound / (double)requests,
	       (double)counts[FULL].unwound / (double)requests);
	for (int u = 0; u < UNWINDERS; u++)
		printf(",%llu", (unsigned long long)times[u][requests / 2]);
	putchar('\n');
	return 0;
}
