/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the functions that show both sides of a disagreement. */
#ifndef ORACLE_REPORT_H
#define ORACLE_REPORT_H

#include <stdio.h>
#include "tests/oracle/chain.h"
#include "tests/oracle/sample.h"

void report(FILE *out, const char *what, const struct chain *c, struct space *s,
	    const struct sample *sample, const struct stack_store_flat *stack,
	    const struct decode_context *ctx);

#endif
