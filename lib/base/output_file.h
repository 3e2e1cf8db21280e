/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Creates an output file beside its final path, and moves it there only when the recording begins.
 * So a command that cannot run destroys no older recording. An older file becomes FILE.old.
 */
#ifndef PCCE_BASE_OUTPUT_FILE_H
#define PCCE_BASE_OUTPUT_FILE_H

struct output_file {
	const char *path;
	char *part; /* its present path; NULL: the file is at path */
	int fd;
};

/* 0 or -errno. A path that is not a regular file (a device, a pipe, a symbolic link) is opened
 * directly. */
int output_file_create(struct output_file *o, const char *path);
/* Moves the file to its path. 0 or -errno. */
int output_file_commit(struct output_file *o);
/* Removes a file that is not committed; does not close fd. */
void output_file_discard(struct output_file *o);

#endif
