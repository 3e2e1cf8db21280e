/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * unwound COUNT: captures COUNT contexts (pcce_capture) on random walks through recursion, calls
 * through pointers, tail calls, callbacks, signal handlers and a second thread. Each is decoded by
 * libpcce-decode in the same process, and compared with the real stack, as backtrace(3) unwinds it.
 *
 * Both must name the same calls: each frame with an address is the call before the next return
 * address. Only where the context has uninstrumented code or a signal, other return addresses may
 * come first, and behind the outermost frame there are only those of the C library's start.
 */
#include <execinfo.h>
#include <inttypes.h>
#include <pcce.h>
#include <pcce/decode.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK_MAX 4096
#define START_FRAMES 4
#define CALL_LENGTH 15

static struct pcce_decode_process *process;
static long left, compared, frames_compared;
static int depth;
static uint64_t seed = 1;
static volatile int done_in_tail;

static unsigned int choose(unsigned int n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % n;
}

/* ---- the comparison -------------------------------------------------------------- */

static void read_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], path[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		struct pcce_decode_module m = {.path = path};

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*2cx%*c %" SCNx64 " %*s %*s %4095[^\n]",
			   &m.start, &m.end, &m.offset, path) == 4 &&
		    *path == '/')
			pcce_decode_process_add(process, &m, sizeof(m), NULL);
	}
	if (!maps || fclose(maps))
		_exit(2);
}

static void fail(const char *what, const struct pcce_decode_context *c, void **stack, int n)
{
	struct pcce_decode_frame f;

	fprintf(stderr, "unwound: %s\n", what);
	for (size_t i = 0; !pcce_decode_context_frame(c, i, &f, sizeof(f)); i++)
		fprintf(stderr, "  %s %#" PRIx64 "\n", f.function, f.address);
	for (int i = 0; i < n; i++)
		fprintf(stderr, "  stack: %p\n", stack[i]);
	_exit(1);
}

static int is_return_of(void *address, uint64_t call)
{
	return (uint64_t)(uintptr_t)address - call - 1 < CALL_LENGTH;
}

static void compare_stack(const struct pcce_decode_context *c, void **stack, int n)
{
	struct pcce_decode_frame f;
	/* The first return address is in the function that asks, at another call. */
	int at = 1, free = 0, asking = 1;

	if (pcce_decode_context_status(c) != PCCE_DECODE_EXACT)
		fail("a context is not exact", c, stack, n);
	for (size_t i = 0; !pcce_decode_context_frame(c, i, &f, sizeof(f)); i++) {
		if (f.kind == PCCE_DECODE_CODE || f.kind == PCCE_DECODE_SIGNAL) {
			free = i > 0;
		} else if (f.kind == PCCE_DECODE_CALL && asking) {
			asking = 0;
		} else if (f.kind == PCCE_DECODE_CALL) {
			while (free && at < n && !is_return_of(stack[at], f.address))
				at++;
			if (at == n || !is_return_of(stack[at], f.address))
				fail("a call is not on the stack", c, stack, n);
			at++;
			free = 0;
			frames_compared++;
		} else if (f.kind != PCCE_DECODE_TAIL) {
			fail("a frame is of another kind", c, stack, n);
		}
	}
	if (n - at > START_FRAMES)
		fail("outer frames are missing", c, stack, n);
	compared++;
}

static NOINLINE void ask(void)
{
	static union {
		struct pcce_context c;
		char bytes[sizeof(struct pcce_context) + 65536];
	} copy;
	static void *stack[STACK_MAX];
	const struct pcce_decode_context *c;
	struct pcce_decode_error why;
	struct pcce_decode_state s;
	int n;

	if (pcce_capture(&copy.c, sizeof(copy)))
		_exit(3);
	n = backtrace(stack, STACK_MAX);
	s = (struct pcce_decode_state){.ip = copy.c.ip,
				       .id = copy.c.id,
				       .ext = copy.c.ext,
				       .entries = pcce_context_entries(&copy.c),
				       .n_entries = copy.c.n_entries,
				       .missing = copy.c.missing};
	if (pcce_decode_process_state(process, &s, sizeof(s), &c, &why)) {
		fprintf(stderr, "unwound: %s\n", why.text);
		_exit(4);
	}
	compare_stack(c, stack, n);
	left--;
}

/* ---- walks ----------------------------------------------------------------------- */

static void walk(void);

static NOINLINE void target(void)
{
	ask();
	if (depth < 10)
		walk();
	done_in_tail++;
}

static NOINLINE void hop(void)
{
	target();
}

static NOINLINE int compare(const void *a, const void *b)
{
	ask();
	if (depth < 10)
		walk();
	return *(const int *)a - *(const int *)b;
}

static void odd(void);

static NOINLINE void even(void)
{
	ask();
	if (choose(3))
		odd();
	done_in_tail++;
}

static NOINLINE void odd(void)
{
	if (choose(2))
		ask();
	if (choose(3))
		even();
	done_in_tail++;
}

static NOINLINE void deeper(int more)
{
	if (more == 0)
		ask();
	else if (choose(3))
		deeper(more - 1);
	else
		deeper(more - 1);
	done_in_tail++;
}

static void handler(int sig)
{
	ask();
	if (choose(8) == 0)
		deeper(sig + (int)choose(20));
	done_in_tail++;
}

static void (*const pointers[])(void) = {walk, odd, even, hop};

static NOINLINE void walk(void)
{
	int two[2] = {2, 1};

	depth++;
	ask();
	switch (depth > 9 ? 8 : choose(8)) {
	case 0:
		walk();
		break;
	case 1:
		odd();
		break;
	case 2:
		even();
		break;
	case 3:
		pointers[choose(4)]();
		break;
	case 4:
		qsort(two, 2, sizeof(*two), compare);
		break;
	case 5:
		raise(SIGUSR1);
		break;
	case 6:
		hop();
		break;
	case 7:
		if (choose(20) == 0)
			deeper(100);
		break;
	default:
		break;
	}
	depth--;
	ask();
	done_in_tail++;
}

static NOINLINE void run(long count)
{
	for (left = count; left > 0;)
		walk();
	done_in_tail++;
}

static void *thread(void *count)
{
	run(*(long *)count);
	__asm__ volatile("");
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};
	long half = (argc > 1 ? atol(argv[1]) : 1000) / 2;
	struct pcce_decode_error why;
	void *first[4];
	pthread_t t;

	/* It loads the unwinder. */
	backtrace(first, 4);
	if (pcce_decode_process_new(PCCE_DECODE_EXPANDED, &process, &why))
		return 2;
	read_maps();
	sigaction(SIGUSR1, &action, NULL);
	run(half);
	if (pthread_create(&t, NULL, thread, &half) || pthread_join(t, NULL))
		return 2;
	printf("%ld contexts, %ld calls\n", compared, frames_compared);
	pcce_decode_process_free(process);
	return fflush(stdout);
}
