/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a store knows of an ELF file, and the identity that contexts name it by. */
#ifndef PCCE_STORE_MODULE_ID_H
#define PCCE_STORE_MODULE_ID_H

#include <stdbool.h>
#include <stdint.h>
#include "store/bytes.h"
#include "store/packed.h"

struct module_facts {
	const char *build; /* the build id in hexadecimal digits; "": it has none */
	const char *path;
	uint8_t fixed;	      /* it is always mapped at its link-time addresses */
	uint64_t low, high;   /* mapped link-time addresses */
	const uint8_t *table; /* the encoding table, n bytes */
	size_t n;
};

/* A hash of all facts; of the path only if there is no build id. So nobody can give other facts
 * under the same identity. 0 or -ENOMEM. */
int module_identify(const struct module_facts *m, struct store_key *id);
/* Can a process have it mapped, at the place that a rebuilt recording gives it, and can readers use
 * its encoding table? is_main: only main executables have such tables. */
bool module_is_usable(const struct module_facts *f, bool *is_main);

#endif
