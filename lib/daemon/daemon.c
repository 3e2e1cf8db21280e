/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs two other commands. pcce-record --switch-output writes windows into the spool. For each
 * window, the oldest first, pcce-push adds it to the store. Only files are between them, so neither
 * waits for the other, and what is in the spool outlives a crash of all three.
 *
 * The state is small: a process or 0 for each of the two, and when it may be started again. The
 * loop below does what is due, then waits for a signal, a new file or the next due time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/message.h"
#include "base/neighbour.h"
#include "daemon/daemon.h"
#include "daemon/metrics.h"
#include "daemon/spool.h"
#include "store/directory.h"

#define SECOND ((uint64_t)1000000000)
#define NEVER UINT64_MAX
#define WAIT_MOST (300 * SECOND) /* between two attempts to send */
#define SEND_MOST (300 * SECOND) /* of an attempt */
#define START_MOST (60 * SECOND) /* between two starts of the recorder */
#define LEFT_MOST (30 * SECOND)	 /* until what a killed recorder has left must end */
#define LOOK (SECOND / 10)	 /* between two looks whether it has */
#define STRIKES 3		 /* failures of a window while the store takes others */
#define WRONG_USE 64		 /* exit status of pcce-record */

#define say(...) message("pcced", __VA_ARGS__)

struct daemon {
	const char *path;
	struct daemon_config c;
	struct spool spool;
	struct metrics metrics;
	int lock, signals, changes; /* descriptors */
	sigset_t old_mask;

	pid_t recorder, group; /* group: of the last recorder, until all of it has ended */
	uint64_t started, start_at, start_wait, left_until;

	pid_t sender;
	char *sending; /* its window */
	uint64_t send_until, send_at, send_wait;
	char *bad; /* a window that failed */
	unsigned int strikes;
	bool other; /* send another one next */

	bool ending, failed;
};

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Returns FOLDER/NAME of the spool. NULL: no memory. */
static char *spool_path(const struct daemon *d, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", d->c.spool, name) < 0 ? NULL : path;
}

static bool remove_window(const struct daemon *d, const char *name)
{
	char *path = spool_path(d, name);
	bool removed = path && (!unlink(path) || errno == ENOENT);

	if (path && !removed)
		say("cannot remove %s: %s", path, strerror(errno));
	free(path);
	return removed;
}

/* Removes a window that was not sent, and counts its samples. */
static void drop_window(struct daemon *d, const char *name, uint64_t *counter)
{
	uint64_t samples, lost;

	spool_counts(d->c.spool, name, &samples, &lost);
	d->metrics.dropped_samples += samples;
	++*counter;
	remove_window(d, name);
}

/* ---- the recorder ------------------------------------------------------------------ */

/* Starts a command, which ends if this process does. */
static pid_t start_command(struct daemon *d, const char *name, char **argv)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		say("cannot run %s: %s", name, strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	sigprocmask(SIG_SETMASK, &d->old_mask, NULL);
	if (!strcmp(name, "pcce-record")) {
		setpgid(0, 0);
		/* The next pcced waits for it. */
		fcntl(d->lock, F_SETFD, 0);
	} else {
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	}
	neighbour_exec(name, argv);
	_exit(127);
}

static void start_recorder(struct daemon *d)
{
	char frequency[32], window[64], output[4096];
	char *argv[] = {"pcce-record", "-a", "-q", frequency, window, output, NULL, NULL, NULL};

	snprintf(frequency, sizeof(frequency), "-F%" PRIu64, d->c.frequency);
	snprintf(window, sizeof(window), "--switch-output=%" PRIu64 "s", d->c.window);
	snprintf(output, sizeof(output), "-o%s/" SPOOL_WINDOW, d->c.spool);
	if (d->c.events) {
		argv[6] = "-e";
		argv[7] = d->c.events;
	}
	d->started = now_ns();
	d->start_at = NEVER;
	d->recorder = start_command(d, "pcce-record", argv);
	if (d->recorder < 0) {
		d->recorder = 0;
		d->start_at = d->started + START_MOST;
		return;
	}
	d->group = d->recorder;
	d->metrics.recorders++;
}

