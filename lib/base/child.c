/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Uses two pipes. The child waits for end of file on the first. It reports through the second why
 * it could not exec; a successful exec closes the second.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

char *child_find(const char *name, int *err)
{
	const char *path = getenv("PATH"), *end;
	struct stat st;
	char *full;

	*err = -ENOENT;
	if (strchr(name, '/')) {
		if (!access(name, F_OK))
			return strdup(name);
		*err = -errno;
		return NULL;
	}
	for (path = path ? path : "/bin:/usr/bin"; *name; path = end + 1) {
		end = strchrnul(path, ':');
		if (asprintf(&full, "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "",
			     name) < 0)
			return NULL;
		if (!stat(full, &st) && S_ISREG(st.st_mode)) {
			if (!access(full, X_OK))
				return full;
			*err = -EACCES;
		}
		free(full);
		if (!*end)
			break;
	}
	return NULL;
}

static void run_child(const struct child *c, char **argv)
{
	sigset_t none;
	char byte;
	int err;

	/* A process inherits blocked signals and limits through exec, but not the recorder's
	 * handlers. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (c->old_int.sa_handler == SIG_IGN)
		signal(SIGINT, SIG_IGN);
	if (c->old_term.sa_handler == SIG_IGN)
		signal(SIGTERM, SIG_IGN);
	if (c->old_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &c->old_files);
	while (read(c->go, &byte, 1) < 0 && errno == EINTR)
		;
	execvp(argv[0], argv);
	err = errno;
	if (write(c->result, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

bool child_preloads_runtime(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "libpcce.so");
}

int child_fork(struct child *c, char **argv)
{
	int go[2], result[2], err;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(result, O_CLOEXEC)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	fflush(NULL);
	c->pid = fork();
	if (!c->pid) {
		close(go[1]);
		close(result[0]);
		c->go = go[0];
		c->result = result[1];
		run_child(c, argv);
	}
	err = c->pid < 0 ? -errno : 0;
	close(go[0]);
	close(result[1]);
	c->go = go[1];
	c->result = result[0];
	if (err) {
		close(c->go);
		close(c->result);
	}
	return err;
}

int child_release(struct child *c)
{
	int err = 0;
	ssize_t n;

	close(c->go);
	do
		n = read(c->result, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(c->result);
	if (n != sizeof(err))
		return 0;
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -err;
}

void child_cancel(struct child *c)
{
	kill(c->pid, SIGKILL);
	close(c->go);
	close(c->result);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
