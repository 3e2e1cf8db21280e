/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crowd N DISTANCE: sleeps 20 times in each of N processes whose numbers have this distance.  Exit
 * status 3 if the kernel does not let it choose numbers.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t fork_as(pid_t number)
{
	struct clone_args a = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};

	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, distance = argc > 2 ? atoi(argv[2]) : 0;

	for (pid_t number = distance + getpid() % distance; n > 0; number += distance) {
		pid_t pid = fork_as(number);

		if (pid < 0 && errno == EEXIST)
			continue;
		if (pid < 0)
			return 3;
		n--;
		if (!pid) {
			for (int k = 0; k < 20; k++)
				usleep(5000);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
