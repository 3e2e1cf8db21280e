/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes recordings for the tests of pcce-report, without running anything:
 *
 *   generate small FILE          a few samples of every kind
 *   generate heavy FILE          small, with weights of eight digits
 *   generate verify FILE         with real stacks: one that agrees, one that differs, one that ends
 *                                early
 *   generate big FILE SAMPLES    many different contexts, for measuring
 *   generate badtable FILE       an encoding table that is damaged within an undamaged record
 *   generate empty FILE          no samples
 *   generate threads FILE        several threads and processes that change their names, two events
 *   generate kernel FILE         threads, and a sample with a whole stack of the kernel
 *   generate deep FILE           samples in deep recursion: counts of 60,000 repetitions
 *   generate hostile FILE        small, with characters in all names that harm terminals,
 *                                and a number at their ends
 *   generate hostile-event FILE  ... and with another event
 *
 * The program: main calls parse (inlined: next), eval by two ways, sort (qsort of cmp), and strlen;
 * eval recurses; finish tail-calls report.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <pcce/sites.h>
#include "tests/unit/table_builder.h"
#include "stream/writer.h"

#define BASE 0x555555554000ULL
#define LIBC 0x7f0000000000ULL
#define KERNEL 0xffffffff81000000ULL
#define PID 100

enum {
	MAIN,
	PARSE,
	EVAL,
	CMP,
	FINISH,
	REPORT,
	METHOD,
};

enum {
	S_MAIN_PARSE,
	S_MAIN_EVAL,
	S_MAIN_SORT,
	S_MAIN_FINISH,
	S_MAIN_METHOD,
	S_PARSE_EVAL,
	S_PARSE_STRLEN,
	S_EVAL_EVAL,
};

/* Commands to the terminal with 7 and 8 bits, a line feed, invalid UTF-8, a change of direction. */
#define POISON "\033]0;x\007\033[31m\302\23331m\r\n\377\302\342\200\250\342\200\256\342\201\246"

static struct table_builder b;
static struct datafile_writer *w;
static bool hostile;

static void check(int r)
{
	if (!r)
		return;
	fprintf(stderr, "generate: %s\n", strerror(-r));
	exit(1);
}

/* The result is never freed. */
static const char *poisoned(const char *name)
{
	char *text;

	if (!hostile || !*name)
		return name;
	return asprintf(&text, POISON "%s" POISON " 65.4", name) < 0 ? name : text;
}

static void build_program(void)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} funcs[] = {
		[MAIN] = {"main", PCCE_FUNC_ROOT}, [PARSE] = {"parse", 0},
		[EVAL] = {"eval", PCCE_FUNC_ROOT}, [CMP] = {"cmp", PCCE_FUNC_ROOT},
		[FINISH] = {"finish", 0},	   [REPORT] = {"report", 0},
		[METHOD] = {"_ZN3foo3barEii", 0},
	};

	tb_init(&b);
	for (uint32_t i = 0; i <= METHOD; i++)
		tb_func(&b, 0x1000 * (i + 1), 0x800, poisoned(funcs[i].name), funcs[i].flags);
	tb_site(&b, 0x1010, MAIN, PCCE_KIND_NONE, PARSE);
	tb_site(&b, 0x1050, MAIN, PCCE_KIND_PUSH, EVAL);
	tb_site(&b, 0x1090, MAIN, PCCE_KIND_PUSH, PCCE_NONE);
	tb_site(&b, 0x10d0, MAIN, PCCE_KIND_NONE, FINISH);
	tb_site(&b, 0x1110, MAIN, PCCE_KIND_NONE, METHOD);
	tb_site(&b, 0x2010, PARSE, PCCE_KIND_ADD, EVAL);
	tb_site(&b, 0x2050, PARSE, PCCE_KIND_EXT, PCCE_NONE);
	tb_site(&b, 0x3010, EVAL, PCCE_KIND_PUSH, EVAL);
	b.sites[S_MAIN_SORT].callee_name = tb_string(&b, "qsort");
	b.sites[S_PARSE_STRLEN].callee_name = tb_string(&b, "strlen");
	b.sites[S_MAIN_METHOD].line = 77; /* never shown, since the file is unknown */
	tb_edge(&b, PARSE, S_MAIN_PARSE, 0, 0);
	tb_edge(&b, FINISH, S_MAIN_FINISH, 0, 0);
	tb_edge(&b, REPORT, S_MAIN_FINISH, 0, 1);
	tb_edge(&b, METHOD, S_MAIN_METHOD, 0, 0);
	tb_edge(&b, EVAL, S_PARSE_EVAL, 1, 0);
	tb_tail(&b, FINISH, REPORT);
	tb_helper(&b, 0xf000, 32, PCCE_HELPER_NOTHING);
}

