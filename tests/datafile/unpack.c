/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * unpack FROM TO: copies a recording without packing its records, so that tests find and change
 * single ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "stream/reader.h"

int main(int argc, char **argv)
{
	const struct pcce_file_header head = {
		.magic = PCCE_FILE_MAGIC,
		.version = PCCE_FILE_VERSION,
		.header_size = sizeof(head),
		.byte_order = PCCE_FILE_BYTE_ORDER,
	};
	struct datafile_reader *reader;
	const struct pcce_record *rec;
	struct error why = {0};
	FILE *to;
	int more;

	if (argc != 3 || datafile_open(argv[1], &reader, &why)) {
		fprintf(stderr, "%s\n", argc == 3 ? why.text : "unpack FROM TO");
		return 1;
	}
	to = fopen(argv[2], "w");
	if (!to || fwrite(&head, sizeof(head), 1, to) != 1) {
		perror(argv[2]);
		return 1;
	}
	while ((more = datafile_next(reader, &rec)) > 0) {
		struct pcce_record *copy = malloc(rec->size);

		memcpy(copy, rec, rec->size);
		copy->crc = 0;
		copy->crc = (uint32_t)crc32(0, (const Bytef *)copy, copy->size);
		fwrite(copy, copy->size, 1, to);
		free(copy);
	}
	if (more < 0)
		fprintf(stderr, "%s\n", datafile_error(reader));
	datafile_close(reader);
	return fclose(to) || more < 0;
}
