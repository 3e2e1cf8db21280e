/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * uthash, without its end of the process when memory is exhausted. After HASH_ADD(), hash_added()
 * says whether the element is in the table; if not, the caller still owns it.
 */
#ifndef PCCE_BASE_UTHASH_H
#define PCCE_BASE_UTHASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define hash_added(element) ((element)->hh.tbl != NULL)

#endif
