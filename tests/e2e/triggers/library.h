/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An instrumented library that calls back. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <pcce.h>

void library_call(void (*callback)(void));
/* Asks by itself. */
int library_test(struct pcce_contexts *set);

#endif