/* ---- records --------------------------------------------------------------------- */

static void put_strings(uint32_t type, const void *fixed, size_t size, const char *const *strings,
			int n)
{
	const char *names[8];

	for (int i = 0; i < n; i++)
		names[i] = poisoned(strings[i]);
	check(datafile_put_strings(w, type, fixed, size, names, n));
}

static void put_start(uint32_t flags, const char *event)
{
	struct pcce_rec_info info = {
		.start_time = 1000, .wall_time = 1, .frequency = 1000, .flags = flags};
	struct pcce_rec_process process = {.time = 1000, .pid = PID};
	const char *words[] = {"self", event, "demo --fast <input>", "host", "6.1.0"};
	const char *comm[] = {"demo"};

	put_strings(PCCE_REC_INFO, &info, sizeof(info), words, 5);
	put_strings(PCCE_REC_PROCESS, &process, sizeof(process), comm, 1);
}

static void put_module(uint32_t module, const char *path, uint64_t start, uint64_t time)
{
	struct pcce_rec_module m = {.module = module};
	struct pcce_rec_map map = {.time = time,
				   .start = start + 0x1000,
				   .length = 0xf000,
				   .vaddr = 0x1000,
				   .pid = PID,
				   .module = module};

	put_strings(PCCE_REC_MODULE, &m, sizeof(m), &path, 1);
	check(datafile_put(w, PCCE_REC_MAP, &map, sizeof(map), NULL, 0));
}

static void put_table(bool damaged)
{
	struct pcce_rec_table t = {.module = 0};
	size_t size;
	void *data = tb_build(&b, PCCE_TABLE_EXEC, &size);
	struct iovec part = {data, size};

	if (damaged)
		((char *)data)[sizeof(struct pcce_table) + 3] ^= 1;
	check(datafile_put(w, PCCE_REC_TABLE, &t, sizeof(t), &part, 1));
	free(data);
}

static void put_symbol(uint32_t module, uint64_t vaddr, uint32_t depth, const char *function,
		       const char *file, uint32_t line, uint32_t flags)
{
	struct pcce_rec_symbol s = {
		.vaddr = vaddr, .module = module, .line = line, .depth = depth, .flags = flags};
	const char *strings[] = {function, file};

	put_strings(PCCE_REC_SYMBOL, &s, sizeof(s), strings, 2);
}

static void put_kernel_stack(uint32_t number, uint32_t n, const uint64_t *frames)
{
	struct pcce_rec_kernel_stack k = {.number = number, .n = n};
	struct iovec part = {(void *)(uintptr_t)frames, n * sizeof(*frames)};

	check(datafile_put(w, PCCE_REC_KERNEL_STACK, &k, sizeof(k), &part, 1));
}

static void put_end(uint64_t samples)
{
	struct pcce_rec_end end = {.time = 9000, .samples = samples};

	check(datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0));
}

/* ---- samples --------------------------------------------------------------------- */

static struct pcce_rec_sample s;
static struct pcce_entry entries[PCCE_SEGMENT_ENTRIES];
static uint64_t stack[64];
static uint64_t n_put, weight = 1;

static void begin(uint64_t ip, uint64_t id)
{
	s = (struct pcce_rec_sample){.sample = {.time = 2000,
						.pid = PID,
						.tid = PID,
						.ip = ip,
						.id = id,
						.weight = weight}};
}

