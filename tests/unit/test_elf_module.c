/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests the ELF reader on descriptors: files of both word sizes, damaged files, and files cut off
 * at every byte. tests/encode and tests/fuzz test the reader on images.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "elf/module.h"
#include "tests/unit/tap.h"

static const uint8_t id[20] = "a build id, twenty.";
static const char names[] = "\0.shstrtab\0.pcce";

struct note {
	uint32_t name_size, size, type;
	char name[4];
	uint8_t id[20];
};

struct file64 {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4];
	struct note note;
	char table[64];
	char names[sizeof(names)];
	Elf64_Shdr sections[3];
};

struct file32 {
	Elf32_Ehdr header;
	Elf32_Phdr segments[2];
	struct note note;
};

static struct note make_note(void)
{
	struct note n = {4, sizeof(id), NT_GNU_BUILD_ID, "GNU", {0}};

	memcpy(n.id, id, sizeof(id));
	return n;
}

static struct file64 make_file64(void)
{
	struct file64 f = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = offsetof(struct file64, segments),
			   .e_shoff = offsetof(struct file64, sections),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 4,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = 1},
		.segments = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0, .p_filesz = 0x900},
			     {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = 0x1234,
			      .p_vaddr = 0x5234,
			      .p_filesz = 0x2000},
			     {.p_type = PT_NOTE,
			      .p_offset = offsetof(struct file64, note),
			      .p_filesz = sizeof(struct note),
			      .p_align = 4},
			     {.p_type = PT_INTERP}},
		.note = make_note(),
		.table = "the table",
		.sections = {{0},
			     {.sh_name = 1,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct file64, names),
			      .sh_size = sizeof(names)},
			     {.sh_name = 11,
			      .sh_type = SHT_PROGBITS,
			      .sh_offset = offsetof(struct file64, table),
			      .sh_size = 64}},
	};

	memcpy(f.names, names, sizeof(names));
	return f;
}

/* The text of the last error, for tests of functions that take one. */
static struct error why;

static bool ok(bool good, const char *name)
{
	return tap_ok(good, name, "%s", why.text);
}

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		exit(2);
	return fd;
}

static void test_whole(void)
{
	struct file64 f = make_file64();
	int fd = file_of(&f, sizeof(f));
	const struct elf_section *s;
	struct elf_module m;
	uint64_t vaddr;
	char *data;

	ok(!elf_module_open_fd(fd, &m, &why), "a file of 64 bits is read");
	ok(m.program, "an interpreter makes a program");
	ok(m.build_id_size == sizeof(id) && !memcmp(m.build_id, id, sizeof(id)),
	   "it has its build id");
	ok(m.n_segments == 2 && !m.segments[0].executable && m.segments[1].executable,
	   "it has its segments");
	ok(!elf_module_vaddr(&m, 0, &vaddr), "no executable segment holds offset 0");
	ok(elf_module_vaddr(&m, 0x1000, &vaddr) && vaddr == 0x5000 &&
		   elf_module_vaddr(&m, 0x3fff, &vaddr) && vaddr == 0x7fff,
	   "a segment counts in whole pages");
	ok(!elf_module_vaddr(&m, 0x4000, &vaddr), "and ends after them");
	s = elf_module_table(&m);
	ok(s && s->offset == offsetof(struct file64, table) && s->size == 64,
	   "it has an encoding table");
	ok(s && !elf_module_contents(&m, s) && !elf_module_at(&m, 0x5234, 1),
	   "its contents are not in memory");
	data = elf_section_read(fd, s, &why);
	ok(data && !memcmp(data, f.table, sizeof(f.table)), "the table can be read");
	free(data);
	if (ftruncate(fd, offsetof(struct file64, names)))
		exit(2);
	data = elf_section_read(fd, s, &why);
	ok(data, "also when the file ends with the table now");
	free(data);
	if (ftruncate(fd, offsetof(struct file64, names) - 1))
		exit(2);
	ok(!elf_section_read(fd, s, &why) && strstr(why.text, "beyond the end"),
	   "not when the file has become shorter");
	elf_module_close(&m);
	close(fd);
}

