/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Functions of the linked library. */
#ifndef LINKED_H
#define LINKED_H

#include <csetjmp>
#include "table.h"

extern "C" {
unsigned int linked_all(unsigned int n, callback *f);
unsigned int linked_helper(unsigned int n);
unsigned int linked_recursion(unsigned int n, callback *f);
void linked_throw(unsigned int n);
unsigned int linked_catch(unsigned int n, callback *f);
void linked_jump(jmp_buf *to);
}

#endif
