/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* uthash, without its end of the process when memory is exhausted. */
#ifndef PCCE_BASE_UTHASH_H
#define PCCE_BASE_UTHASH_H

#define HASH_NONFATAL_OOM 1
#include <stdlib.h>
#include <uthash.h>

/* After HASH_ADD(): whether the element is in the table. If not, the caller still owns it. */
#define hash_added(element) ((element)->hh.tbl != NULL)

/* Adds an allocated element, whose key is one of its fields. If there is no memory, it frees the
 * element, and is false. */
#define hash_add(head, field, element)                                        \
	({                                                                    \
		HASH_ADD(hh, head, field, sizeof((element)->field), element); \
		hash_added(element) || (free(element), 0);                    \
	})

/* Removes all elements, and frees each by a function. */
#define hash_free(head, free_element)                   \
	do {                                            \
		__typeof__(head) element_, next_;       \
                                                        \
		HASH_ITER (hh, head, element_, next_) { \
			HASH_DEL(head, element_);       \
			free_element(element_);         \
		}                                       \
	} while (0)

#endif
