/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Says why no context fits an expression of --only. */
#ifndef PCCE_FILTER_ONLY_REASON_H
#define PCCE_FILTER_ONLY_REASON_H

#include <stddef.h>
#include "api/expression.h"
#include "stream/modules.h"

/* What is known of the parts of the expression, as sets of parts. */
struct only_facts {
	uint8_t known;	/* instrumented functions match them */
	uint8_t seen;	/* functions in contexts of samples matched them */
	bool any_known; /* a module may have any function: it is not encoded */
	bool crosses;	/* contexts would fit if each << were a <<< */
};

/* Writes a sentence fragment. kept: samples were kept, since nobody knows whether they fit. Then
 * only what is certain is a reason, and the text may remain empty. */
void only_reason(const struct record_modules *m, const struct expression *e,
		 const struct only_facts *facts, bool kept, char *text, size_t size);

#endif