static void stop_recorder(struct daemon *d)
{
	if (d->recorder)
		kill(d->recorder, SIGTERM);
}

static void recorder_ended(struct daemon *d, int status)
{
	uint64_t now = now_ns();
	bool good = WIFEXITED(status) && !WEXITSTATUS(status);

	d->recorder = 0;
	d->left_until = now + LEFT_MOST;
	if (WIFEXITED(status) && WEXITSTATUS(status) == WRONG_USE)
		d->ending = d->failed = true;
	if (good) { /* we asked for it */
		d->start_wait = SECOND;
		d->start_at = now;
		return;
	}
	if (now - d->started > START_MOST)
		d->start_wait = SECOND;
	d->start_at = now + d->start_wait;
	if (!d->ending)
		say("the recorder has ended; it is started again in %" PRIu64 " s",
		    d->start_wait / SECOND);
	d->start_wait = 2 * d->start_wait < START_MOST ? 2 * d->start_wait : START_MOST;
}

/* A recorder that was killed can leave a process that completes a window. True if all have ended;
 * their windows are whole then, or cut off. */
static bool recorder_is_gone(struct daemon *d)
{
	if (d->recorder)
		return false;
	if (!d->group)
		return true;
	if (!kill(-d->group, 0)) {
		if (now_ns() < d->left_until)
			return false;
		kill(-d->group, SIGKILL);
	}
	d->group = 0;
	spool_adopt(d->c.spool);
	return true;
}

/* The recorder keeps what it knows of files and of kernel stacks until it ends. */
static void check_memory(struct daemon *d)
{
	char path[64], line[256];
	uint64_t kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)d->recorder);
	f = d->recorder ? fopen(path, "re") : NULL;
	if (!f)
		return;
	while (fgets(line, sizeof(line), f) && sscanf(line, "RssAnon: %" SCNu64, &kib) != 1)
		;
	fclose(f);
	if (kib * 1024 > d->c.memory)
		stop_recorder(d);
}

/* ---- sending ------------------------------------------------------------------------ */

