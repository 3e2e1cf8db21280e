/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the functions between shlib_main.c and shlib.c. */
#ifndef SHLIB_H
#define SHLIB_H
typedef unsigned int shlib_callback(unsigned int n);
unsigned int shlib_work(unsigned int depth, shlib_callback *callback);
#endif
