/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See file.h. The file may be of anybody: nothing of it is executed or mapped. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcce/sites.h>

#include "base/array.h"
#include "base/privilege.h"
#include "check/file.h"
#include "elf/encoding_table.h"
#include "elf/module.h"
#include "symbols/table_file.h"

#define MAX_SECTION (1u << 20) /* of names and comments */
#define MAX_TABLE (1ull << 32)
#define MAX_NEEDED 1024

static int refuse_other(int fd, struct error *why)
{
	unsigned char head[256] = {0};
	ssize_t n = pread(fd, head, sizeof(head) - 1, 0);
	Elf64_Half machine;

	if (n > 2 && !memcmp(head, "#!", 2)) {
		char *name = (char *)head + 2 + strspn((char *)head + 2, " \t");

		name[strcspn(name, " \t\r\n")] = 0;
		return error_set(why, -ENOEXEC, "is a script; check its interpreter: %s", name);
	}
	if (n < (ssize_t)sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG))
		return error_set(why, -ENOEXEC, "is not an ELF file");
	memcpy(&machine, head + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
	if (head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB || machine != EM_X86_64)
		return error_set(why, -ENOEXEC,
				 "is not for x86-64, the only machine that pcce supports");
	return 0;
}

static void *read_small(int fd, const struct elf_section *s)
{
	return s && s->type != SHT_NOBITS && s->size <= MAX_SECTION ? elf_section_read(fd, s, NULL)
								    : NULL;
}

static void read_compilers(int fd, const struct elf_module *m, struct check_file *f)
{
	const struct elf_section *s = elf_module_section(m, ".comment", NULL);
	char *text = read_small(fd, s);

	for (size_t at = 0; text && at < s->size;) {
		const char *name = elf_string(text, s->size, at);
		size_t length = name ? strlen(name) : 0, used = strlen(f->compilers);

		if (!name)
			break;
		at += length + 1;
		if (length && !strstr(f->compilers, name) &&
		    used + length + 3 < sizeof(f->compilers))
			snprintf(f->compilers + used, sizeof(f->compilers) - used, "%s%s",
				 used ? ", " : "", name);
	}
	free(text);
}

static int add_needed(struct check_file *f, const char *name)
{
	if (f->n_needed == MAX_NEEDED)
		return 0;
	if (array_grow(&f->needed, f->n_needed, sizeof(*f->needed)))
		return -ENOMEM;
	f->needed[f->n_needed] = strdup(name);
	return f->needed[f->n_needed++] ? 0 : -ENOMEM;
}

static int read_dynamic_section(int fd, const struct elf_module *m, struct check_file *f)
{
	const struct elf_section *s = elf_module_section(m, ".dynamic", NULL),
				 *names = elf_module_section(m, ".dynstr", NULL);
	char *entries = read_small(fd, s), *strings = read_small(fd, names);
	int r = 0;

	for (size_t at = 0; entries && strings && at + sizeof(Elf64_Dyn) <= s->size && !r;
	     at += sizeof(Elf64_Dyn)) {
		const char *name;
		Elf64_Dyn d;

		memcpy(&d, entries + at, sizeof(d));
		name = elf_string(strings, names->size, d.d_un.d_val);
		if (d.d_tag == DT_NULL)
			break;
		if (!name)
			continue;
		if (d.d_tag == DT_NEEDED)
			r = add_needed(f, name);
		if ((d.d_tag == DT_RUNPATH || d.d_tag == DT_RPATH) && !f->run_path) {
			f->run_path = strdup(name);
			r = f->run_path ? 0 : -ENOMEM;
		}
	}
	free(entries);
	free(strings);
	return r;
}

static void read_encoding_table(int fd, const struct elf_section *s, struct check_file *f)
{
	struct encoding_table t;
	void *data = NULL;

	f->state = CHECK_UNUSABLE;
	if (s->size > MAX_TABLE)
		error_set(&f->unusable, 0, "is too large");
	else
		data = elf_section_read(fd, s, &f->unusable);
	if (data && !encoding_table_open(data, s->size, &t, &f->unusable)) {
		f->state = t.head->flags & PCCE_TABLE_HIDDEN ? CHECK_HIDDEN : CHECK_ENCODED;
		f->table_version = t.head->version;
		f->functions = t.head->funcs.count;
		f->sites = t.head->sites.count;
		encoding_table_close(&t);
	}
	free(data);
}

static void read_sites_version(int fd, const struct elf_section *s, struct check_file *f)
{
	uint64_t magic;

	if (s->size >= sizeof(magic) &&
	    pread(fd, &magic, sizeof(magic), (off_t)s->offset) == sizeof(magic) &&
	    (magic & 0xffffffffffffull) == PCCE_BLOCK_MAGIC)
		f->sites_version = (unsigned int)(magic >> 48);
}

int check_file_read(int fd, struct check_file *f, struct error *why)
{
	const struct elf_section *sites;
	struct table_file table;
	struct elf_module m;
	char path[32];
	struct stat st;
	int r;

	*f = (struct check_file){0};
	if (fstat(fd, &st))
		return error_set(why, -errno, "cannot be read: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(why, -EINVAL, "is not a regular file");
	r = refuse_other(fd, why);
	if (!r)
		r = elf_module_open_fd(fd, &m, why);
	if (r)
		return r;
	if (!m.n_sections) {
		elf_module_close(&m);
		return error_set(why, -ENOEXEC, "has no section headers that can be read");
	}
	f->program = m.program;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	f->privilege = privilege_of_program(path);
	f->lines = elf_module_section(&m, ".debug_line", NULL) ||
		   elf_module_section(&m, ".zdebug_line", NULL);
	f->link = elf_module_section(&m, ".gnu_debuglink", NULL);
	read_compilers(fd, &m, f);
	sites = elf_module_section(&m, PCCE_SITES_SECTION, NULL);
	if (sites)
		read_sites_version(fd, sites, f);
	table_file_find(fd, &m, &table);
	if (table.state == TABLE_FOUND)
		read_encoding_table(table.fd, &table.section, f);
	else
		f->state = table.state == TABLE_NOT_ENCODED ? CHECK_NOT_ENCODED
			   : table.state == TABLE_STRIPPED  ? CHECK_STRIPPED
							    : CHECK_PLAIN;
	table_file_close(&table);
	r = read_dynamic_section(fd, &m, f);
	elf_module_close(&m);
	if (!r)
		return 0;
	check_file_free(f);
	return error_memory(why);
}

void check_file_free(struct check_file *f)
{
	for (size_t i = 0; i < f->n_needed; i++)
		free(f->needed[i]);
	free(f->needed);
	free(f->run_path);
	*f = (struct check_file){0};
}
