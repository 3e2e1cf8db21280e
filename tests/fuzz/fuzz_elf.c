/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The reader of ELF modules and site records, and all that encoding does with them. */
#include <stdlib.h>
#include <string.h>
#include "tools/lib/encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *image = malloc(size ? size : 1);
	struct encoded e;
	struct fail why;

	memcpy(image, data, size);
	if (!encode_image(image, size, &e, &why)) {
		/* What was encoded must be accepted as such. */
		if (e.result == ENCODE_DONE) {
			struct encoded again;

			if (encode_image(e.image, e.size, &again, &why) || again.result != ENCODE_ALREADY)
				abort();
			encoded_free(&again);
		}
		encoded_free(&e);
	}
	free(image);
	return 0;
}
