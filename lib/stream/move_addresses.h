/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Converts the run-time addresses in a sample, for those who move its modules to other addresses.
 * docs/data-format.md, "The sample", says which words are addresses.
 */
#ifndef PCCE_STREAM_MOVE_ADDRESSES_H
#define PCCE_STREAM_MOVE_ADDRESSES_H

#include <stdint.h>
#include <pcce/abi.h>

struct address_mover {
	uint64_t (*move)(void *ctx, uint64_t address); /* 0: nobody has this address */
	void *ctx;
};

/* The word `ext` of a page or an entry: short ones are link-time addresses, and stay. */
uint64_t move_ext(const struct address_mover *v, uint64_t ext);
struct pcce_entry move_entry(const struct address_mover *v, struct pcce_entry e);

#endif
