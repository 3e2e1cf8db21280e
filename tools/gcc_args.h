/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tells from a command line of gcc or g++ what the compiler will do. */
#ifndef PCCE_GCC_ARGS_H
#define PCCE_GCC_ARGS_H

enum gcc_work {
	GCC_OTHER,    /* questions, preprocessing, checks of the syntax, code that is not x86-64 */
	GCC_COMPILES, /* to assembly or objects */
	GCC_LINKS,    /* and perhaps compiles before */
};

enum gcc_work gcc_args_work(int argc, char **argv);

#endif
