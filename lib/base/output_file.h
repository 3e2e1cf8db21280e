/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The output file: made beside its final place first, and moved there only when the
 * recording really begins, so that a command that cannot be run destroys no older
 * recording.  An older one is kept as FILE.old.
 */
#ifndef PCCE_BASE_OUTPUT_FILE_H
#define PCCE_BASE_OUTPUT_FILE_H

struct output_file {
	const char *path;
	char *part; /* where it is now; NULL: at path */
	int fd;
};

/* 0 or -errno. Something that is no regular file (a device, a pipe, a symbolic link) is opened as
 * it is. */
int output_file_create(struct output_file *o, const char *path);
int output_file_commit(struct output_file *o);
/* Removes what is not committed; does not close fd. */
void output_file_discard(struct output_file *o);

#endif
