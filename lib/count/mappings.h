/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the mappings of a process, and finds room between them. */
#ifndef PCCE_COUNT_MAPPINGS_H
#define PCCE_COUNT_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"

struct count_mapping {
	uint64_t start, end, offset, inode;
	bool executable;
	char *path; /* "": none */
};

struct count_mappings {
	struct count_mapping *list; /* sorted */
	size_t n, capacity;
};

/* Has the process installed a seccomp filter, which this one has not? */
bool count_process_is_confined(pid_t pid);

/* 0, or -errno with a fragment that continues the name of a library. */
int count_mappings_read(pid_t pid, struct count_mappings *out, struct error *why);
void count_mappings_free(struct count_mappings *m);

/* Is there code at the address that comes from no file? */
bool count_mappings_are_added(const struct count_mappings *m, uint64_t address);
bool count_mappings_are_free(const struct count_mappings *m, uint64_t start, uint64_t end);

/*
 * Finds room of `size` bytes so near to [start, end) that code there can reach it, and the reverse.
 * is_taken() may refuse a place, and then gives an end below which to try again. 0: there is none.
 */
uint64_t
count_mappings_room(const struct count_mappings *m, uint64_t start, uint64_t end, uint64_t size,
		    bool (*is_taken)(void *ctx, uint64_t start, uint64_t end, uint64_t *below),
		    void *ctx);

#endif
