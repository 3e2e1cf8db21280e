/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads a calling context tree that count.c wrote. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench/papers/tree.h"

int count_file_open(const char *path, const struct count_file **out, struct error *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct count_file *f = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && (size_t)st.st_size >= sizeof(*f))
		f = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (f == MAP_FAILED)
		return error_set(why, -EIO, "cannot be read: %s", strerror(errno));
	if (f->magic != COUNT_MAGIC || f->n_nodes < 2 ||
	    f->n_nodes > ((size_t)st.st_size - sizeof(*f)) / sizeof(f->nodes[0]))
		return error_set(why, -EINVAL,
				 "holds no counted run; patch the program with count_patch");
	*out = f;
	return 0;
}
