/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the .tree files that the paper's own implementation (libhcct) writes, and adds them to a
 * tree. A node's key is its routine and its call site, two addresses at run time.
 *
 *   c TOOL PARAMETERS                              two lines of text
 *   c COMMAND TID DIRECTORY
 *   v NODE PARENT COUNT ROUTINE CALL_SITE          callers first; all but COUNT hexadecimal
 *   p NODES N                                      the end, for a check
 */
#ifndef PCCE_DIFF_TREE_FILE_H
#define PCCE_DIFF_TREE_FILE_H

#include <stdio.h>
#include "base/error.h"
#include "tree/cct.h"

/* Adds the counts to the `self` or, with second, to the `samples` of the tree's nodes. *n: N. 0, or
 * -errno with a fragment. */
int tree_file_read(FILE *in, struct cct *to, bool second, uint64_t *n, struct error *why);

#endif
