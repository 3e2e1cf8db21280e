/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fuzzes expressions over functions. Behind a NUL comes a symbol. */
#include <stdlib.h>
#include <string.h>
#include "api/expression.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(size + 2, 1);
	struct expression e;
	struct error why;

	memcpy(text, data, size);
	if (expression_parse(text, &e, &why)) {
		fuzz_refused(why.text);
	} else {
		uint8_t parts = expression_match(&e, text + strlen(text) + 1);

		sink += expression_frame(&e, parts) + expression_match(&e, e.name[0]);
		expression_free(&e);
	}
	free(text);
	return 0;
}
