/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Collects the addresses of a module that need names. */
#ifndef PCCE_SYMBOLS_ADDRESS_LIST_H
#define PCCE_SYMBOLS_ADDRESS_LIST_H

#include <stddef.h>
#include <stdint.h>

#define ADDRESS_LIST_RECENT 1024

struct address_list { /* all 0: empty */
	uint64_t *all;
	size_t n, capacity;
	uint64_t recent[ADDRESS_LIST_RECENT]; /* 1 + addresses that it has, to skip duplicates */
};

/* Adds an address; duplicates are allowed. 0 or -ENOMEM. */
int address_list_add(struct address_list *l, uint64_t address);
/* Sorts the addresses and removes duplicates. */
void address_list_sort(struct address_list *l);
void address_list_free(struct address_list *l);

#endif
