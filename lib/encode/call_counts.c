/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frees call counts: see call_counts.h. */
#include <stdlib.h>
#include <string.h>
#include "encode/call_counts.h"

void call_counts_free(struct call_counts *c)
{
	free(c->all);
	free(c->targets);
	memset(c, 0, sizeof(*c));
}
