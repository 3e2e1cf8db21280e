/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs the real linker and then encodes its output: the linker wrapper.
 *
 * The wrapper has the names ld, ld.bfd, ld.gold, ld.lld and ld.mold in a directory that GCC
 * searches first (pcce.specs).  It runs the real linker of the same name.  A build sees the same
 * arguments, the same output and the same exit status as those of the linker.  Only arguments that
 * would hide the runtime from shared libraries (ld_exports.c) or leave it out of them
 * (ld_runtime.c) are changed.  If a file cannot be
 * encoded, the wrapper leaves it as the linker made it and prints the reason on stderr.  That file
 * runs, but its contexts are unknown.
 *
 * clang searches the directory too (pcce-config --ldflags), but does not read pcce.specs.  The
 * wrapper refuses to link for it, since the runtime would be missing.
 *
 * Environment: PCCE_ENCODE=off skips the encoding.  PCCE_ENCODE=strict makes the link fail (exit
 * status 1) if the encoding fails, or if it warns that contexts will be undecodable.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/message.h"
#include "base/next_program.h"
#include "encode/encode.h"
#include "tools/ld_args.h"
#include "tools/ld_exports.h"
#include "tools/ld_runtime.h"

extern char **environ;

/* The wrapper of another installation may be in the same list of directories. */
#define WAITING "PCCE_LD_WAITING"

static char *find_linker(const char *name)
{
	const char *path = getenv("PATH");
	char *found = next_program_find(WAITING, getenv("COMPILER_PATH"), name);

	return found ? found : next_program_find(WAITING, path ? path : "/usr/bin:/bin", name);
}

/* Tells whether the parent of this process is clang.  Between GCC and its linker is collect2. */
static bool called_by_clang(void)
{
	char link[64], path[PATH_MAX];
	const char *name;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)getppid());
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return false;
	path[length] = '\0';
	name = basename(path);
	return !strncmp(name, "clang", strlen("clang"));
}

