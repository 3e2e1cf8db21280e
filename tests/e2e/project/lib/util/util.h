/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef UTIL_H
#define UTIL_H
unsigned int util_work(unsigned int n);
unsigned int util_unused(unsigned int n);
void util_each(unsigned int n, void (*f)(unsigned int, void *), void *arg);
#endif
