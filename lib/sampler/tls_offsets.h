/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where thread pages may be: offsets from the thread pointer, found out from the files
 * that the followed processes map.
 *
 * An executable's table says the offset, tpoff.  A page that lives in a shared library
 * has an offset that the dynamic linker chooses; it stands in a GOT slot of every
 * instrumented library once relocated, and is read from the process's memory.
 *
 * The page is aligned to 4096 and the thread pointer with it, and an executable's TLS
 * comes first below the thread pointer; so a few multiples of -4096 are right for
 * nearly all programs, and are candidates from the beginning.  A wrong candidate does no
 * harm: the page's magic decides.
 */
#ifndef PCCE_SAMPLER_TLS_OFFSETS_H
#define PCCE_SAMPLER_TLS_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tls_offsets;

/* offsets, n: the BPF program's own memory; a new offset is stored before n counts it. */
struct tls_offsets *tls_offsets_new(int64_t *offsets, uint32_t *n, uint32_t capacity);
void tls_offsets_free(struct tls_offsets *p);

/* A file that will be executed, or was mapped. Cheap for a file that was seen before. */
void tls_offsets_program(struct tls_offsets *p, const char *path);
void tls_offsets_map(struct tls_offsets *p, pid_t pid, uint64_t start, uint64_t length,
		     uint64_t pgoff, const char *path);

/* Looks again at GOT slots that were not relocated yet. */
void tls_offsets_retry(struct tls_offsets *p);

#endif
