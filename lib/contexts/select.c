/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes a set of contexts to a temporary file, and renames it: a program may be reading the old
 * one. */
#define _GNU_SOURCE /* mkostemp */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcce/decode.h>
#include "contexts/select.h"

static int write_set_file(const char *path, const void *set, size_t size, struct error *why)
{
	char *temporary;
	mode_t mask = umask(0);
	FILE *out = NULL;
	int fd, err = 0;

	umask(mask);
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return error_memory(why);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd >= 0 && !fchmod(fd, 0666 & ~mask))
		out = fdopen(fd, "w");
	if (!out)
		err = errno;
	if (out && fwrite(set, 1, size, out) != size)
		err = errno;
	if (out && fclose(out))
		err = err ? err : errno;
	if (!err && rename(temporary, path))
		err = errno;
	if (!out && fd >= 0)
		close(fd);
	if (err && fd >= 0)
		unlink(temporary);
	free(temporary);
	return err ? error_set(why, -err, "cannot write %s: %s", path, strerror(err)) : 0;
}

int contexts_select(const char *expression, char **files, size_t n, const char *output,
		    struct error *why)
{
	struct pcce_decode_error text;
	size_t size;
	void *set;
	int r = pcce_decode_select(expression, (const char *const *)files, n, &set, &size, &text);

	if (r)
		return error_set(why, r, "%s", text.text);
	r = write_set_file(output, set, size, why);
	pcce_decode_select_free(set);
	return r;
}
