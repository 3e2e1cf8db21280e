/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads inline chains and lines of many addresses from DWARF. */
#ifndef PCCE_SYMBOLS_DWARF_H
#define PCCE_SYMBOLS_DWARF_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct dwarf_chains;

/*
 * Reads the chains of all vaddrs, which are sorted and unique. Without dwarf (NULL) nothing is
 * known. The strings below live as long as dwarf. Returns 0 or -ENOMEM.
 */
int dwarf_chains_new(Dwarf *dwarf, const uint64_t *vaddrs, size_t n, struct dwarf_chains **out);
void dwarf_chains_free(struct dwarf_chains *c);

/*
 * The number of functions at the i-th address: 0 if unknown, else 1 + the number of inlined ones.
 */
size_t dwarf_chain_length(const struct dwarf_chains *c, size_t i);
/* The k-th frame, innermost first; function is NULL if it has no name. */
void dwarf_chain_frame(const struct dwarf_chains *c, size_t i, size_t k, const char **function,
		       const char **file, uint32_t *line);
/* The line in the line table. */
void dwarf_chain_line(const struct dwarf_chains *c, size_t i, const char **file, uint32_t *line);

#endif
