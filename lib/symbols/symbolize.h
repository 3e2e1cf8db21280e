/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names addresses in an ELF file and finds their source lines, with inlined functions. */
#ifndef PCCE_SYMBOLS_SYMBOLIZE_H
#define PCCE_SYMBOLS_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "base/error.h"

struct symbolize_frame {
	uint64_t vaddr;
	uint64_t symbol;      /* start of the function's symbol; 0: unknown */
	const char *function; /* assembler name */
	const char *file;     /* "": unknown */
	uint32_t line;	      /* 0: unknown */
	uint32_t depth;	      /* 0: innermost */
	bool inlined;	      /* inlined into the next frame of this address */
};

/* The fixed part of a frame's record, in a module with this number; its names follow. */
static inline struct pcce_rec_symbol symbolize_record(const struct symbolize_frame *f,
						      uint32_t module)
{
	return (struct pcce_rec_symbol){
		.vaddr = f->vaddr,
		.symbol = f->symbol,
		.module = module,
		.line = f->line,
		.depth = f->depth,
		.flags = f->inlined ? PCCE_SYMBOL_INLINED : 0,
	};
}

/*
 * Calls frame for each frame of each address, in the order of addresses, innermost frames first.
 * Skips an address of which nothing is known. vaddrs are sorted and unique link-time addresses. fd
 * is the module's file. Debug information comes from it or from a separate file (debuginfo.h).
 * build_id is the one in the recording: a file that was replaced since has another one.
 *
 * Returns 0, a non-zero result of frame, or -errno with a fragment that continues the file's name
 * (-ESTALE: the file was replaced). If it is 0 and why is not empty, why says what is the matter
 * with the file's debug information.
 */
int symbolize_file(int fd, const uint8_t *build_id, size_t build_id_size, const uint64_t *vaddrs,
		   size_t n, int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx,
		   struct error *why);

/*
 * A file that is kept open with its symbols, for callers that look several times. symbolizer_open()
 * returns what symbolize_file() does; fd and what the frames point to must outlive the symbolizer.
 */
struct symbolizer;

int symbolizer_open(int fd, const uint8_t *build_id, size_t build_id_size, struct symbolizer **out,
		    struct error *why);
int symbolizer_open_vdso(struct symbolizer **out, struct error *why);
/* Calls frame as symbolize_file() does. 0, -ENOMEM, or a result of frame that is not 0. */
int symbolizer_look(struct symbolizer *s, const uint64_t *vaddrs, size_t n,
		    int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx);
void symbolizer_close(struct symbolizer *s);

/* Code of a function: link-time addresses. */
struct symbolize_range {
	uint64_t start, end;
};

/*
 * Lists the functions that symbolize_file() knows, sorted and disjoint. The caller frees *ranges.
 * 0, or -errno as above. Reads no debug information.
 */
int symbolize_list(int fd, const uint8_t *build_id, size_t build_id_size,
		   struct symbolize_range **ranges, size_t *n, struct error *why);

/* Does what symbolize_file() does for the vdso, which is no file: that of this process is used. */
int symbolize_vdso(const uint64_t *vaddrs, size_t n,
		   int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx,
		   struct error *why);

#endif
