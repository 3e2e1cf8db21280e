/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Allocates memory for large hash tables, in huge pages where the system has them. Lookups go all
 * over such a table, and with small pages most of a lookup's time is address translation.
 */
#ifndef PCCE_BASE_HUGE_ALLOC_H
#define PCCE_BASE_HUGE_ALLOC_H

#include <stddef.h>

/* Returns n * size bytes of zeros, for huge_free(). NULL: no memory. */
void *huge_alloc(size_t n, size_t size);
/* Frees what huge_alloc(n, size) returned; NULL is allowed if n is 0. */
void huge_free(void *array, size_t n, size_t size);

#endif
