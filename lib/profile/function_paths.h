/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Unrolls contexts (unrolled_path.h) to lists of functions. */
#ifndef PCCE_PROFILE_FUNCTION_PATHS_H
#define PCCE_PROFILE_FUNCTION_PATHS_H

#include "profile/functions.h"
#include "profile/unrolled_path.h"

/* Frames are functions; unrolled_path_to() gives the path to a node. The tree and the functions
 * must outlive p. */
void function_paths_init(struct unrolled_path *p, const struct cct *t, struct functions *f);

#endif