static bool is_window_named(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static void forget_bad(struct daemon *d)
{
	free(d->bad);
	d->bad = NULL;
	d->strikes = 0;
	d->other = false;
}

/* The oldest window, unless it has just failed: then the one after it shows who is to blame. */
static const char *window_to_send(const struct daemon *d)
{
	bool second =
		d->other && d->spool.n > 1 && is_window_named(d->bad, d->spool.windows[0].name);

	return d->spool.windows[second].name;
}

static void start_sending(struct daemon *d)
{
	char *argv[] = {"pcce-push", "-q", "-t", d->c.store, NULL, NULL, NULL, NULL}, *file;
	int n = 4;

	d->sending = strdup(window_to_send(d));
	file = d->sending ? spool_path(d, d->sending) : NULL;
	if (!file) {
		d->send_at = now_ns() + WAIT_MOST;
		return;
	}
	if (d->c.service) {
		argv[n++] = "-s";
		argv[n++] = d->c.service;
	}
	argv[n] = file;
	d->send_until = now_ns() + SEND_MOST;
	d->sender = start_command(d, "pcce-push", argv);
	if (d->sender < 0) {
		d->sender = 0;
		d->send_at = now_ns() + WAIT_MOST;
	}
	free(file);
}

static void sending_failed(struct daemon *d)
{
	uint64_t now = now_ns();

	d->metrics.failures++;
	if (!d->bad)
		d->bad = strdup(d->sending);
	d->other = is_window_named(d->bad, d->sending);
	d->send_at = now + d->send_wait;
	d->send_wait = 2 * d->send_wait < WAIT_MOST ? 2 * d->send_wait : WAIT_MOST;
}

static void sending_succeeded(struct daemon *d)
{
	struct error why;

	d->metrics.sent++;
	d->metrics.last_sent = (uint64_t)time(NULL);
	d->send_wait = SECOND;
	d->send_at = now_ns() + (remove_window(d, d->sending) ? 0 : WAIT_MOST);
	if (is_window_named(d->bad, d->sending)) {
		forget_bad(d);
	} else if (d->bad) {
		d->other = false;
		if (++d->strikes == STRIKES) {
			say("the store takes other windows than %s; it is removed", d->bad);
			drop_window(d, d->bad, &d->metrics.refused);
			forget_bad(d);
		}
	}
	if (daemon_config_has_folder(&d->c) &&
	    directory_expire(d->c.store, d->c.keep_size, d->c.keep_age, &why))
		say("%s", why.text);
}

static void sender_ended(struct daemon *d, int status)
{
	bool good = WIFEXITED(status) && !WEXITSTATUS(status);

	d->sender = 0;
	if (good)
		sending_succeeded(d);
	else
		sending_failed(d);
	free(d->sending);
	d->sending = NULL;
}

/* ---- the spool ---------------------------------------------------------------------- */

/* Removes the oldest windows beyond the limit. */
static void limit_spool(struct daemon *d)
{
	uint64_t before = d->metrics.dropped;

	for (size_t i = 0; i < d->spool.n && d->spool.bytes > d->c.spool_size; i++) {
		const struct spool_window *w = &d->spool.windows[i];

		if (is_window_named(d->sending, w->name))
			continue;
		if (is_window_named(d->bad, w->name))
			forget_bad(d);
		drop_window(d, w->name, &d->metrics.dropped);
		d->spool.bytes -= w->bytes;
	}
	if (d->metrics.dropped == before)
		return;
	say("the spool is full: %" PRIu64 " windows were removed", d->metrics.dropped - before);
	spool_list(&d->spool, d->c.spool);
}

static void window_came(struct daemon *d, const char *name)
{
	uint64_t samples, lost;

	if (strncmp(name, SPOOL_WINDOW ".", sizeof(SPOOL_WINDOW)) || strstr(name, ".part"))
		return;
	spool_counts(d->c.spool, name, &samples, &lost);
	d->metrics.recorded++;
	d->metrics.samples += samples;
	d->metrics.lost += lost;
	d->metrics.last_recorded = (uint64_t)time(NULL);
	check_memory(d);
}

static void hear_changes(struct daemon *d)
{
	_Alignas(struct inotify_event) char buffer[4096];
	ssize_t n;

	while ((n = read(d->changes, buffer, sizeof(buffer))) > 0)
		for (char *at = buffer; at < buffer + n;) {
			const struct inotify_event *e = (const struct inotify_event *)at;

			if (e->len)
				window_came(d, e->name);
			at += sizeof(*e) + e->len;
		}
}

/* ---- signals ------------------------------------------------------------------------ */

static void print_config_mistake(const char *text)
{
	say("%s", text);
}

static void reload(struct daemon *d)
{
	struct daemon_config c;

	if (daemon_config_read(d->path, &c, print_config_mistake)) {
		say("the configuration stays as it was");
		return;
	}
	if (strcmp(c.spool, d->c.spool)) {
		say("cannot use another spool while pcced runs; start pcced again");
		daemon_config_free(&c);
		return;
	}
	if (!daemon_config_records_equally(&c, &d->c))
		stop_recorder(d);
	daemon_config_free(&d->c);
	d->c = c;
	d->send_at = 0;
	d->send_wait = SECOND;
	say("the configuration was read again");
}

static void end_daemon(struct daemon *d)
{
	if (d->ending && d->sender)
		kill(d->sender, SIGTERM);
	d->ending = true;
	d->send_at = 0;
	stop_recorder(d);
}

static void reap(struct daemon *d)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == d->recorder)
			recorder_ended(d, status);
		else if (pid == d->sender)
			sender_ended(d, status);
	}
}

