/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers a call graph: Precise Calling Context Encoding (Sumner, Zheng, Weeratunge, Zhang: ICSE
 * 2010, Algorithms 1 and 3). Pure: no ELF file, no input or output.
 *
 * Terms. A site is an edge of the graph: one call, or a group of copies of one call, from a caller
 * to a direct callee. T(site) is the callee and all functions that it can reach by direct tail
 * calls. After the call, the program is in one of them, with the same id. So a site with the value
 * v and a caller of n contexts owns the ids [v, v + n) in every function of T(site), and no other
 * site owns them. num_cc(f) is one more than the highest id in f.
 *
 * A site that cannot have a value is a push: it saves the id, and a new context segment begins in
 * the callee, with one of two ids:
 *
 *   root     0.  No edge into the function owns 0.  A tail call keeps the id, so all functions that
 *            a root reaches by tail calls are roots too.
 *   entered  start(f), which the function sets itself when it is entered by other ways than the
 *            sites with values.  No other edge owns this id in T(f), so the hottest edge into the
 *            function can own 0.
 */
#ifndef PCCE_NUMBERING_NUMBERING_H
#define PCCE_NUMBERING_NUMBERING_H

#include "numbering/graph.h"

/* Returns 0 or -ENOMEM. The result depends only on the arguments. */
int numbering_compute(const struct numbering_graph *graph, const struct numbering_options *options,
		      struct numbering *out);

#endif
