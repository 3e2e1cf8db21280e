/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See window_files.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "record/say.h"
#include "record/window_files.h"

#define NICE 10 /* of what completes files */

int window_files_name(struct window_files *f, const char *output)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	time_t seconds = (time_t)(now / 1000000000);
	char when[32];
	struct tm tm;

	strftime(when, sizeof(when), "%Y%m%d%H%M%S", gmtime_r(&seconds, &tm));
	free(f->path);
	free(f->part);
	if (asprintf(&f->path, "%s.%s%03u", output, when,
		     (unsigned int)(now % 1000000000 / 1000000)) < 0)
		f->path = NULL;
	if (!f->path || asprintf(&f->part, "%s.part", f->path) < 0)
		f->part = NULL;
	return f->part ? 0 : -ENOMEM;
}

static void take_completer(struct window_files *f, int status)
{
	f->completer = 0;
	f->failed |= !WIFEXITED(status) || WEXITSTATUS(status);
}

bool window_files_busy(struct window_files *f)
{
	int status;

	if (f->completer && waitpid(f->completer, &status, WNOHANG) == f->completer)
		take_completer(f, status);
	return f->completer;
}

void window_files_wait(struct window_files *f)
{
	int status;

	while (f->completer) {
		if (waitpid(f->completer, &status, 0) == f->completer)
			take_completer(f, status);
		else if (errno != EINTR)
			return;
	}
}

int window_files_rename(const struct window_files *f)
{
	int err = rename(f->part, f->path) ? -errno : 0;

	if (err)
		say("cannot rename %s: %s", f->part, strerror(-err));
	return err;
}

static int complete_now(const struct window_files *f, int (*complete)(void *ctx), void *ctx)
{
	int err = complete(ctx);

	return err ? err : window_files_rename(f);
}

void window_files_complete(struct window_files *f, int (*complete)(void *ctx), void *ctx)
{
	pid_t pid = fork();

	f->n++;
	if (pid > 0) {
		f->completer = pid;
		return;
	}
	if (pid < 0) {
		f->failed |= complete_now(f, complete, ctx) != 0;
		return;
	}
	/* A terminal sends these to the whole group. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	setpriority(PRIO_PROCESS, 0, NICE);
	_exit(complete_now(f, complete, ctx) ? 1 : 0);
}

void window_files_free(struct window_files *f)
{
	window_files_wait(f);
	free(f->path);
	free(f->part);
}
