/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Asks the dynamic linker which module holds an address, by _dl_find_object() (glibc 2.35), which
 * is made for unwinders: it takes no lock, makes no system call, and signal handlers may call it.
 */
#ifndef PCCE_USERLIB_LINKER_OBJECT_H
#define PCCE_USERLIB_LINKER_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* struct dl_find_object of glibc, whose name older headers do not have. */
struct found_object {
	unsigned long long flags;
	char *start, *end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

/* Looks for the function, which static programs and older C libraries do not have. Returns whether
 * it is there. */
bool linker_object_begin(void);

/* Returns whether a module with a link_map holds the address. */
bool linker_object_at(uint64_t address, struct found_object *o);

#endif
