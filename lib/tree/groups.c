/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds groups that repeat, from callers to callees. */
#include <stdlib.h>
#include "tree/groups.h"

struct tree_group *tree_groups(const struct cct *t)
{
	struct tree_group *groups = calloc(t->n, sizeof(*groups));

	for (uint32_t i = 1; i < t->n && groups; i++) {
		const struct cct_node *n = &t->nodes[i];
		const struct tree_group *above = &groups[n->parent];

		if (n->key->repeat)
			groups[i] = (struct tree_group){i, n->key->span ? n->key->span - 1 : 0};
		else if (above->left)
			groups[i] = (struct tree_group){above->head, above->left - 1};
	}
	return groups;
}