static void push(uint64_t id, uint32_t site, uint64_t count)
{
	entries[s.sample.n_entries++] =
		(struct pcce_entry){id, (BASE + b.sites[site].key) | count << PCCE_SITE_BITS};
}

static void put_samples(unsigned int times)
{
	struct iovec parts[] = {
		{entries, s.sample.n_entries * sizeof(entries[0])},
		{stack, s.sample.n_stack * sizeof(stack[0])},
	};

	while (times--) {
		s.sample.time++;
		check(datafile_put(w, PCCE_REC_SAMPLE, &s, sizeof(s), parts, 2));
		n_put++;
	}
}

static void in_eval(uint32_t depth)
{
	begin(BASE + 0x3008, 1);
	if (depth) {
		s.sample.id = 0;
		push(1, S_EVAL_EVAL, 0);
		if (depth > 1)
			push(0, S_EVAL_EVAL, depth - 2);
	}
}

static void put_small(void)
{
	struct pcce_rec_lost lost = {.time = 3000, .count = 3, .reason = PCCE_LOSS_RING};
	struct pcce_rec_due due = {.time = 3000, .due = 100, .merged = 4, .kernel = 6};

	begin(BASE + 0x1005, 0);
	put_samples(4);
	begin(BASE + 0x2005, 0); /* in what parse has inlined */
	put_samples(10);
	begin(LIBC + 0x1234, 0);
	s.sample.ext = b.sites[S_PARSE_STRLEN].key;
	put_samples(8);
	in_eval(0);
	put_samples(5);
	in_eval(4);
	put_samples(20);
	in_eval(9);
	put_samples(13);
	begin(BASE + 0x4004, 0); /* qsort calls back */
	push(0, S_MAIN_SORT, 0);
	put_samples(6);
	begin(LIBC + 0x5678, 0); /* qsort itself */
	push(0, S_MAIN_SORT, 0);
	put_samples(4);
	begin(BASE + 0x6004, 0);
	put_samples(7);
	begin(BASE + 0x7004, 0);
	put_samples(3);
	s.sample.flags = PCCE_SAMPLE_KERNEL;
	put_samples(2);
	begin(BASE + 0x3008, 0); /* entries are missing */
	push(0, S_EVAL_EVAL, 0);
	s.sample.n_below = 7;
	s.sample.below = 12345;
	s.sample.flags = PCCE_SAMPLE_TRUNCATED;
	put_samples(1);
	begin(BASE + 0x2005, 55); /* no such id */
	put_samples(2);
	begin(LIBC + 0x1234, 0);
	s.sample.flags = PCCE_SAMPLE_OUTSIDE;
	put_samples(2);
	check(datafile_put(w, PCCE_REC_LOST, &lost, sizeof(lost), NULL, 0));
	check(datafile_put(w, PCCE_REC_DUE, &due, sizeof(due), NULL, 0));
}

static void put_symbols(void)
{
	put_symbol(0, 0x1005, 0, "main", "/src/demo/main.c", 10, 0);
	put_symbol(0, b.sites[S_MAIN_PARSE].key, 0, "main", "/src/demo/main.c", 12, 0);
	put_symbol(0, b.sites[S_MAIN_EVAL].key, 0, "main", "/src/demo/main.c", 13, 0);
	put_symbol(0, b.sites[S_MAIN_SORT].key, 0, "main", "/src/demo/main.c", 14, 0);
	put_symbol(0, b.sites[S_MAIN_FINISH].key, 0, "main", "/src/demo/main.c", 15, 0);
	/* At the call of eval, parse is in step, which it has inlined. */
	put_symbol(0, b.sites[S_PARSE_EVAL].key, 0, "step", "/src/demo/step.h", 5,
		   PCCE_SYMBOL_INLINED);
	put_symbol(0, b.sites[S_PARSE_EVAL].key, 1, "parse", "/src/demo/parse.c", 31, 0);
	put_symbol(0, b.sites[S_PARSE_STRLEN].key, 0, "parse", "/src/demo/parse.c", 32, 0);
	put_symbol(0, 0x2005, 0, "next<char>; really", "/src/demo/next.h", 3, PCCE_SYMBOL_INLINED);
	put_symbol(0, 0x2005, 1, "step", "/src/demo/step.h", 4, PCCE_SYMBOL_INLINED);
	put_symbol(0, 0x2005, 2, "parse", "/src/demo/parse.c", 30, 0);
	put_symbol(0, 0x3008, 0, "eval", "/src/demo/eval.c", 8, 0);
	put_symbol(0, b.sites[S_EVAL_EVAL].key, 0, "eval", "/src/demo/eval.c", 9, 0);
	put_symbol(1, 0x1234, 0, "__strlen_avx2", "", 0, 0);
}

