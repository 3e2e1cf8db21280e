/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See targets.h. A pidfd stays with its process, whoever gets its number later. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "record/say.h"
#include "record/targets.h"

#define COMM_LENGTH 15 /* the kernel cuts the names of commands */

bool targets_have(const struct targets *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->pids[i] == pid)
			return true;
	return false;
}

static int add_target(struct targets *t, pid_t pid)
{
	int fd;

	if (targets_have(t, pid))
		return 0;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	if (array_grow(&t->pids, t->n, sizeof(*t->pids)) ||
	    array_grow(&t->fds, t->n, sizeof(*t->fds))) {
		close(fd);
		return -ENOMEM;
	}
	t->pids[t->n] = pid;
	t->fds[t->n++] = fd;
	return 0;
}

static bool has_command_name(const char *process, const char *name)
{
	char path[300], comm[COMM_LENGTH + 2] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", process);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		*comm = 0;
	fclose(f);
	comm[strcspn(comm, "\n")] = 0;
	return *comm && !strncmp(comm, name, COMM_LENGTH) && strlen(name) >= strlen(comm);
}

static int add_command(struct targets *t, const char *name)
{
	struct dirent *entry;
	DIR *d = opendir("/proc");
	size_t before = t->n;
	int err = 0;

	while (d && !err && (entry = readdir(d))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && pid != getpid() && has_command_name(entry->d_name, name))
			err = add_target(t, pid);
		if (err == -ESRCH)
			err = 0;
	}
	if (d)
		closedir(d);
	if (!err && t->n == before) {
		say("cannot record process %s: no process has this command name; name a running "
		    "one, or its number",
		    name);
		return -ESRCH;
	}
	if (err)
		say("cannot attach to process %s: %s", name, strerror(-err));
	return err;
}

static int add_process_number(struct targets *t, const char *word)
{
	long number = strtol(word, NULL, 10);
	int err = number > 0 && number <= INT_MAX ? add_target(t, (pid_t)number) : -ESRCH;

	if (err == -ESRCH)
		say("cannot record process %s: no such process", word);
	else if (err)
		say("cannot attach to process %s: %s", word, strerror(-err));
	return err;
}

bool targets_are_named(const char *list)
{
	size_t length = strlen(list);

	return length && *list != ',' && !strstr(list, ",,") && list[length - 1] != ',';
}

int targets_add(struct targets *t, const char *list)
{
	char *copy = strdup(list), *rest = copy, *word;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (word = strsep(&rest, ",")))
		err = isdigit((unsigned char)*word) && word[strspn(word, "0123456789")] == 0
			      ? add_process_number(t, word)
			      : add_command(t, word);
	free(copy);
	return err;
}

bool targets_have_ended(const struct targets *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct pollfd p = {.fd = t->fds[i], .events = POLLIN};

		if (poll(&p, 1, 0) <= 0)
			return false;
	}
	return true;
}

void targets_free(struct targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		close(t->fds[i]);
	free(t->fds);
	free(t->pids);
}
