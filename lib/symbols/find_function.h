/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Looks for a function in the symbol tables and the debug information of an ELF file. */
#ifndef PCCE_SYMBOLS_FIND_FUNCTION_H
#define PCCE_SYMBOLS_FIND_FUNCTION_H

#include <stdbool.h>

/* Is this the name of the function? It is as the linker knows it. */
typedef bool find_function_name(void *ctx, const char *name);

/* Has the file a symbol of such a function? */
bool find_function_symbol(int fd, find_function_name *is, void *ctx);
/* Has it such a function that the compiler inlined? Looks only at debug information in the file. */
bool find_function_inlined(int fd, find_function_name *is, void *ctx);

#endif
