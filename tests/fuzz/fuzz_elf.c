/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fuzzes the reader of ELF modules, on a descriptor and on an image, the reader of site records,
 * and all that encoding does with them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "elf/module.h"
#include "encode/encode.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Both ways to open a module must agree on each file that the encoder accepts. */
static void open_both(const uint8_t *image, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_module in_memory, on_fd;
	const struct elf_section *table;
	uint64_t vaddr;

	if (fd < 0 || (size && write(fd, image, size) != (ssize_t)size))
		abort();
	bool opened = !elf_module_open(image, size, &in_memory, NULL);

	if (!elf_module_open_fd(fd, &on_fd, NULL)) {
		table = elf_module_table(&on_fd);
		elf_module_vaddr(&on_fd, 0x1000, &vaddr);
		if (table)
			free(elf_section_read(fd, table, NULL));
		if (opened && (in_memory.n_segments != on_fd.n_segments ||
			       in_memory.n_sections != on_fd.n_sections ||
			       in_memory.build_id_size != on_fd.build_id_size ||
			       memcmp(in_memory.build_id, on_fd.build_id, on_fd.build_id_size) ||
			       !elf_module_table(&in_memory) != !table))
			abort();
		elf_module_close(&on_fd);
	} else if (opened) {
		abort();
	}
	if (opened)
		elf_module_close(&in_memory);
	close(fd);
}

/* An encoded file must be accepted as such. Encoded by a recording it is the same as if it had not
 * been before. But damaged records can say of slots what is not so. */
static void encode_again(const uint8_t *image, size_t size, const struct encode_output *e)
{
	static const struct call_counts no_counts;
	static const struct encode_options none = {.counts = &no_counts};
	struct encode_output again, first, second;
	struct error why;

	if (encode_image(e->image, e->size, NULL, &again, &why) || again.result != ENCODE_ALREADY)
		abort();
	encode_output_free(&again);
	if (encode_image(image, size, &none, &first, &why))
		abort();
	if (encode_image(e->image, e->size, &none, &second, &why)) {
		fuzz_refused(why.text);
	} else {
		if (second.result != ENCODE_DONE || first.table_size != second.table_size ||
		    memcmp(first.table, second.table, first.table_size))
			fuzz_refused("differs when it is encoded again");
		encode_output_free(&second);
	}
	encode_output_free(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *image = malloc(size ? size : 1);
	struct encode_output e;
	struct error why;

	memcpy(image, data, size);
	open_both(image, size);
	if (encode_image(image, size, NULL, &e, &why)) {
		fuzz_refused(why.text);
	} else {
		if (e.result == ENCODE_DONE)
			encode_again(image, size, &e);
		encode_output_free(&e);
	}
	free(image);
	return 0;
}
