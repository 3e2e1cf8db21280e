/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Remembers which chain of calls had which name, in two hash tables.  Chains whose exact keys are
 * equal must have equal names.  Chains whose source keys differ must have different names.
 */
#ifndef ORACLE_NAMES_H
#define ORACLE_NAMES_H

#include "tests/oracle/chain.h"
#include "userlib/pcce.h"

enum names_result {
	NAMES_NEW,
	NAMES_KNOWN,
	NAMES_OTHER_NAME,  /* the chain had another name before */
	NAMES_OTHER_CHAIN, /* the name was that of another chain */
};

enum names_result names_add(struct chain_keys chain, const struct pcce_id *name);

#endif
