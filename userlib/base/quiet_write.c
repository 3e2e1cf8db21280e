// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Writes to files of the runtime without a signal for the program.
 *
 * A write sends a signal to the calling thread if the file would exceed the limit of file sizes
 * (SIGXFSZ) or if nobody reads the pipe (SIGPIPE). A write to a terminal can stop a process in the
 * background (SIGTTOU). The default actions end or stop the program.
 *
 * So all signals are blocked during the write. If it fails, the signal that it has sent is pending,
 * and is taken away again. A signal that was pending before is the program's, and stays. SIGTTOU is
 * not even sent where it is blocked. All signals, and not three: a handler that leaves by longjmp()
 * would leave them blocked for ever.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include "base/confined.h"
#include "base/quiet_write.h"
#include "base/syscall.h"

long loud_write(int fd, const char *text, size_t size)
{
	while (size) {
		long n = raw_syscall3(SYS_write, fd, text, size);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return n;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Both signals are sent to the thread, so they are taken before one that the process was sent. */
static void take_signal(int sig, uint64_t pending_before)
{
	const struct timespec now = {0};
	uint64_t set = 1ULL << (sig - 1);

	if (!(pending_before & set))
		raw_syscall4(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof(set));
}

long quiet_write(int fd, const char *text, size_t size)
{
	uint64_t all = ~0ULL, mask = 0, pending = 0;
	long r;

	if (is_confined(CONFINED))
		return loud_write(fd, text, size);
	raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(all));
	raw_syscall2(SYS_rt_sigpending, &pending, sizeof(pending));
	r = loud_write(fd, text, size);
	if (r == -EFBIG)
		take_signal(SIGXFSZ, pending);
	if (r == -EPIPE)
		take_signal(SIGPIPE, pending);
	raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return r;
}
