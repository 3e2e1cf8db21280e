/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names the addresses of a profile that grows. The files with symbols stay open, so each is read
 * once, and each address is looked up once.
 */
#ifndef PCCE_PROFILE_LIVE_SYMBOLS_H
#define PCCE_PROFILE_LIVE_SYMBOLS_H

#include "stream/modules.h"
#include "symbols/symbol_table.h"
#include "tree/builder.h"

struct live_symbols;

/* kernel: the number of the kernel's module. The modules and names must outlive it. NULL: no
 * memory. */
struct live_symbols *live_symbols_new(const struct record_modules *m, uint32_t kernel,
				      struct symbol_table *names);
void live_symbols_free(struct live_symbols *l);

/* Both note an address that needs a name, and return 0 or -ENOMEM. */
int live_symbols_add(struct live_symbols *l, struct tree_place place);
int live_symbols_add_kernel(struct live_symbols *l, uint64_t address);
/* Adds the modules that are new, and names for the addresses that were noted. 0 or -ENOMEM. */
int live_symbols_read(struct live_symbols *l);

#endif
