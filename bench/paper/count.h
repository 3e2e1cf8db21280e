/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The calling context tree that a counted run leaves behind: a header, then nodes.  Node 0 is
 * the root of all threads.  A node comes after its parent.  The rest of the file is a hole.
 */
#ifndef PCCE_BENCH_COUNT_H
#define PCCE_BENCH_COUNT_H

#include <stdint.h>

#define COUNT_MAGIC 0x31746e756f63ull /* reads "count1" */
#define COUNT_NODES (1u << 27)

/* How the program got into a node. */
enum count_way {
	COUNT_CALL,   /* by a site that does not name its callee; address is the site's key */
	COUNT_DIRECT, /* by a site that does; the same */
	COUNT_ENTRY   /* into a function, at whose entry slot's end address is */
};

struct count_node {
	uint64_t address; /* at run time */
	uint64_t count;
	uint32_t parent;
	uint32_t way;
};

struct count_file {
	uint64_t magic;
	uint64_t base; /* what is to be taken off all addresses: of the ELF header at run time */
	uint64_t n_nodes;
	uint64_t lost; /* events that were not counted: in signal handlers that interrupt the
			  counting, or no room */
	struct count_node nodes[];
};

#endif