static void hear_signals(struct daemon *d)
{
	struct signalfd_siginfo info;

	while (read(d->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload(d);
		else if (info.ssi_signo != SIGCHLD)
			end_daemon(d);
	}
	reap(d);
}

/* ---- the loop ----------------------------------------------------------------------- */

static void write_metrics(struct daemon *d)
{
	int err;

	d->metrics.spool_windows = d->spool.n;
	d->metrics.spool_bytes = d->spool.bytes;
	err = d->c.metrics ? metrics_write(&d->metrics, d->c.metrics) : 0;
	if (err)
		say("cannot write %s: %s", d->c.metrics, strerror(-err));
}

/* Does what is due. Returns when it must be called again. */
static uint64_t do_what_is_due(struct daemon *d)
{
	uint64_t now = now_ns(), next = NEVER;
	bool gone = recorder_is_gone(d);

	spool_list(&d->spool, d->c.spool);
	limit_spool(d);
	if (gone && !d->ending && now >= d->start_at)
		start_recorder(d);
	if (d->sender && now >= d->send_until)
		kill(d->sender, SIGKILL);
	if (!d->sender && d->spool.n && now >= d->send_at)
		start_sending(d);
	if (!gone && !d->recorder)
		next = now + LOOK;
	if (!d->recorder && !d->ending && d->start_at < next)
		next = d->start_at;
	if (d->sender && d->send_until < next)
		next = d->send_until;
	if (!d->sender && d->spool.n && d->send_at < next)
		next = d->send_at;
	write_metrics(d);
	return next;
}

/* At the end, all is sent until an attempt fails. */
static bool is_over(struct daemon *d)
{
	return d->ending && recorder_is_gone(d) && !d->sender &&
	       (!d->spool.n || d->send_at > now_ns());
}

static void run_daemon(struct daemon *d)
{
	struct pollfd fds[] = {{.fd = d->signals, .events = POLLIN},
			       {.fd = d->changes, .events = POLLIN}};

	for (;;) {
		uint64_t next = do_what_is_due(d), now = now_ns();
		uint64_t ms = next <= now ? 0 : (next - now) / 1000000 + 1;

		if (is_over(d))
			return;
		poll(fds, 2, next == NEVER ? -1 : ms < 60000 ? (int)ms : 60000);
		hear_changes(d);
		hear_signals(d);
	}
}

/* Only one pcced uses a spool. Another one that was killed can have a recorder, which ends then. */
static int lock_spool(struct daemon *d)
{
	char *path = spool_path(d, "lock");
	int err = 0;

	d->lock = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	for (int i = 0; d->lock >= 0; i++) {
		err = flock(d->lock, LOCK_EX | LOCK_NB) ? errno : 0;
		if (!err || i == 100)
			break;
		usleep(100000);
	}
	if (d->lock < 0)
		say("cannot use the spool %s: %s", d->c.spool, strerror(errno));
	else if (err)
		say("cannot use the spool %s: another pcced uses it", d->c.spool);
	free(path);
	return d->lock < 0 || err ? -1 : 0;
}

static int begin_daemon(struct daemon *d)
{
	sigset_t heard;

	sigemptyset(&heard);
	sigaddset(&heard, SIGTERM);
	sigaddset(&heard, SIGINT);
	sigaddset(&heard, SIGHUP);
	sigaddset(&heard, SIGCHLD);
	sigprocmask(SIG_BLOCK, &heard, &d->old_mask);
	d->signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
	d->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (d->signals < 0 || d->changes < 0) {
		say("cannot wait for signals and files: %s", strerror(errno));
		return -1;
	}
	if (lock_spool(d))
		return -1;
	/* Processes that a killed recorder leaves become children of this one. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	spool_adopt(d->c.spool);
	if (inotify_add_watch(d->changes, d->c.spool, IN_MOVED_TO) < 0) {
		say("cannot watch the spool %s: %s", d->c.spool, strerror(errno));
		return -1;
	}
	return 0;
}

int daemon_run(const char *path, struct daemon_config *c)
{
	struct daemon d = {
		.path = path, .c = *c, .lock = -1, .start_wait = SECOND, .send_wait = SECOND};
	int err = begin_daemon(&d);

	if (!err)
		run_daemon(&d);
	spool_free(&d.spool);
	free(d.bad);
	daemon_config_free(&d.c);
	return err || d.failed ? 1 : 0;
}
