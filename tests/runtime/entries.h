/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef TESTS_RUNTIME_ENTRIES_H
#define TESTS_RUNTIME_ENTRIES_H

#include <pcce/table.h>
#include "helpers.h"

extern struct pcce_helper_entries entries; /* run-time addresses */
extern struct pcce_table_helper *helpers;
extern size_t n_helpers;

const struct pcce_table_helper *helper_at(uint64_t address);
uint64_t helper_address(enum op op);

#endif
