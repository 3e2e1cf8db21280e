/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Forks in the middle of a recursion: parent and child go on, both with the whole context.
 * Also uses vfork and exec.
 *
 * marked: 2
 * expect: (^|;)main;dive;.*dive;in_child;burn( |;)
 * expect: (^|;)main;dive;.*dive;in_parent;burn( |;)
 */
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

static NOINLINE void in_child(void)
{
	burn(29000000);
	burnt++;
}

static NOINLINE void in_parent(void)
{
	burn(30000000);
	burnt++;
}

static NOINLINE int dive(int depth)
{
	int r, status;
	pid_t pid;

	if (depth > 0) {
		r = dive(depth - 1);
		burn(1000);
		return r + 1;
	}
	pid = fork();
	if (pid == 0) {
		in_child();
		_exit(7);
	}
	in_parent();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1000;
	r = WEXITSTATUS(status);
	pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return -2000;
	in_parent();
	return r;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < ROUNDS(20, 2); i++)
		sum += dive(10 + i % 4);
	printf("%d\n", sum);
	return 0;
}
