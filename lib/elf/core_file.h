/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads a core dump of an x86-64 process: threads, mapped files and memory. */
#ifndef PCCE_ELF_CORE_FILE_H
#define PCCE_ELF_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include "base/error.h"

struct core_thread {
	uint32_t tid;
	int signal; /* that ended it; the first thread got it */
	uint64_t ip, sp, r11, fs_base;
};

struct core_mapping { /* of a file */
	uint64_t start, end, offset;
	const char *path;
	bool executable;
};

struct core_file {
	const uint8_t *data;
	size_t size;
	const Elf64_Phdr *headers;
	size_t n_headers;
	struct core_thread *threads;
	size_t n_threads;
	struct core_mapping *mappings;
	size_t n_mappings;
	uint64_t program; /* an address in the executable; 0: not known */
};

/* data must stay valid, at an address that is a multiple of 8. Returns 0, or -EINVAL or -ENOMEM
 * with a fragment that continues the file's name. A core that was cut off is read as far as it
 * goes. */
int core_file_open(const void *data, size_t size, struct core_file *out, struct error *why);
void core_file_close(struct core_file *c);

/* Copies memory of the process. False: not all of it is in the core. */
bool core_file_read(const struct core_file *c, uint64_t address, void *to, size_t size);

/* What the memory of a mapped file says about it. */
struct core_identity {
	bool known; /* its headers are in the core, and its notes or that of pcce */
	uint8_t build_id[32];
	uint32_t build_id_size;
	bool has_encoding; /* a note of pcce */
	uint8_t encoding[16];
};

/* Identifies the file that is mapped at m, by the headers in the file's first mapping. */
struct core_identity core_file_identity(const struct core_file *c, const struct core_mapping *m);

#endif
