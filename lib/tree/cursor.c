/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the moving path. A node has a higher number than its parent. So numbers rise along a
 * path and tell where two paths separate. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "tree/cursor.h"

void tree_cursor_init(struct tree_cursor *w, const struct cct *t)
{
	*w = (struct tree_cursor){.tree = t};
}

void tree_cursor_free(struct tree_cursor *w)
{
	free(w->nodes);
	free(w->turned);
	*w = (struct tree_cursor){0};
}

int tree_cursor_to(struct tree_cursor *w, uint32_t node, size_t *same)
{
	size_t n = 0;

	for (; node; node = w->tree->nodes[node].parent) {
		while (w->n && w->nodes[w->n - 1] > node)
			w->n--;
		if (w->n && w->nodes[w->n - 1] == node)
			break;
		if (array_reserve(&w->turned, &w->turned_capacity, n + 1, sizeof(*w->turned)))
			return -ENOMEM;
		w->turned[n++] = node;
	}
	if (!node)
		w->n = 0;
	*same = w->n;
	if (array_reserve(&w->nodes, &w->capacity, w->n + n, sizeof(*w->nodes)))
		return -ENOMEM;
	while (n)
		w->nodes[w->n++] = w->turned[--n];
	return 0;
}
