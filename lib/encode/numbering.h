/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbering of a call graph: Precise Calling Context Encoding (Sumner, Zheng,
 * Weeratunge, Zhang: ICSE 2010, Algorithms 1 and 3).  Pure: no ELF file, no I/O.
 *
 * Terms.  A site is an edge of the graph: one call (or a group of copies of one
 * call) from a caller to a direct callee.  T(site) is its callee and all functions
 * that the callee may reach through direct tail calls: after the call, the program
 * is in any of them with the same id.  So a site with the value v and a caller of n
 * contexts owns the ids [v, v + n) in every function of T(site), and nobody else
 * does.  num_cc(f) is one more than the highest id in f.
 *
 * A site that cannot have a value is a push: the id is saved and begins again in its
 * callee.  A segment of the context begins there, with one of two ids:
 *
 *   root     0; no edge into the function owns 0 then.  Since a tail call keeps the id,
 *            what a root can reach by tail calls is a root as well.
 *   entered  one of its own, start(f), which the function itself sets when it is entered by
 *            other ways than the sites that have values.  In T(f) nobody else owns it.  So
 *            the hottest edge into the function can own 0.
 */
#ifndef PCCE_ENCODE_NUMBERING_H
#define PCCE_ENCODE_NUMBERING_H

#include "encode/numbering_graph.h"

/* 0 or -ENOMEM. The result depends on the arguments alone. */
int numbering_compute(const struct numbering_graph *graph, const struct numbering_options *options,
		      struct numbering *out);

#endif
