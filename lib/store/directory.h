/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A store that is a folder: one merged recording a file, whose name begins with its time. */
#ifndef PCCE_STORE_DIRECTORY_H
#define PCCE_STORE_DIRECTORY_H

#include "store/merged.h"
#include "store/store.h"

/* Both as those of store.h. */
int directory_put(const char *folder, const struct merged *m, struct error *why);
FILE *directory_get(const char *folder, const struct store_query *q, void (*note)(const char *text),
		    struct error *why);

/* Removes the oldest recordings beyond a size of all in bytes, and those that began longer ago than
 * an age in seconds; 0: does not. 0, or -errno with a whole sentence in why. */
int directory_expire(const char *folder, uint64_t size, uint64_t age, struct error *why);

#endif
