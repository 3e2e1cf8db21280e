// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Empties the encoding stack when the main thread ends by pthread_exit() or is cancelled.
 *
 * Then the C library jumps into the function that had called main(), by a jump that nobody else can
 * see. What main() and its callees have pushed would still be there while destructors and exit
 * handlers run. In other threads thread_body.S prevents that. For this thread the jump is led
 * through a stub (main_stub.S) that empties the encoding stack.
 *
 * The C library keeps its buffers for such jumps in a list; the outermost one is that of the main
 * thread. A buffer that is registered for a moment shows where the list begins. Addresses in a
 * jmp_buf are disguised, always in the same way on x86-64. The stack pointer in the buffer proves
 * that they are read correctly: it must be right below the buffer, which is a local of its
 * function. Otherwise nothing is changed.
 *
 * This runs at the main thread's first pthread_create(): a program without other threads has no
 * reason to end only the main thread.
 */
#include <pthread.h>
#include <unistd.h>
#include "base/confined.h"
#include "internal.h"
#include "interpose/jmp_buf.h"
#include "base/syscall.h"

#define HIDDEN __attribute__((visibility("hidden")))

#define FRAME_MAX 4096

extern void __pthread_register_cancel(__pthread_unwind_buf_t *);
extern void __pthread_unregister_cancel(__pthread_unwind_buf_t *);

extern HIDDEN const char __pcce_main_unwound[];
extern HIDDEN uint64_t __pcce_main_landing; /* where the jump was to go */

static __pthread_unwind_buf_t *outer(const __pthread_unwind_buf_t *buf)
{
	return buf->__pad[0];
}

void main_exit_prepare(void)
{
	static bool done;
	__pthread_unwind_buf_t mine, *outermost;
	uint64_t *words;

	if (done || is_confined(CONFINED) || raw_syscall0(SYS_gettid) != raw_syscall0(SYS_getpid))
		return;
	__pthread_register_cancel(&mine);
	outermost = outer(&mine);
	__pthread_unregister_cancel(&mine);
	if (!outermost)
		return; /* before main() */
	while (outer(outermost))
		outermost = outer(outermost);
	done = true;
	words = (uint64_t *)outermost->__cancel_jmp_buf;
	if ((uint64_t)outermost - jmp_buf_reveal(words[JMP_BUF_SP]) >= FRAME_MAX)
		return;
	__pcce_main_landing = jmp_buf_reveal(words[JMP_BUF_PC]);
	words[JMP_BUF_PC] = jmp_buf_hide((uint64_t)__pcce_main_unwound);
}
