/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the recorder needs to know of an ELF file: its build id, its executable
 * segments and its encoding table. */
#ifndef PCCE_ELF_MAPPED_FILE_H
#define PCCE_ELF_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <pcce/table.h>
#include "base/error.h"

struct mapped_file_load {
	uint64_t offset, filesz, vaddr;
};

struct mapped_file {
	uint8_t build_id[32];
	uint32_t build_id_size;
	struct mapped_file_load *loads; /* the executable ones */
	size_t n_loads;
	bool program;	       /* it is executed, not loaded as a library, as far as one can tell */
	uint64_t table_offset; /* of the section .pcce in the file */
	uint64_t table_size;   /* 0: it has none */
};

/* Opens the file that a process has mapped at [start, start + length): the very file as long as the
 * process lives and still has it there, else what its path names, as that process sees it. A
 * descriptor or -errno. */
int mapped_file_open(pid_t pid, uint64_t start, uint64_t length, const char *path);

/* 0, or -errno with a sentence fragment in why ("is not an ELF file"). */
int mapped_file_read(int fd, struct mapped_file *out, struct error *why);
void mapped_file_free(struct mapped_file *image);

/* Link-time address of an offset in the file. False: no segment holds it. */
bool mapped_file_vaddr(const struct mapped_file *image, uint64_t offset, uint64_t *vaddr);

/* Reads the section .pcce: malloc'ed memory, or NULL with a fragment in why. */
void *mapped_file_table(int fd, const struct mapped_file *image, struct error *why);

/* Reads the head of the table, for its tpoff and got, checking only its magic and version. */
bool mapped_file_table_head(int fd, const struct mapped_file *image, struct pcce_table *head);

#endif