static void put_process(uint64_t time, uint32_t pid, uint32_t ppid, uint32_t flags,
			const char *comm)
{
	struct pcce_rec_process p = {.time = time, .pid = pid, .ppid = ppid, .flags = flags};

	put_strings(PCCE_REC_PROCESS, &p, sizeof(p), &comm, 1);
}

static void put_thread(uint64_t time, uint32_t tid, const char *comm)
{
	struct pcce_rec_thread t = {.time = time, .pid = PID, .tid = tid};

	put_strings(PCCE_REC_THREAD, &t, sizeof(t), &comm, 1);
}

static void put_from(uint32_t pid, uint32_t tid, uint64_t time, uint32_t event, unsigned int times)
{
	s.sample.pid = pid;
	s.sample.tid = tid;
	s.sample.event = event;
	while (times--) {
		s.sample.time = time - 1;
		put_samples(1);
		time += 1000;
	}
}

/* 1 ms to 101 ms, so that a column in seconds is useful. */
/* stack: and a whole stack of the kernel. */
static void put_threads(bool stack)
{
	const struct pcce_rec_module kernel = {.module = 2};
	const uint64_t ms = 1000000;

	put_thread(1 * ms, PID + 1, "worker");
	put_thread(1 * ms, PID + 2, "pool");
	begin(BASE + 0x1005, 0);
	put_from(PID, PID, 1 * ms, 0, 4);
	in_eval(0);
	put_from(PID, PID + 1, 11 * ms, 0, 10);
	in_eval(4);
	put_from(PID, PID + 1, 51 * ms, 1, 6);
	begin(BASE + 0x6004, 0);
	put_from(PID, PID + 2, 21 * ms, 0, 5);
	put_from(PID, PID + 2, 81 * ms, 0, 3);
	begin(BASE + 0x4004, 0);
	push(0, S_MAIN_SORT, 0);
	put_from(200, 200, 61 * ms, 0, 7);
	begin(BASE + 0x7004, 0);
	put_from(200, 200, 101 * ms, 1, 2);
	/* In the kernel, with and without names of its functions. */
	begin(BASE + 0x7004, 0);
	s.sample.flags = PCCE_SAMPLE_KERNEL;
	s.sample.kip = KERNEL + 0x1234;
	put_from(200, 200, 91 * ms, 0, 2);
	s.sample.kip = KERNEL + 0x99999;
	put_from(200, 200, 93 * ms, 0, 1);
	if (stack) {
		put_kernel_stack(
			0, 3,
			(const uint64_t[]){KERNEL + 0x1234, KERNEL + 0x2345, KERNEL + 0x3456});
		s.sample.flags |= PCCE_SAMPLE_KERNEL_STACK;
		s.sample.kip = 0;
		put_from(200, 200, 94 * ms, 0, 3);
	}
	/* A thread without a record. */
	begin(BASE + 0x7004, 0);
	put_from(200, 203, 71 * ms, 0, 1);
	/* Recorded late, and not in order. */
	put_thread(70 * ms, PID + 2, "pool-idle");
	put_process(60 * ms, 200, PID, PCCE_PROCESS_FORK, "demo");
	put_process(65 * ms, 200, PID, 0, "helper");
	put_strings(PCCE_REC_MODULE, &kernel, sizeof(kernel),
		    (const char *const[]){PCCE_MODULE_KERNEL}, 1);
	put_symbol(2, KERNEL + 0x1234, 0, "vfs_read", "", 0, 0);
	put_symbol(2, KERNEL + 0x3456, 0, "do_syscall_64", "", 0, 0);
}

