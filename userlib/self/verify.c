// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unwinds the real stack for verify mode, in libpcce-verify.so.
 *
 * The recorder puts the library into LD_PRELOAD, and the self sampler finds it by name. So programs
 * need no unwinder unless they are verified.
 *
 * libunwind works from a signal handler: it allocates with mmap. But it takes locks, and a handler
 * must not wait for what the code that it interrupts may hold:
 *
 *  - dl_iterate_phdr(), by which libunwind finds a module, takes the loader's lock. The program's
 *    callbacks run with that lock. So a thread may hold it at any sample, and may wait there for
 *    what another sampled thread holds. During an unwinding, this library's dl_iterate_phdr()
 *    therefore answers instead, with the one module that libunwind looks for (linker_object.h).
 *  - libunwind's cache and memory have locks, too. Only unwindings take these, with all signals
 *    blocked, and wait for nothing else then. But a child of fork() would wait for ever for a lock
 *    that another thread held. So fork() waits until no thread unwinds. Samples at that time are
 *    not verified.
 *
 * libunwind also exports what C++ needs to throw. What a preloaded library needs is searched before
 * what the program's libraries need. So the program would throw with libunwind, and a sample in the
 * middle of that would wait for a lock for ever. Therefore it needs libgcc_s first.
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <elf.h>
#include <libunwind.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include "base/confined.h"
#include "base/linker_object.h"
#include "self/self.h"

#define FORK_PAUSE_NS 100000
#define FORK_PAUSES 10000 /* a second */

typedef int phdr_callback(struct dl_phdr_info *, size_t, void *);
typedef int iterate_fn(phdr_callback *, void *);

__attribute__((visibility("default"))) verify_unwind_fn pcce_verify_unwind;
__attribute__((visibility("default"))) iterate_fn dl_iterate_phdr;

/* The address for which libunwind looks in this thread; 0: it looks for none. */
static __thread uint64_t looked_for __attribute__((tls_model("initial-exec")));
static iterate_fn *real_iterate;
static unsigned int n_unwinding, n_forking;
static bool is_broken; /* in a child: a lock was held at the fork */

/* ---- modules --------------------------------------------------------------------- */

static int visit_module(phdr_callback *callback, void *data)
{
	struct dl_phdr_info info = {.dlpi_adds = 1};
	struct found_object o;
	const Elf64_Ehdr *header;

	if (!linker_object_at(looked_for, &o))
		return 0;
	header = (const Elf64_Ehdr *)o.start;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_phentsize != sizeof(*info.dlpi_phdr) ||
	    header->e_phoff + header->e_phnum * sizeof(*info.dlpi_phdr) >
		    (uint64_t)(o.end - o.start))
		return 0;
	info.dlpi_addr = o.link_map->l_addr;
	info.dlpi_name = o.link_map->l_name;
	info.dlpi_phdr = (const Elf64_Phdr *)(o.start + header->e_phoff);
	info.dlpi_phnum = header->e_phnum;
	return callback(&info, sizeof(info), data);
}

static iterate_fn *find_real_iterate(void)
{
	if (!real_iterate)
		real_iterate = (iterate_fn *)(uintptr_t)dlsym(RTLD_NEXT, "dl_iterate_phdr");
	return real_iterate;
}

/* The program's calls are jumps to the C library's function, which looks at its return address. */
int dl_iterate_phdr(phdr_callback *callback, void *data)
{
	if (looked_for)
		return visit_module(callback, data);
	return find_real_iterate()(callback, data);
}

/* ---- forks ----------------------------------------------------------------------- */

static bool begin_unwinding(void)
{
	__atomic_add_fetch(&n_unwinding, 1, __ATOMIC_SEQ_CST);
	return !__atomic_load_n(&n_forking, __ATOMIC_SEQ_CST) && !is_broken;
}

static void end_unwinding(void)
{
	__atomic_sub_fetch(&n_unwinding, 1, __ATOMIC_SEQ_CST);
}

static void before_fork(void)
{
	const struct timespec pause = {.tv_nsec = FORK_PAUSE_NS};

	__atomic_add_fetch(&n_forking, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < FORK_PAUSES && !is_confined(CONFINED) &&
			__atomic_load_n(&n_unwinding, __ATOMIC_SEQ_CST);
	     i++)
		nanosleep(&pause, NULL);
}

static void after_fork(void)
{
	__atomic_sub_fetch(&n_forking, 1, __ATOMIC_SEQ_CST);
}

static void in_child(void)
{
	is_broken |= n_unwinding != 0;
	n_unwinding = 0;
	n_forking = 0;
}

/* ---- unwinding ------------------------------------------------------------------- */

__attribute__((constructor)) static void prepare_unwinding(void)
{
	find_real_iterate();
	linker_object_begin();
	pthread_atfork(before_fork, after_fork, in_child);
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
}

static int start_cursor(unw_cursor_t *cursor, unw_context_t *here, void *context)
{
	if (context)
		return unw_init_local2(cursor, context, UNW_INIT_SIGNAL_FRAME);
	return unw_init_local(cursor, here);
}

/* Has the code at the cursor no unwind information, so that libunwind would guess its caller? */
static bool is_guess(unw_cursor_t *cursor)
{
	unw_proc_info_t info;

	/* libunwind then says that a function of one byte is there. */
	return unw_get_proc_info(cursor, &info) < 0 || info.end_ip - info.start_ip <= 1;
}

static int unwind_frames(unw_cursor_t *cursor, uint64_t *pcs, int max, int *complete)
{
	unw_word_t pc;
	int n = 0, ret = 1;

	do {
		if (unw_get_reg(cursor, UNW_REG_IP, &pc) < 0 || pc == 0)
			break;
		if (n == max)
			return n;
		pcs[n++] = pc;
		looked_for = pc;
		if (is_guess(cursor))
			return n;
		ret = unw_step(cursor);
	} while (ret > 0);
	*complete = ret == 0;
	return n;
}

int pcce_verify_unwind(void *context, uint64_t *pcs, int max, int *complete)
{
	unw_context_t here;
	unw_cursor_t cursor;
	int n = 0;

	*complete = 0;
	if (begin_unwinding()) {
		unw_getcontext(&here);
		if (start_cursor(&cursor, &here, context) >= 0)
			n = unwind_frames(&cursor, pcs, max, complete);
		looked_for = 0;
	}
	end_unwinding();
	return n;
}
