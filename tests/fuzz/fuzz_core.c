/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fuzzes the reader of core dumps: opening, then what pcce-core asks for. */
#include <stdlib.h>
#include <string.h>
#include <pcce/abi.h>
#include "elf/core_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void use_core(const struct core_file *c)
{
	struct pcce_page page;

	for (size_t i = 0; i < c->n_threads; i++) {
		const struct core_thread *t = &c->threads[i];

		sink += t->tid + (uint64_t)t->signal + t->ip;
		for (uint64_t k = 0; k < 4; k++)
			if (core_file_read(c, t->fs_base - k * 512, &page, sizeof(page)))
				sink += page.id;
		sink += core_file_read(c, t->sp, &page, 8);
	}
	for (size_t i = 0; i < c->n_mappings; i++) {
		struct core_identity identity = core_file_identity(c, &c->mappings[i]);

		sink += strlen(c->mappings[i].path) + identity.build_id_size + identity.encoding[0];
		if (core_file_read(c, c->mappings[i].start, &page, sizeof(page)))
			sink += page.id;
	}
	for (size_t i = 0; i < c->n_headers; i++)
		if (core_file_read(c, c->headers[i].p_vaddr + c->headers[i].p_memsz - 8, &page, 8))
			sink += page.magic;
	sink += core_file_read(c, UINT64_MAX - 3, &page, sizeof(page));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	struct core_file c;
	struct error why;

	/* In its own memory, so that the sanitizer sees each access behind its end. */
	copy = realloc(copy, size ? size : 1);
	memcpy(copy, data, size);
	if (core_file_open(copy, size, &c, &why)) {
		fuzz_refused(why.text);
	} else {
		use_core(&c);
		core_file_close(&c);
	}
	free(copy);
	return 0;
}