/* Stacks of up to 900,000 frames in one record. */
static void put_deep(void)
{
	for (unsigned int n = 2; n <= PCCE_SEGMENT_ENTRIES; n++) {
		in_eval(1);
		for (unsigned int i = 1; i < n; i++)
			push(0, S_EVAL_EVAL, 60000 - n);
		put_samples(1);
	}
}

static void put_verify(void)
{
	/* eval, called four times over, from parse, from main, from the C library */
	in_eval(3);
	s.sample.flags = PCCE_SAMPLE_STACK;
	stack[0] = s.sample.ip;
	for (int i = 1; i <= 3; i++)
		stack[i] = BASE + b.sites[S_EVAL_EVAL].key + 5;
	stack[4] = BASE + b.sites[S_PARSE_EVAL].key + 5;
	stack[5] = BASE + b.sites[S_MAIN_PARSE].key + 5;
	stack[6] = LIBC + 0x2000;
	s.sample.n_stack = 7;
	put_samples(5);
	s.sample.n_stack = 3; /* the unwinder gave up */
	s.sample.flags |= PCCE_SAMPLE_UNWIND_BAD;
	put_samples(3);
	s.sample.n_stack = 7;
	s.sample.flags &= ~PCCE_SAMPLE_UNWIND_BAD;
	stack[3] = BASE + b.sites[S_PARSE_EVAL].key + 5; /* one level less, one call too many */
	put_samples(2);
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* About 20,000 contexts that differ in depth and order, each at eight instructions.  An
 * interpreter's profile is similar. */
static void put_big(unsigned long n)
{
	uint64_t x = 88172645463325252ULL;

	for (unsigned long i = 0; i < n; i++) {
		uint64_t y = next_random(&x) % 20000 + 1,
			 depth = 4 + next_random(&y) % (PCCE_SEGMENT_ENTRIES - 4);

		begin(BASE + 0x3000 + (x >> 20 & 7), 0);
		push(1, S_EVAL_EVAL, 0);
		for (uint64_t k = 0; k < depth; k++)
			push(0, S_EVAL_EVAL, next_random(&y) % 5);
		s.sample.time = 2000 + i;
		s.sample.tid = PID + x % 4;
		s.sample.r11 = x;
		put_samples(1);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	bool verify = !strcmp(what, "verify"), event = !strcmp(what, "hostile-event");
	bool threads = !strcmp(what, "threads") || !strcmp(what, "kernel");
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: generate "
				"small|heavy|verify|big|badtable|empty|threads|kernel|deep|hostile "
				"FILE "
				"[SAMPLES]\n");
		return 2;
	}
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		check(-errno);
	hostile = event || !strcmp(what, "hostile");
	weight = !strcmp(what, "heavy") ? 10000000 : 1;
	build_program();
	check(datafile_writer_new(fd, argv[2], &w));
	put_start(verify ? PCCE_INFO_VERIFY : 0, threads ? "cpu-clock,page-faults"
						 : event ? "page-faults"
							 : "cpu-clock");
	/* The library's mapping is recorded late, after samples in it. */
	put_module(0, "/usr/bin/demo", BASE, 1000);
	put_module(1, "/lib/x86_64-linux-gnu/libc.so.6", LIBC, 5000);
	put_table(!strcmp(what, "badtable"));
	if (!strcmp(what, "small") || !strcmp(what, "badtable") || hostile || weight > 1)
		put_small();
	else if (verify)
		put_verify();
	else if (threads)
		put_threads(!strcmp(what, "kernel"));
	else if (!strcmp(what, "deep"))
		put_deep();
	else if (!strcmp(what, "big"))
		put_big(argc > 3 ? strtoul(argv[3], NULL, 10) : 1000000);
	put_symbols();
	put_end(n_put);
	check(datafile_writer_close(w));
	return 0;
}
