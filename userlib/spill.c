// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The area for entries beyond the page, reserved when a thread first needs it.
 *
 * Called from the middle of a push, at any place of the program and in any of its
 * signal handlers: no C library, no errno, no vector registers (the build says
 * -mgeneral-regs-only), no lock.  It also stands in every instrumented shared
 * library, so it must not use anything of the rest of the runtime.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <pcce/abi.h>
#include "syscall.h"

extern __thread struct pcce_page pcce_page __attribute__((tls_model("initial-exec")));

#define SPILL_BYTES ((unsigned long)PCCE_SPILL_ENTRIES * sizeof(struct pcce_entry))

__attribute__((visibility("hidden"))) void __pcce_spill_reserve(void);

void __pcce_spill_reserve(void)
{
	void *area =
		raw_mmap(NULL, SPILL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	__u64 expected = 0;

	if (raw_failed(area))
		return;
	/* One instruction, since a signal handler of this thread may have come here as well.  No
	 * other thread writes the field, so no lock prefix. */
	__asm__ volatile("cmpxchgq %2, %0"
			 : "+m"(pcce_page.spill), "+a"(expected)
			 : "r"((__u64)(unsigned long)area)
			 : "cc", "memory");
	if (expected != 0)
		raw_syscall2(SYS_munmap, area, SPILL_BYTES);
}
