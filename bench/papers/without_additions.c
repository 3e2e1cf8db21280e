/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * without_additions IN OUT
 *
 * Writes a copy of an encoded program in which no call adds to the id, or subtracts from it.  Its
 * contexts are wrong.  What it takes less time than IN is a bound for the paper's hybrid encoding,
 * which leaves out some of the additions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/papers/program.h"
#include "elf/encoding_table.h"
#include "elf/module.h"
#include "elf/x86.h"
#include "encode/encode.h"

static int clear(const struct elf_module *m, uint8_t *image, uint64_t at, size_t n,
		 struct error *why)
{
	const uint8_t *code = elf_module_at(m, at, n);

	if (!code)
		return error_set(why, -EINVAL, "has a slot outside its code");
	x86_fill_nops(image + (code - m->image), n);
	return 0;
}

static int clear_additions(const struct elf_module *m, const struct encoding_table *t,
			   uint8_t *image, struct error *why)
{
	int err = 0;

	for (uint64_t i = 0; !err && i < t->head->sites.count; i++) {
		const struct pcce_table_site *s = &t->sites[i];

		if (s->kind != PCCE_KIND_ADD)
			continue;
		err = clear(m, image, s->key - s->before, s->before, why);
		if (!err)
			err = clear(m, image, s->key + s->ret, s->after_len, why);
	}
	return err;
}

static int clear_image(uint8_t *image, size_t size, uint8_t *out, struct error *why)
{
	const struct elf_section *section;
	struct encoding_table t = {};
	struct elf_module m;
	const uint8_t *data;
	void *copy;
	int err = elf_module_open(image, size, &m, why);

	if (err)
		return err;
	section = elf_module_section(&m, PCCE_TABLE_SECTION, NULL);
	data = section ? elf_module_contents(&m, section) : NULL;
	copy = data ? malloc(section->size + 1) : NULL;
	if (copy) {
		memcpy(copy, data, section->size);
		err = encoding_table_open(copy, section->size, &t, why);
		if (!err)
			err = clear_additions(&m, &t, out, why);
		encoding_table_close(&t);
		free(copy);
	} else {
		err = error_set(why, -EINVAL, "is not encoded");
	}
	elf_module_close(&m);
	return err;
}

int main(int argc, char **argv)
{
	int status = EXIT_FAILURE;
	uint8_t *image, *out;
	struct error why;
	size_t size;

	if (argc != 3) {
		fprintf(stderr, "usage: without_additions IN OUT\n");
		return 2;
	}
	if (encode_read_file(argv[1], &image, &size, &why)) {
		fprintf(stderr, "without_additions: '%s' %s\n", argv[1], why.text);
		return EXIT_FAILURE;
	}
	out = malloc(size);
	if (!out) {
		fprintf(stderr, "without_additions: out of memory\n");
	} else {
		memcpy(out, image, size);
		if (clear_image(image, size, out, &why))
			fprintf(stderr, "without_additions: '%s' %s\n", argv[1], why.text);
		else if (program_write(argv[2], out, size, &why))
			fprintf(stderr, "without_additions: '%s' %s\n", argv[2], why.text);
		else
			status = EXIT_SUCCESS;
	}
	free(out);
	free(image);
	return status;
}