static void test_other_files(void)
{
	struct file32 f = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_phoff = offsetof(struct file32, segments),
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 2,
			   .e_shentsize = sizeof(Elf32_Shdr)},
		.segments = {{.p_type = PT_LOAD,
			      .p_flags = PF_X,
			      .p_vaddr = 0x8048000,
			      .p_filesz = 0x800},
			     {.p_type = PT_NOTE,
			      .p_offset = offsetof(struct file32, note),
			      .p_filesz = sizeof(struct note),
			      .p_align = 4}},
		.note = make_note(),
	};
	struct elf_module m;
	uint64_t vaddr;
	int fd = file_of(&f, sizeof(f));

	ok(!elf_module_open_fd(fd, &m, &why) && m.program && m.build_id_size == sizeof(id) &&
		   elf_module_vaddr(&m, 0x10, &vaddr) && vaddr == 0x8048010 && !m.n_sections,
	   "a program of 32 bits is read, without sections");
	elf_module_close(&m);
	close(fd);
	ok(elf_module_open(&f, sizeof(f), &m, &why) && strstr(why.text, "32-bit"),
	   "as an image it is refused");
	fd = file_of("#!/bin/sh\n", 10);
	ok(elf_module_open_fd(fd, &m, &why) == -ENOEXEC && !strcmp(why.text, "is not an ELF file"),
	   "a script is refused");
	close(fd);
	fd = file_of("!<arch>\n", 8);
	ok(elf_module_open_fd(fd, &m, &why) == -ENOEXEC, "an archive is refused");
	close(fd);
}

static void test_damaged(void)
{
	struct file64 f = make_file64();
	struct elf_module m;
	int fd, opened = 0;

	for (size_t size = 0; size < sizeof(f); size++) {
		fd = file_of(&f, size);
		if (!elf_module_open_fd(fd, &m, NULL)) {
			opened++;
			elf_module_close(&m);
		}
		close(fd);
	}
	ok(opened > 0, "a file can be cut anywhere");
	f.header.e_shstrndx = 77;
	fd = file_of(&f, sizeof(f));
	ok(!elf_module_open_fd(fd, &m, NULL) && !elf_module_table(&m) && m.n_segments == 2,
	   "without section names the segments are left");
	elf_module_close(&m);
	close(fd);
	f = make_file64();
	f.sections[2].sh_name = sizeof(names);
	fd = file_of(&f, sizeof(f));
	ok(!elf_module_open_fd(fd, &m, NULL) && !elf_module_table(&m),
	   "a name outside the names is none");
	elf_module_close(&m);
	close(fd);
	f = make_file64();
	f.sections[2].sh_type = SHT_NOBITS;
	fd = file_of(&f, sizeof(f));
	ok(!elf_module_open_fd(fd, &m, NULL) && !elf_module_table(&m),
	   "a table without contents is none");
	elf_module_close(&m);
	close(fd);
	f = make_file64();
	f.note.size = 4096;
	fd = file_of(&f, sizeof(f));
	ok(!elf_module_open_fd(fd, &m, NULL) && !m.build_id_size,
	   "a build id that leaves its note is none");
	elf_module_close(&m);
	close(fd);
	f = make_file64();
	f.sections[2].sh_size = (uint64_t)-1;
	fd = file_of(&f, sizeof(f));
	ok(!elf_module_open_fd(fd, &m, NULL) && elf_module_table(&m) &&
		   !elf_section_read(fd, elf_module_table(&m), NULL),
	   "a table larger than the file is not read");
	elf_module_close(&m);
	close(fd);
}

int main(void)
{
	test_whole();
	test_other_files();
	test_damaged();
	return tap_done();
}
