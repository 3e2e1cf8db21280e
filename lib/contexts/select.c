/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes a set of contexts to a file, which is replaced as a whole: a program may be reading the
 * old one. */
#include <stdio.h>
#include <string.h>
#include <pcce/decode.h>
#include "base/output_file.h"
#include "contexts/select.h"

static int write_set_file(const char *path, const void *set, size_t size, struct error *why)
{
	const char *name = strcmp(path, "-") ? path : "standard output";
	struct output_file file;
	struct error reason;
	FILE *out;
	int r = output_stream_open(&file, path, &out, &reason);

	if (r)
		return error_set(why, r, "cannot write %s: %s", name, reason.text);
	fwrite(set, 1, size, out);
	r = output_stream_close(&file, out, 0);
	return r ? error_set(why, r, "cannot write %s: %s", name, strerror(-r)) : 0;
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
