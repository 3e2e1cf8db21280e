// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unwinds the real stack for verify mode, in libpcce-verify.so.
 *
 * The recorder puts the library into LD_PRELOAD, and the self sampler finds it by name. So programs
 * need no unwinder unless they are verified.
 *
 * libunwind works from a signal handler: it allocates with mmap, and nothing else in the process
 * uses it, so its locks are free. The loader's lock in dl_iterate_phdr() is recursive.
 *
 * But libunwind also exports what C++ needs to throw. What a preloaded library needs is searched
 * before what the program's libraries need. So the program would throw with libunwind, and a sample
 * in the middle of that would wait for a lock for ever. Therefore it needs libgcc_s first.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stddef.h>
#include <stdint.h>
#include "self.h"

__attribute__((visibility("default"))) verify_unwind_fn pcce_verify_unwind;

__attribute__((constructor)) static void choose_caching(void)
{
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
}

int pcce_verify_unwind(void *context, uint64_t *pcs, int max, int *complete)
{
	unw_context_t here;
	unw_cursor_t cursor;
	unw_word_t pc;
	int n = 0, ret;

	*complete = 0;
	if (context) {
		ret = unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME);
	} else {
		unw_getcontext(&here);
		ret = unw_init_local(&cursor, &here);
	}
	if (ret < 0)
		return 0;
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0 || pc == 0)
			break;
		if (n == max)
			return n;
		pcs[n++] = pc;
		ret = unw_step(&cursor);
	} while (ret > 0);
	*complete = ret == 0;
	return n;
}
