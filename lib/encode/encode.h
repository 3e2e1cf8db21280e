/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Encodes one module, from file to file, for pcce-encode and the linker wrapper. */
#ifndef PCCE_ENCODE_ENCODE_H
#define PCCE_ENCODE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "encode/call_counts.h"
#include "base/error.h"

enum encode_result {
	ENCODE_DONE,
	ENCODE_ALREADY,	  /* it has an intact table */
	ENCODE_NOT_FOR_US /* it has no instrumented code, and no runtime or no other functions */
};

struct encode_output {
	enum encode_result result;
	uint8_t *image; /* DONE: the encoded file, malloc'ed; else NULL */
	size_t size;
	void *table; /* DONE and ALREADY: the table, 8-aligned, malloc'ed */
	size_t table_size;
};

/* With any of these, a file that is encoded already is encoded again. NULL: none. */
struct encode_options {
	const struct call_counts *counts; /* NULL, or: hot calls cost least */
	bool hybrid;			  /* hybrid.h; without counts only */
	bool fixed_entries;		  /* no call skips an entry slot */
};

/*
 * Encodes a file's image in memory. Writes no file. Returns 0, or -errno with a fragment that
 * continues the file's name.
 */
int encode_image(const uint8_t *image, size_t size, const struct encode_options *options,
		 struct encode_output *out, struct error *why);
/* Does the table say PCCE_TABLE_HIDDEN? The message has the name of the file as its argument. */
bool encode_hides_runtime(const struct encode_output *e);
#define ENCODE_HIDES_RUNTIME                                                              \
	"warning: '%s' hides its runtime from shared libraries, so its contexts will be " \
	"undecodable; let the link export the names in libpcce.exports, without a version"
void encode_output_free(struct encode_output *e);

/*
 * Encodes a file and replaces `output` as a whole (NULL: the file itself). On a failure the old
 * file stays. If the file is already encoded, a separate output is still written. e may be NULL.
 * Errors as in encode_image().
 */
int encode_file(const char *path, const char *output, const struct encode_options *options,
		struct encode_output *e, struct error *why);

/* Reads a regular file into memory, with room for one more byte. Errors as in encode_image(). */
int encode_read_file(const char *path, uint8_t **data, size_t *size, struct error *why);

#endif
