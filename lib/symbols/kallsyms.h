/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names addresses in the running kernel and its modules. */
#ifndef PCCE_SYMBOLS_KALLSYMS_H
#define PCCE_SYMBOLS_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/*
 * Calls name for each address that a function contains. addresses are sorted. Returns 0, a non-zero
 * result of name, or -errno with a fragment that continues "kernel symbols".
 */
int kallsyms_lookup(const uint64_t *addresses, size_t n,
		    int (*name)(void *ctx, uint64_t address, uint64_t symbol, const char *function),
		    void *ctx, struct error *why);

/* Lists the starts of all functions, sorted, for the caller to free. 0, -ENOMEM, or -EPERM: the
 * kernel hides them, or has no list. */
int kallsyms_list(uint64_t **starts, size_t *n);

/* All functions, for callers that look several times. */
struct kernel_symbols;

/* 0, or -errno with a fragment as of kallsyms_lookup(), and *out is NULL. */
int kernel_symbols_read(struct kernel_symbols **out, struct error *why);
/* Returns the function that contains an address, and sets *symbol to its start. NULL: none. */
const char *kernel_symbols_at(const struct kernel_symbols *k, uint64_t address, uint64_t *symbol);
void kernel_symbols_free(struct kernel_symbols *k);

#endif
