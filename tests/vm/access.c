/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests who may sample what: pcce/kmod.h and kmod/access.c.  Requests are judged by who makes them.
 * Root opens the device and passes the descriptor on, because other users cannot open it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define USER 1000
#define OTHER 1001

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		abort();
}

/* Starts a process of that user that sleeps until it is killed.  With program, it execs first. */
static pid_t sleeper(uid_t uid, bool program, bool dumpable)
{
	int pipes[2];
	pid_t pid;
	char byte;

	if (pipe2(pipes, O_CLOEXEC))
		abort();
	pid = fork();
	if (pid == 0) {
		if (getuid() != uid)
			become(uid);
		/* The change of the user has cleared this. */
		prctl(PR_SET_DUMPABLE, dumpable);
		if (program)
			execl("/bin/sleep", "sleep", "1000", NULL);
		close(pipes[0]);
		close(pipes[1]);
		for (;;)
			pause();
	}
	close(pipes[1]);
	/* It ends when the exec, or the close, has been done. */
	if (read(pipes[0], &byte, 1))
		abort();
	close(pipes[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void allow(bool yes)
{
	int fd = open("/sys/module/pcce_sampler/parameters/unprivileged", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, yes ? "Y" : "N", 1) != 1)
		abort();
	close(fd);
}

/* Returns the result of SETUP and START, on one of the descriptors that root has opened. */
static int spare[64], n_spare;

static long try(struct pcce_kmod_setup c)
{
	int fd = spare[--n_spare];
	long r = request(fd, PCCE_KMOD_IOC_SETUP, &c);

	if (!r)
		r = request(fd, PCCE_KMOD_IOC_START, NULL);
	close(fd);
	return r;
}

/* Runs a test as that user, with fresh descriptors. */
static void as(uid_t uid, void (*test)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		for (n_spare = 0; n_spare < 64; n_spare++)
			spare[n_spare] = device();
		become(uid);
		test();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		result(false, "a test as user %u ends well (%d)", uid, status);
}

static pid_t of_user, of_other, of_root;

static struct pcce_kmod_setup own(void)
{
	struct pcce_kmod_setup c = usual_setup();

	c.flags |= PCCE_KMOD_EXCLUDE_KERNEL;
	return c;
}

static void nothing(void)
{
	struct pcce_kmod_setup c = own();
	struct pcce_kmod_info info;

	expect("without privilege: open", open(PCCE_KMOD_DEVICE, O_RDWR) < 0 ? -errno : 0, -EACCES);
	expect("without privilege: itself", try(c), -EPERM);
	c.pid = of_root;
	expect("without privilege: root", try(c), -EPERM);
	request(spare[0], PCCE_KMOD_IOC_INFO, &info);
	result(info.privileged == 0, "without privilege: INFO says so");
}

static long locked_bytes(void)
{
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmLck: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb * 1024;
}

/* Returns what SETUP of such a session charges beyond the memory that can be mapped, and sets
 * mapped. */
static long charge(uint32_t flags, long *mapped)
{
	struct pcce_kmod_setup c = own();
	long before = locked_bytes(), charged;
	int fd = spare[--n_spare];

	c.flags |= flags;
	expect("unprivileged=Y: SETUP", request(fd, PCCE_KMOD_IOC_SETUP, &c), 0);
	*mapped = (long)(c.data_offset + c.n_rings * c.data_stride);
	charged = locked_bytes() - before;
	close(fd);
	expect("... whose memory is given back", locked_bytes(), before);
	return charged - *mapped;
}

static void locked_memory(void)
{
	struct rlimit limit;
	long mapped, copied, tables = charge(0, &mapped),
			     stacks = charge(PCCE_KMOD_COPY_STACKS, &copied);

	result(tables >= 256 << 10, "tables of segments count as locked memory (%ld bytes)",
	       tables);
	result(stacks - tables >= 2 * (long)sizeof(struct pcce_stack_table),
	       "tables of stacks count as locked memory (%ld bytes)", stacks - tables);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	limit.rlim_cur = (rlim_t)mapped + 4096;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	expect("unprivileged=Y: no room for the tables", try(own()), -ENOMEM);
	limit.rlim_cur = (rlim_t)mapped + (rlim_t)tables;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	expect("unprivileged=Y: just enough room", try(own()), 0);
}

static void a_little(void)
{
	struct pcce_kmod_setup c = own();
	struct pcce_kmod_attach a = {0};
	struct rlimit limit = {.rlim_cur = 64 << 10, .rlim_max = 64 << 10};
	pid_t child;
	int fd;

	expect("unprivileged=Y: itself", try(c), 0);
	c.flags &= ~PCCE_KMOD_EXCLUDE_KERNEL;
	expect("unprivileged=Y: itself, also in the kernel", try(c), -EPERM);
	c = own();
	c.type = PERF_TYPE_TRACEPOINT;
	expect("unprivileged=Y: a tracepoint", try(c), -EPERM);
	c = own();
	c.type = PERF_TYPE_RAW;
	expect("unprivileged=Y: a raw event", try(c), -EPERM);
	c = own();
	c.scope = PCCE_KMOD_SYSTEM;
	expect("unprivileged=Y: the system", try(c), -EPERM);
	c.scope = PCCE_KMOD_CPU;
	c.cpu = 0;
	expect("unprivileged=Y: a CPU", try(c), -EPERM);
	c = own();
	c.pid = of_root;
	expect("unprivileged=Y: a process of root", try(c), -EPERM);
	c.pid = of_other;
	expect("unprivileged=Y: a process of another user", try(c), -EPERM);
	c.pid = of_user;
	expect("unprivileged=Y: an unrelated process of the same user", try(c), -EPERM);
	child = sleeper(getuid(), false, true);
	c.pid = child;
	expect("unprivileged=Y: a child", try(c), 0);
	end(child);
	child = sleeper(getuid(), false, false);
	c.pid = child;
	expect("unprivileged=Y: a child that must not be looked into", try(c), -EPERM);
	end(child);
	child = sleeper(getuid(), true, true);
	c.pid = child;
	expect("unprivileged=Y: a child that has done an exec", try(c), -EPERM);
	end(child);

	fd = spare[--n_spare];
	c = own();
	expect("unprivileged=Y: SETUP", request(fd, PCCE_KMOD_IOC_SETUP, &c), 0);
	expect("unprivileged=Y: START", request(fd, PCCE_KMOD_IOC_START, NULL), 0);
	a.pid = of_user;
	expect("unprivileged=Y: ATTACH to an unrelated process",
	       request(fd, PCCE_KMOD_IOC_ATTACH, &a), -EPERM);
	a.pid = of_root;
	expect("unprivileged=Y: ATTACH to root's", request(fd, PCCE_KMOD_IOC_ATTACH, &a), -EPERM);
	close(fd);

	locked_memory();
	setrlimit(RLIMIT_MEMLOCK, &limit);
	c = own();
	expect("unprivileged=Y: more memory than may be locked", try(c), -ENOMEM);
}

/* A session that root has set up must not allow others more than they may do. spare[0]
 * samples the kernel, too; spare[1] samples only user space. */
static void inherited(void)
{
	struct pcce_kmod_attach a = {.pid = of_root};
	pid_t child = sleeper(getuid(), false, true);

	expect("root's session, in another user's hands: ATTACH",
	       request(spare[0], PCCE_KMOD_IOC_ATTACH, &a), -EPERM);
	a.pid = child;
	expect("... ATTACH to its child", request(spare[0], PCCE_KMOD_IOC_ATTACH, &a), -EPERM);
	expect("... STOP", request(spare[0], PCCE_KMOD_IOC_STOP, NULL), 0);
	expect("... START", request(spare[0], PCCE_KMOD_IOC_START, NULL), -EPERM);
	expect("root's session of user space: ATTACH to its child",
	       request(spare[1], PCCE_KMOD_IOC_ATTACH, &a), 0);
	end(child);
}

static void everything(void)
{
	struct pcce_kmod_setup c = usual_setup();

	c.pid = of_user;
	expect("root: a process of a user", try(c), 0);
	c.pid = 0;
	c.scope = PCCE_KMOD_SYSTEM;
	expect("root: the system", try(c), 0);
}

int main(void)
{
	struct pcce_kmod_setup c = usual_setup(), user = own();
	pid_t pid;

	of_user = sleeper(USER, true, true);
	of_other = sleeper(OTHER, true, true);
	of_root = sleeper(0, true, true);
	as(USER, nothing);
	allow(true);
	as(USER, a_little);
	allow(false);
	as(0, everything);
	spare[0] = device();
	request(spare[0], PCCE_KMOD_IOC_SETUP, &c);
	request(spare[0], PCCE_KMOD_IOC_START, NULL);
	spare[1] = device();
	request(spare[1], PCCE_KMOD_IOC_SETUP, &user);
	request(spare[1], PCCE_KMOD_IOC_START, NULL);
	fflush(stdout);
	allow(true);
	pid = fork();
	if (pid == 0) {
		become(USER);
		inherited();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	allow(false);
	end(of_user);
	end(of_other);
	end(of_root);
	return 0;
}
