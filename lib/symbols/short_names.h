/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Chooses the names that people see: short_name.h's, with as many folds open as it takes that no
 * two functions of a report look the same.
 */
#ifndef PCCE_SYMBOLS_SHORT_NAMES_H
#define PCCE_SYMBOLS_SHORT_NAMES_H

#include "symbols/symbol_table.h"

/* Sets the short name of each of these strings (symbol_table_set_short()). A string may occur
 * several times. 0 or -ENOMEM. */
int short_names_choose(struct symbol_table *names, const uint32_t *strings, size_t n);

#endif
