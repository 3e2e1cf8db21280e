/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names the stubs of the procedure linkage table, which have no symbols: name@plt, after the
 * function that a stub leads to.
 */
#ifndef PCCE_SYMBOLS_PLT_H
#define PCCE_SYMBOLS_PLT_H

#include <libelf.h>
#include <stdint.h>

struct plt_stub {
	uint64_t addr, size;
	char *name;
};

/*
 * Reads all stubs. name_at returns the name of the function at an address, or NULL. The caller
 * frees stubs and names with plt_free(). Returns 0 or -ENOMEM.
 */
int plt_read(Elf *elf, const char *(*name_at)(void *ctx, uint64_t addr), void *ctx,
	     struct plt_stub **stubs, size_t *n);
void plt_free(struct plt_stub *stubs, size_t n);

#endif
