/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PCCE_TEST_CAPTURE_H
#define PCCE_TEST_CAPTURE_H

/* Writes the calling thread's context to a file, as docs/examples/decode-context.c reads it. 0 if
 * that succeeds. */
int capture(const char *path);

#endif
