/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Encoding of one module, from file to file: what pcce-encode and the linker wrapper share. */
#ifndef PCCE_ENCODE_ENCODE_H
#define PCCE_ENCODE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "encode/call_counts.h"
#include "base/error.h"

enum encode_result {
	ENCODE_DONE,
	ENCODE_ALREADY,	  /* it carries an intact table */
	ENCODE_NOT_FOR_US /* neither instrumented code nor the runtime is in it */
};

struct encode_output {
	enum encode_result result;
	uint8_t *image; /* DONE: the encoded file; else NULL. malloc'ed */
	size_t size;
	void *table; /* DONE and ALREADY: the table, 8-aligned. malloc'ed */
	size_t table_size;
};

/* Encodes a file's image in memory; writes nothing. With counts (else NULL), hot calls cost least,
 * and a file that is encoded already is encoded anew. 0, or -errno with a sentence fragment that
 * continues the file's name. */
int encode_image(const uint8_t *image, size_t size, const struct call_counts *counts,
		 struct encode_output *out, struct error *why);
void encode_output_free(struct encode_output *e);

/* Reads a file; encodes it; replaces `output` (or, if NULL, the file) as a whole: on any failure it
 * stays as it was. An output of its own is written also when the file was encoded already. e may be
 * NULL. */
int encode_file(const char *path, const char *output, const struct call_counts *counts,
		struct encode_output *e, struct error *why);

/* Reads a regular file into memory. */
int encode_read_file(const char *path, uint8_t **data, size_t *size, struct error *why);

#endif
