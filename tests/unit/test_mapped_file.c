/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tests which file counts as the one that a process has mapped (base/mapped_file.h). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mapped_file.h"
#include "tests/unit/tap.h"

#define BYTES 4096

static char folder[] = "/tmp/pcce-mapped.XXXXXX";
static uint64_t start; /* of the mapping */

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_file(const char *name)
{
	int fd = open(path_of(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, BYTES))
		abort();
	close(fd);
}

static ino_t map_file(const char *name)
{
	int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st))
		abort();
	at = mmap((void *)(uintptr_t)start, BYTES, PROT_READ, MAP_PRIVATE | (start ? MAP_FIXED : 0),
		  fd, 0);
	if (at == MAP_FAILED)
		abort();
	start = (uint64_t)(uintptr_t)at;
	close(fd);
	return st.st_ino;
}

/* Returns the inode of the file, or 0. */
static ino_t mapped_numbered(const char *path, ino_t ino)
{
	int fd = mapped_file_open(getpid(), start, BYTES, path, ino);
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st))
		st.st_ino = 0;
	close(fd);
	return st.st_ino;
}

static ino_t mapped_as(const char *path)
{
	return mapped_numbered(path, 0);
}

int main(void)
{
	ino_t one, two;

	if (!mkdtemp(folder))
		return 1;
	make_file("one");
	make_file("two");
	one = map_file("one");
	tap_ok(mapped_as(path_of("one")) == one, "a mapped file", " ");
	two = map_file("two");
	tap_ok(mapped_as(path_of("two")) == two, "the next file there", " ");
	tap_ok(mapped_as(path_of("one")) == one, "the earlier one, by its name", " ");
	tap_ok(mapped_numbered(path_of("one"), one) == one, "... which has its number", " ");
	tap_ok(!mapped_numbered(path_of("one"), two), "a name of another file", " ");
	unlink(path_of("one"));
	tap_ok(!mapped_as(path_of("one")),
	       "the earlier one, whose name is gone, is not the next one", " ");
	if (access("/proc/self/map_files", R_OK | X_OK) == 0 && geteuid() == 0) {
		unlink(path_of("two"));
		tap_ok(mapped_as(path_of("two")) == two, "a mapped file whose name is gone", " ");
		tap_ok(mapped_as("/elsewhere/two") == two, "... by its path in another root", " ");
		tap_ok(mapped_as("/elsewhere/two (deleted)") == two, "... as the kernel names it",
		       " ");
	}
	unlink(path_of("two"));
	rmdir(folder);
	return tap_done();
}
