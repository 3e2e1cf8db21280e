/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Included in front of random programs (tests/oracle/generate): each function allocates, and some
 * calls wait for a thread. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of bytes that the function allocates. */
size_t account_size(void);
/* Keeps what the function has allocated, and frees something older. */
void account_keep(int function, void *p);
/* Now and then, waits until the other thread continues this one. */
void account_wait(int function);

#define ENTER(i) (account_keep(i, malloc(account_size())), account_wait(i))

#ifdef __cplusplus
}
#endif

#endif
