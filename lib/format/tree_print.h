/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prints a tree as text. A chain of only children is one column. Lines are drawn, and indented,
 * only where the tree branches. So deep contexts fit on the page:
 *
 *      total    self
 *     100.0%    0.0%  main
 *      99.2%    1.0%  run  main.c:40
 *      60.1%   60.1%  ├─ parse  run.c:12
 *      38.1%   38.1%  └─ print  run.c:15
 *
 * With --hot, a star follows the self share of a hot context. If the recording is a summary, the
 * share that may be missing follows, too.
 */
#ifndef PCCE_FORMAT_TREE_PRINT_H
#define PCCE_FORMAT_TREE_PRINT_H

#include "format/format.h"

struct tree_print {
	const struct profile *profile;
	const struct format_options *options;
	const struct cct *tree;
	bool upwards; /* children are callers, and there is no self share */
	FILE *out;
};

/* 0 or -ENOMEM. */
int tree_print(const struct tree_print *t);

#endif
