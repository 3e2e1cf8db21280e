/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads which static probes (USDT) an ELF file has. */
#ifndef PCCE_PROBE_USDT_H
#define PCCE_PROBE_USDT_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct usdt_probe {
	const char *provider, *name;
	uint64_t address;   /* link-time address of its instruction */
	uint64_t semaphore; /* of its counter; 0: it has none */
};

typedef void usdt_found(void *ctx, const struct usdt_probe *probe);

/* Calls found() for each probe in the notes of a section .note.stapsdt. base: the address of the
 * section .stapsdt.base, or 0. Damaged notes are left out. Returns how many probes there are. */
size_t usdt_parse(const void *notes, size_t size, uint64_t base, usdt_found *found, void *ctx);

/* Calls found() for each probe of a file. A probe has several places if it was inlined. Returns how
 * many there are, or -errno with a fragment that continues the path. */
int usdt_read(const char *path, usdt_found *found, void *ctx, struct error *why);

#endif
