// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * When the main thread ends by pthread_exit() or is cancelled, the C library jumps into the
 * function that had called main(), by a jump that is nobody else's to see.  What main() and its
 * callees have pushed is still there then, while destructors and exit handlers run.  Other threads
 * have thread_body.S against that; for this one the jump is led through a stub (main_stub.S) that
 * empties the encoding stack.
 *
 * The C library keeps its buffers for such jumps in a list, the outermost of which is that one.
 * A buffer registered for a moment tells where the list begins.  Addresses in a jmp_buf are
 * disguised, always in the same way on x86-64; that we read them rightly is told by the stack
 * pointer in it, which must be right below the buffer, a local of the function it belongs to.
 * Otherwise nothing is changed.
 *
 * Done at the main thread's first pthread_create(): nobody ends the main thread alone who has no
 * others.
 */
#include <pthread.h>
#include <unistd.h>
#include "internal.h"
#include "jmp_buf.h"
#include "syscall.h"

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

	if (done || raw_syscall0(SYS_gettid) != raw_syscall0(SYS_getpid))
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
