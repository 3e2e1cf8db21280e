/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fuzzes the reader of dictionaries: all lines of a file, and then each context that they name. */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "api/dictionary.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void use_dictionary(struct pcce_decode_dictionary *d)
{
	const struct dictionary_lines *lines = dictionary_content(d);
	const struct pcce_decode_context *c;
	struct pcce_decode_error why;
	struct pcce_decode_frame f;
	uint8_t id[16] = {1};

	for (size_t i = 0; i < lines->n_lists; i++) {
		memcpy(id, &lines->lists[i].name, sizeof(id));
		if (pcce_decode_dictionary_context(d, id, &c, &why)) {
			sink += strlen(why.text);
			continue;
		}
		for (size_t k = 0; !pcce_decode_context_frame(c, k, &f, sizeof(f)); k++)
			sink += strlen(f.function) + f.line;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcce_decode_dictionary *d;
	struct pcce_decode_error why;
	int fd = memfd_create("dictionary", 0);
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    pcce_decode_dictionary_new(PCCE_DECODE_INLINED, &d, &why))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (pcce_decode_dictionary_read(d, path, &why))
		fuzz_refused("is damaged");
	use_dictionary(d);
	pcce_decode_dictionary_free(d);
	close(fd);
	return 0;
}
