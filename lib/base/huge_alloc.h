/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory for hash tables that can become large, and are looked into all over: in huge pages where
 * the system has them, since otherwise most of a look is the processor's search for the page.
 */
#ifndef PCCE_BASE_HUGE_ALLOC_H
#define PCCE_BASE_HUGE_ALLOC_H

#include <stddef.h>

/* Zeros, for free(); NULL: no memory. */
void *huge_alloc(size_t n, size_t size);

#endif
