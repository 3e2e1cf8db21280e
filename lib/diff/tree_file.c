/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads .tree files line by line. The nodes on the way to the last one are on a stack, since the
 * file has them in preorder. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "diff/tree_file.h"

struct open_node {
	uint64_t id;
	uint32_t node;
};

struct tree_reader {
	struct cct *to;
	bool second;
	struct open_node *stack;
	size_t depth;
	uint64_t nodes, sum;
};

static int damaged_tree(struct error *why, const char *what)
{
	return error_set(why, -EINVAL, "is not a whole .tree file: %s", what);
}

static int read_tree_node(struct tree_reader *r, const char *line, struct error *why)
{
	uint64_t id, parent, count, routine, site;
	struct cct_key key = {0};
	uint32_t node = 0;

	if (sscanf(line, "v %" SCNx64 " %" SCNx64 " %" SCNu64 " %" SCNx64 " %" SCNx64, &id, &parent,
		   &count, &routine, &site) != 5)
		return damaged_tree(why, "a line is not a node");
	while (r->depth && r->stack[r->depth - 1].id != parent)
		r->depth--;
	if (r->nodes++ && !r->depth)
		return damaged_tree(why, "a node has no caller");
	if (r->depth) {
		/* Not the fields' usual meaning: the key only has to be unique. */
		key.call = site;
		key.func = routine;
		key.module = routine >> 32;
		node = cct_child(r->to, r->stack[r->depth - 1].node, &key);
		if (node == UINT32_MAX)
			return error_memory(why);
		if (r->second)
			r->to->nodes[node].samples += count;
		else
			r->to->nodes[node].self += count;
		r->sum += count;
	}
	if (array_grow(&r->stack, r->depth, sizeof(*r->stack)))
		return error_memory(why);
	r->stack[r->depth++] = (struct open_node){id, node};
	return 0;
}

int tree_file_read(FILE *in, struct cct *to, bool second, uint64_t *n, struct error *why)
{
	struct tree_reader r = {.to = to, .second = second};
	uint64_t nodes;
	char line[4096];
	int status = 0;
	bool end = false;

	while (!status && !end && fgets(line, sizeof(line), in)) {
		if (*line == 'v')
			status = read_tree_node(&r, line, why);
		else if (*line == 'p')
			end = sscanf(line, "p %" SCNu64 " %" SCNu64, &nodes, n) == 2;
		else if (*line != 'c' || r.nodes)
			status = damaged_tree(why, "a line is neither a node nor the end");
	}
	free(r.stack);
	if (status)
		return status;
	if (ferror(in))
		return error_set(why, -EIO, "cannot be read");
	if (!end)
		return damaged_tree(why, "it has no end");
	return nodes == r.nodes ? 0 : damaged_tree(why, "nodes are missing");
}
