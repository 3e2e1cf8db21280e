/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds the runtime to links of shared libraries that name all libraries themselves. */
#ifndef PCCE_LD_RUNTIME_H
#define PCCE_LD_RUNTIME_H

#include "tools/ld_args.h"

/* Changes args->all and sets args->changed if it adds the runtime. Returns 0 or -ENOMEM. */
int ld_runtime_add(struct ld_args *args);

#endif
