// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * damage KIND FUNCTION IN OUT
 *
 * Makes one mistake of pcce-encode or of the plugin in a linked file, to show that the
 * single-stepper finds it.
 *
 * KIND is one of
 *
 * - window: the table says that the effect of a site in FUNCTION is undone one instruction too
 *   early, at the beginning of the after-slot.  The site is the first that adds, or else the first
 *   that pushes.
 *
 * - value: the slots of the first site in FUNCTION that adds add and subtract one more than the
 *   table says.
 *
 * - depth: of two implicit contexts of FUNCTION, each has the call of the other.  The file has
 *   hybrid encoding.
 *
 * - restore: the first call of __pcce_restore in FUNCTION is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "elf/module.h"
#include "elf/encoding_table.h"

struct victim {
	uint8_t *image;
	size_t size;
	struct elf_module elf;
	uint8_t *section;
	size_t section_size;
	struct encoding_table table;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "damage: %s: %s\n", what, why);
	exit(1);
}

static void open_victim(struct victim *v, const char *path)
{
	const struct elf_section *s;
	struct error why = {0};
	struct error reason;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		fail(path, strerror(errno));
	v->size = (size_t)st.st_size;
	v->image = malloc(v->size);
	if (!v->image || read(fd, v->image, v->size) != (ssize_t)v->size)
		fail(path, "cannot be read");
	close(fd);
	if (elf_module_open(v->image, v->size, &v->elf, &reason))
		fail(path, "is not an ELF file of ours");
	s = elf_module_section(&v->elf, PCCE_TABLE_SECTION, NULL);
	if (!s)
		fail(path, "has no encoding table");
	v->section = v->image + s->offset;
	v->section_size = s->size;
	if (encoding_table_open(v->section, v->section_size, &v->table, &why))
		fail(path, why.text);
}

static void save(const struct victim *v, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, v->image, v->size) != (ssize_t)v->size || close(fd))
		fail(path, strerror(errno));
}

static struct pcce_table_site *find_site(struct victim *v, const char *function, uint8_t kind)
{
	const struct encoding_table *t = &v->table;

	for (uint64_t i = 0; i < t->head->sites.count; i++) {
		const struct pcce_table_site *s = &t->sites[i];

		if (s->kind == kind &&
		    !strcmp(encoding_table_string(t, t->funcs[s->func].name), function))
			return (struct pcce_table_site *)(uintptr_t)s;
	}
	return NULL;
}

static uint8_t *code_at(struct victim *v, uint64_t vaddr, size_t n)
{
	const uint8_t *p = elf_module_at(&v->elf, vaddr, n);

	if (!p)
		fail("code", "is not in the file");
	return v->image + (p - v->image);
}

static void update_checksum(struct victim *v)
{
	struct pcce_table *head = (struct pcce_table *)v->section;

	head->crc = 0;
	head->crc = (uint32_t)crc32(0, v->section, (uInt)v->section_size);
}

static void damage_window(struct victim *v, const char *function)
{
	struct pcce_table_site *s = find_site(v, function, PCCE_KIND_ADD);

	if (!s)
		s = find_site(v, function, PCCE_KIND_PUSH);
	if (!s || !s->undone)
		fail(function, "has no site that adds or pushes");
	s->undone = 0;
	update_checksum(v);
}

/* Finds addq or subq $imm, %fs:disp32 among nops.  The constant has 8 or 32 bits.  Its low byte is
 * at the same place. */
static void one_more(uint8_t *slot, size_t size, uint8_t modrm)
{
	for (uint8_t *p = slot; p + 10 <= slot + size; p++) {
		if (p[0] != 0x64 || p[1] != 0x48 || (p[2] != 0x83 && p[2] != 0x81) ||
		    p[3] != modrm || p[4] != 0x25)
			continue;
		p[9]++;
		return;
	}
	fail("slot", "does not hold the instruction that is expected there");
}

static void damage_value(struct victim *v, const char *function)
{
	const struct pcce_table_site *s = find_site(v, function, PCCE_KIND_ADD);

	if (!s)
		fail(function, "has no site that adds");
	one_more(code_at(v, s->key - s->before, s->before), s->before, 0x04);
	one_more(code_at(v, s->key + s->ret, s->after_len), s->after_len, 0x2c);
}

static void damage_depth(struct victim *v, const char *function)
{
	const struct encoding_table *t = &v->table;
	struct pcce_table_implicit *first = NULL;

	for (uint64_t i = 0; i < t->n_implicit; i++) {
		struct pcce_table_implicit *c =
			(struct pcce_table_implicit *)(uintptr_t)&t->implicit[i];
		uint32_t other;

		if (c->site == PCCE_NONE ||
		    strcmp(encoding_table_string(t, t->funcs[c->func].name), function))
			continue;
		if (!first)
			first = c;
		if (c->site == first->site)
			continue;
		other = c->site;
		c->site = first->site;
		first->site = other;
		update_checksum(v);
		return;
	}
	fail(function, "has no two implicit contexts by different calls");
}

static void damage_restore(struct victim *v, const char *function)
{
	static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	const struct pcce_table_site *s = find_site(v, function, PCCE_KIND_RESTORE);
	uint8_t *call;

	if (!s)
		fail(function, "restores nothing");
	call = code_at(v, s->key + s->ret - sizeof(nop), sizeof(nop));
	if (*call != 0xe8)
		fail(function, "does not end its restoration with a call");
	memcpy(call, nop, sizeof(nop));
}

int main(int argc, char **argv)
{
	struct victim v = {0};

	if (argc != 5) {
		fprintf(stderr, "usage: damage window|value|depth|restore FUNCTION IN OUT\n");
		return 2;
	}
	open_victim(&v, argv[3]);
	if (!strcmp(argv[1], "window"))
		damage_window(&v, argv[2]);
	else if (!strcmp(argv[1], "value"))
		damage_value(&v, argv[2]);
	else if (!strcmp(argv[1], "depth"))
		damage_depth(&v, argv[2]);
	else if (!strcmp(argv[1], "restore"))
		damage_restore(&v, argv[2]);
	else
		fail(argv[1], "is no kind of damage");
	save(&v, argv[4]);
	encoding_table_close(&v.table);
	elf_module_close(&v.elf);
	free(v.image);
	return 0;
}
