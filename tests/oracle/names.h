/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Remembers which chain of calls had which name, in two hash tables: equal chains must have equal
 * names, and different ones different names.
 */
#ifndef ORACLE_NAMES_H
#define ORACLE_NAMES_H

#include <stdint.h>
#include "userlib/pcce.h"

enum names_result {
	NAMES_NEW,
	NAMES_KNOWN,
	NAMES_OTHER_NAME,  /* the chain had another name before */
	NAMES_OTHER_CHAIN, /* the name was that of another chain */
};

/* chain: a digest. */
enum names_result names_add(uint64_t chain, const struct pcce_id *name);

#endif
