/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names and source lines of addresses in an ELF file, inlined functions included. */
#ifndef PCCE_SYMBOLS_SYMBOLIZE_H
#define PCCE_SYMBOLS_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct symbolize_frame {
	uint64_t vaddr;
	uint64_t symbol;      /* start of the function's symbol; 0: unknown */
	const char *function; /* assembler name */
	const char *file;     /* "": unknown */
	uint32_t line;	      /* 0: unknown */
	uint32_t depth;	      /* 0: innermost */
	bool inlined;	      /* into the next frame of this address */
};

/*
 * Calls frame for each frame of each address, addresses in order, innermost frames first; an
 * address of which nothing is known is left out.  vaddrs are sorted and unique link-time addresses.
 * fd is the module's file; debug information comes from it, or from its own file (debuginfo.h). The
 * build id that the module had when it was recorded guards against a file that was replaced since.
 *
 * 0; a non-zero result of frame; or -errno with a sentence fragment in why (a file that was
 * replaced: -ESTALE).
 */
int symbolize_file(int fd, const uint8_t *build_id, size_t build_id_size, const uint64_t *vaddrs,
		   size_t n, int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx,
		   struct error *why);

/* The same for the vdso, which is no file; it is this process's own. */
int symbolize_vdso(const uint64_t *vaddrs, size_t n,
		   int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx,
		   struct error *why);

#endif
