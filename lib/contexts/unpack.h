/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Unpacks compressed core dumps, as systemd-coredump writes them. */
#ifndef PCCE_CONTEXTS_UNPACK_H
#define PCCE_CONTEXTS_UNPACK_H

#include "base/error.h"

/*
 * If the file that fd has open is compressed by zstd, xz, lz4 or gzip, returns a new descriptor of
 * a temporary file with the content, which is gone when it is closed. Returns fd itself if it is
 * not compressed, or -errno with a sentence fragment that continues "cannot unpack 'FILE': ". If
 * the file is cut off, the content is too, and why->text says so; else it is "".
 */
int unpack_open(int fd, struct error *why);

#endif