/* Runs the linker and gives its wait status. messages: the descriptor that is its stderr. */
static int run_linker(const char *linker, char **argv, int messages, int *status)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	if (!err)
		err = posix_spawn(&pid, linker, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		return -err;
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Ends in the same way as the linker: by the same signal, or with its exit status. */
static int pass_on_linker_status(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

static bool is_elf(const char *path)
{
	FILE *f = fopen(path, "re");
	char magic[4] = "";
	size_t n = f ? fread(magic, 1, sizeof(magic), f) : 0;

	if (f)
		fclose(f);
	return n == sizeof(magic) && !memcmp(magic, "\177ELF", sizeof(magic));
}

/* Tells whether the linker wrote the output: `ld --version` must not touch an old a.out. */
static bool is_new(const char *path, const struct stat *before, bool existed)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	return !existed || !same_file(&st, before) || st.st_size != before->st_size ||
	       st.st_mtim.tv_sec != before->st_mtim.tv_sec ||
	       st.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

/* Looks at the name of the file that a symbolic link such as ld or ld.gold leads to. */
static bool is_linker(const char *linker, const char *name)
{
	char *real = realpath(linker, NULL);
	bool is = real && strstr(basename(real), name);

	free(real);
	return is;
}

/* Copies what a linker has written to a file. */
static void pass_on_messages(int from)
{
	char buffer[4096];
	ssize_t n;

	if (lseek(from, 0, SEEK_SET) != 0)
		return;
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		if (write(STDERR_FILENO, buffer, (size_t)n) != n)
			return;
}

/*
 * Runs the linker with arguments that the wrapper has changed. A linker might refuse what it would
 * not refuse otherwise, and a build must not see that. So its messages are printed only if it
 * succeeds. True: it did.
 */
static bool run_changed(const char *linker, char **argv)
{
	int messages = memfd_create("pcce-ld", MFD_CLOEXEC), status = 1;
	bool good = messages >= 0 && !run_linker(linker, argv, messages, &status) && !status;

	if (good)
		pass_on_messages(messages);
	if (messages >= 0)
		close(messages);
	return good;
}

/* Returns a copy of argv with one more argument at the end, which overrides earlier ones. */
static char **with_argument(int argc, char **argv, char *last)
{
	char **more = calloc((size_t)argc + 2, sizeof(*more));

	if (!more)
		return NULL;
	memcpy(more, argv, (size_t)argc * sizeof(*more));
	more[argc] = last;
	return more;
}

/* Links. Gives the linker's wait status, and returns 0, or the exit status after a message. */
static int link_output(int argc, char **argv, char *linker, const struct ld_args *args, int *status)
{
	struct ld_exports exports;
	char **plain = argv, **changed = NULL;
	bool without_gc = args->gc_sections && is_linker(linker, "gold"), done = false;
	int err = ld_exports_make(args, linker, is_linker(linker, "mold"), &exports);

	argv[0] = linker;
	if (without_gc)
		message("pcce-ld",
			"warning: gold drops the site records with --gc-sections; "
			"linking without it (use -fuse-ld=bfd or -fuse-ld=lld to keep it)");
	if (!err && without_gc) {
		plain = with_argument(argc, argv, "--no-gc-sections");
		if (exports.argv)
			changed = with_argument(exports.argc, exports.argv, "--no-gc-sections");
		err = !plain || (exports.argv && !changed) ? -ENOMEM : 0;
	}
	*status = 0;
	if (!err && exports.argv)
		done = run_changed(linker, changed ? changed : exports.argv);
	if (done && args->depend)
		ld_exports_fix_list(&exports, args->depend);
	ld_exports_free(&exports);
	free(changed);
	if (err) {
		message("pcce-ld", "cannot link: out of memory");
		return 1;
	}
	if (!done)
		err = run_linker(linker, plain, STDERR_FILENO, status);
	if (plain != argv)
		free(plain);
	if (!err)
		return 0;
	message("pcce-ld", "cannot run '%s': %s", linker, strerror(-err));
	return 127;
}

/* Links, and encodes what was linked. Returns the exit status. */
static int link_and_encode(int argc, char **argv, char *linker, const struct ld_args *args)
{
	const char *mode = getenv("PCCE_ENCODE");
	struct encode_output e;
	struct stat before;
	struct error why;
	bool existed = !stat(args->output, &before), undecodable = true;
	int status, err = link_output(argc, argv, linker, args, &status);

	if (err)
		return err;
	if (status || args->relocatable || (mode && !strcmp(mode, "off")))
		return pass_on_linker_status(status);
	if (!is_new(args->output, &before, existed) || !is_elf(args->output))
		return 0;
	err = encode_file(args->output, NULL, NULL, &e, &why);
	if (err) {
		message("pcce-encode", "cannot encode '%s': it %s", args->output, why.text);
	} else {
		undecodable = encode_hides_runtime(&e);
		if (undecodable)
			message("pcce-encode", ENCODE_HIDES_RUNTIME, args->output);
		encode_output_free(&e);
	}
	return undecodable && mode && !strcmp(mode, "strict");
}

int main(int argc, char **argv)
{
	const char *name = argc ? basename(argv[0]) : "ld";
	struct ld_args args = {};
	struct stat self;
	char *linker;
	int status;

	if (called_by_clang()) {
		message("pcce-ld",
			"cannot link with clang: the linker flags of pcce-config are for GCC; link "
			"with gcc or g++, or leave out these flags");
		return 1;
	}
	if (stat("/proc/self/exe", &self)) {
		message("pcce-ld",
			"cannot link: cannot find this program in /proc: %s; mount /proc",
			strerror(errno));
		return 127;
	}
	if (next_program_wait(WAITING, &self)) {
		message("pcce-ld", "cannot link: out of memory");
		return 1;
	}
	linker = find_linker(name);
	if (!linker) {
		message("pcce-ld",
			"cannot link: there is no other '%s' in COMPILER_PATH or PATH; "
			"install that linker",
			name);
		return 127;
	}
	/* This precedes the linker: GCC may remove a response file that the linker has read. */
	if (ld_args_parse(argc, argv, &args) || ld_runtime_add(&args)) {
		message("pcce-ld", "cannot link: out of memory");
		status = 1;
	} else {
		status = link_and_encode(argc, argv, linker, &args);
	}
	ld_args_free(&args);
	free(linker);
	return status;
}
