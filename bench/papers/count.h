/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the file format of a counted run's calling context tree: a header, then nodes.  Node 0
 * is the root of all threads.  A node follows its parent.  The rest of the file is a hole.
 */
#ifndef PCCE_BENCH_COUNT_H
#define PCCE_BENCH_COUNT_H

#include <stdint.h>

#define COUNT_MAGIC 0x31746e756f63ull /* reads "count1" */
#define COUNT_NODES (1u << 27)

/* How the program entered a node. */
enum count_way {
	COUNT_CALL,   /* by a site that does not name its callee; address is the site's key */
	COUNT_DIRECT, /* by a site that names its callee; address as above */
	COUNT_ENTRY   /* through a function's entry slot; address is the slot's end */
};

struct count_node {
	uint64_t address; /* at run time */
	uint64_t count;
	uint32_t parent;
	uint32_t way;
};

struct count_file {
	uint64_t magic;
	uint64_t base; /* address of the ELF header at run time; subtract it from all addresses */
	uint64_t n_nodes;
	uint64_t lost; /* events not counted: without room, or in a handler that interrupted us */
	struct count_node nodes[];
};

#endif
