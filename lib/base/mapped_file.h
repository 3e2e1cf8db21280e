/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opens the files that processes have mapped. */
#ifndef PCCE_BASE_MAPPED_FILE_H
#define PCCE_BASE_MAPPED_FILE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Opens the file that a process has mapped at [start, start + length). The result is that very file
 * while the process has it mapped there, even if its name is gone. Else, or with pid 0, the result
 * is the file that path names: first as the process sees it, then as the caller does. A caller can
 * be late: if the process has mapped a file of another name there since then, that is not the
 * result. ino: the number of the file's inode, which a file that is found by its name must have: if
 * the process has ended, its name can mean another file here; 0: not known. Returns a descriptor
 * for reading or -errno.
 */
int mapped_file_open(pid_t pid, uint64_t start, uint64_t length, const char *path, uint64_t ino);

#endif
