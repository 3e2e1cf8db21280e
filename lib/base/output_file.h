/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Creates an output file without a name, and gives it its name only when it is committed. So a
 * command that fails destroys no older file.
 *
 * Other users may own the directory, and prepare it. So the file is always a new one: nothing that
 * exists is opened, and a symbolic link is followed only if the caller or root made it. Where the
 * file system has no unnamed files, the file has an unpredictable name until it is committed.
 */
#ifndef PCCE_BASE_OUTPUT_FILE_H
#define PCCE_BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include "base/error.h"

enum output_kind {
	OUTPUT_RECORDING, /* only the owner can read it; an older file becomes FILE.old */
	OUTPUT_REPORT,	  /* the umask decides who can read it; replaces an older file */
};

struct output_file {
	int fd; /* the caller closes it, before or after the commit */
	/* Private: */
	enum output_kind kind;
	char *path;	  /* without symbolic links at its end */
	const char *name; /* within path */
	int directory;	  /* of the file; -1: the file has its name already */
	int held;	  /* of an unnamed file, which lives as long as a descriptor of it */
	char held_path[32];
	char hidden[32]; /* name of a file until it gets its own */
	bool named;	 /* hidden is the name of a file */
	int error;	 /* of the first failed write of a stream, or 0 */
};

/* 0, or -errno with a reason in why, which continues "cannot create FILE: ". A device or a pipe is
 * opened directly; - is standard output. */
int output_file_create(struct output_file *o, const char *path, enum output_kind kind,
		       struct error *why);
/* Gives the file its name. 0 or -errno. */
int output_file_commit(struct output_file *o);
/* Releases o, and removes a file that is not committed; does not close fd. */
void output_file_discard(struct output_file *o);

/* Copies a file from its beginning into a new one. 0, or -errno with a reason in why, as
 * output_file_create(). */
int output_file_copy(FILE *from, const char *path, enum output_kind kind, struct error *why);

/* Opens a stream for a report: to a new file, or to standard output if path is NULL. 0, or -errno
 * as output_file_create(). o must stay where it is until the stream is closed. */
int output_stream_open(struct output_file *o, const char *path, FILE **out, struct error *why);
/* Closes the stream. Commits the file if nothing failed, and removes it otherwise. error: what the
 * writer returned, 0 or -errno. Returns the first error, or 0. */
int output_stream_close(struct output_file *o, FILE *out, int error);

#endif
