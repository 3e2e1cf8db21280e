/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares how the runtime writes to files of its own (quiet_write.c). */
#ifndef PCCE_USERLIB_QUIET_WRITE_H
#define PCCE_USERLIB_QUIET_WRITE_H

#include <stddef.h>

/* Writes all of the text. 0 or -errno. Async-signal-safe. The program gets no signal for it; its
 * handlers, its mask and its pending signals remain as they are. */
long quiet_write(int fd, const char *text, size_t size) __attribute__((visibility("hidden")));
/* Writes all of the text, too, but can raise signals in the program, as write(2) can. */
long loud_write(int fd, const char *text, size_t size) __attribute__((visibility("hidden")));

#endif
