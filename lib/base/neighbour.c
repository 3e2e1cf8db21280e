/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See neighbour.h. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/message.h"
#include "base/neighbour.h"
#include "base/text.h"

void neighbour_exec(const char *name, char **argv)
{
	char self[PATH_MAX], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0) {
		message(NULL, "cannot find %s: cannot read /proc/self/exe: %s", name,
			strerror(errno));
		return;
	}
	self[n] = 0;
	snprintf(path, sizeof(path), "%.*s%.32s", (int)(text_base(self) - self), self, name);
	execv(path, argv);
	message(NULL, "cannot run %s: %s; reinstall pcce", path, strerror(errno));
}

int neighbour_run(const char *name, char **argv)
{
	pid_t parent = getpid(), pid = fork(), ended;
	int status = 0;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == parent)
			neighbour_exec(name, argv);
		_exit(127);
	}
	if (pid < 0)
		message(NULL, "cannot run %s: %s", name, strerror(errno));
	do
		ended = pid > 0 ? waitpid(pid, &status, 0) : -1;
	while (pid > 0 && ended < 0 && errno == EINTR);
	return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
