/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The stubs of the procedure linkage table, which have no symbols: they are named name@plt, after
 * what they lead to. */
#ifndef PCCE_SYMBOLS_PLT_H
#define PCCE_SYMBOLS_PLT_H

#include <libelf.h>
#include <stdint.h>

struct plt_stub {
	uint64_t addr, size;
	char *name;
};

/* name_at: what the function at an address is called, or NULL. Stubs and names are for the caller
 * to free, with plt_free(). 0 or -ENOMEM. */
int plt_read(Elf *elf, const char *(*name_at)(void *ctx, uint64_t addr), void *ctx,
	     struct plt_stub **stubs, size_t *n);
void plt_free(struct plt_stub *stubs, size_t n);

#endif
