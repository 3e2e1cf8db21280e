/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds where thread pages can be: offsets from the thread pointer, from the files that the
 * followed processes map.
 *
 * An executable's table has the offset, tpoff. If the page is in a shared library, the dynamic
 * linker chooses the offset. After relocation it is in a GOT slot of each instrumented library, and
 * is read from the process's memory.
 *
 * Page and thread pointer are multiples of 64. An executable's TLS comes first below the thread
 * pointer, and the page is mostly near its end. So a few offsets are right for nearly all programs.
 * They are candidates from the start. A wrong candidate does no harm, because the page's magic
 * number decides.
 */
#ifndef PCCE_SAMPLER_TLS_OFFSETS_H
#define PCCE_SAMPLER_TLS_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tls_offsets;

/* offsets, n: memory of the BPF program or of the caller. A new offset is stored before n counts
 * it. */
struct tls_offsets *tls_offsets_new(int64_t *offsets, uint32_t *n, uint32_t capacity);
void tls_offsets_free(struct tls_offsets *p);

/* Examines a file that will be executed or was mapped. Files that were seen before cost little. */
void tls_offsets_program(struct tls_offsets *p, const char *path);
void tls_offsets_map(struct tls_offsets *p, pid_t pid, uint64_t start, uint64_t length,
		     uint64_t pgoff, const char *path);

/* Reads GOT slots again that were not relocated yet. */
void tls_offsets_retry(struct tls_offsets *p);

#endif
