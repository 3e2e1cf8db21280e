/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fuzzes the reader of ELF modules and site records, and all that encoding does with them. */
#include <stdlib.h>
#include <string.h>
#include "encode/encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *image = malloc(size ? size : 1);
	struct encode_output e;
	struct error why;

	memcpy(image, data, size);
	if (!encode_image(image, size, NULL, &e, &why)) {
		/* An encoded file must be accepted as such. */
		if (e.result == ENCODE_DONE) {
			static const struct call_counts none;
			struct encode_output again, first, second;

			if (encode_image(e.image, e.size, NULL, &again, &why) ||
			    again.result != ENCODE_ALREADY)
				abort();
			encode_output_free(&again);
			/* And encoded by a recording it must be the same as if it had not been
			 * before. */
			if (encode_image(image, size, &none, &first, &why) ||
			    encode_image(e.image, e.size, &none, &second, &why) ||
			    second.result != ENCODE_DONE || first.table_size != second.table_size ||
			    memcmp(first.table, second.table, first.table_size))
				abort();
			encode_output_free(&first);
			encode_output_free(&second);
		}
		encode_output_free(&e);
	}
	free(image);
	return 0;
}
