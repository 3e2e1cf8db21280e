// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reads .pcce_entries and .pcce_helpers of the running executable, which are not loaded. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include "entries.h"

struct pcce_helper_entries entries;
struct pcce_table_helper *helpers;
size_t n_helpers;

static void *read_at(FILE *f, long offset, size_t size)
{
	void *p = calloc(1, size + 1);

	if (!p || fseek(f, offset, SEEK_SET) != 0 || fread(p, 1, size, f) != size) {
		printf("Bail out! cannot read the executable\n");
		exit(1);
	}
	return p;
}

__attribute__((constructor)) static void load(void)
{
	FILE *f = fopen("/proc/self/exe", "r");
	Elf64_Ehdr *eh = read_at(f, 0, sizeof(*eh));
	Elf64_Shdr *sh = read_at(f, (long)eh->e_shoff, sizeof(*sh) * eh->e_shnum);
	char *names = read_at(f, (long)sh[eh->e_shstrndx].sh_offset, sh[eh->e_shstrndx].sh_size);
	uint64_t bias = getauxval(AT_ENTRY) - eh->e_entry;

	for (int i = 0; i < eh->e_shnum; i++) {
		const char *name = names + sh[i].sh_name;

		if (strcmp(name, PCCE_ENTRIES_SECTION) == 0 && sh[i].sh_size == sizeof(entries))
			memcpy(&entries, read_at(f, (long)sh[i].sh_offset, sizeof(entries)),
			       sizeof(entries));
		if (strcmp(name, PCCE_HELPERS_SECTION) == 0) {
			helpers = read_at(f, (long)sh[i].sh_offset, sh[i].sh_size);
			n_helpers = sh[i].sh_size / sizeof(*helpers);
		}
	}
	fclose(f);
	if (entries.magic != PCCE_ENTRIES_MAGIC || !n_helpers) {
		printf("Bail out! the runtime's sections are missing\n");
		exit(1);
	}
	for (__u64 *p = &entries.push; p <= &entries.text_end; p++)
		*p += bias;
	for (size_t i = 0; i < n_helpers; i++)
		helpers[i].addr += bias;
}

const struct pcce_table_helper *helper_at(uint64_t address)
{
	for (size_t i = 0; i < n_helpers; i++)
		if (address - helpers[i].addr < helpers[i].length)
			return &helpers[i];
	return NULL;
}

uint64_t helper_address(enum op op)
{
	switch (op) {
	case OP_PUSH:
		return entries.push;
	case OP_POP:
		return entries.pop;
	case OP_PUSH_SLOW:
		return entries.push_slow;
	default:
		return entries.pop_slow;
	}
}
