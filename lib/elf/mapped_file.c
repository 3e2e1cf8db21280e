/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ELF files as the recorder sees them, through libelf. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pcce/datafile.h>
#include "elf/mapped_file.h"
#include "elf/encoding_table.h"

int mapped_file_open(pid_t pid, uint64_t start, uint64_t length, const char *path)
{
	char name[PATH_MAX + 64];
	int fd;

	if (pid > 0 && length) {
		snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
			 start, start + length);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	if (path[0] != '/')
		return -ENOENT;
	if (pid > 0) {
		snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int read_loads(Elf *elf, struct mapped_file *image)
{
	size_t n, i;

	if (elf_getphdrnum(elf, &n))
		return -EINVAL;
	image->loads = calloc(n ? n : 1, sizeof(*image->loads));
	if (!image->loads)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			return -EINVAL;
		if (ph.p_type == PT_INTERP)
			image->program = true;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		image->loads[image->n_loads++] =
			(struct mapped_file_load){ph.p_offset, ph.p_filesz, ph.p_vaddr};
	}
	return 0;
}

static void take_build_id(Elf_Data *data, struct mapped_file *image)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((const char *)data->d_buf + name, "GNU", 4))
			continue;
		if (!note.n_descsz || note.n_descsz > sizeof(image->build_id))
			continue;
		image->build_id_size = note.n_descsz;
		memcpy(image->build_id, (const char *)data->d_buf + desc, note.n_descsz);
		return;
	}
}

static void read_build_id(Elf *elf, struct mapped_file *image)
{
	size_t n, i;

	if (elf_getphdrnum(elf, &n))
		return;
	for (i = 0; i < n && !image->build_id_size; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_NOTE)
			take_build_id(
				elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
						     ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				image);
	}
}

static void find_table(Elf *elf, struct mapped_file *image)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name || strcmp(name, PCCE_TABLE_SECTION))
			continue;
		image->table_offset = sh.sh_offset;
		image->table_size = sh.sh_size;
		return;
	}
}

int mapped_file_read(int fd, struct mapped_file *out, struct error *why)
{
	GElf_Ehdr header;
	Elf *elf;
	int err;

	memset(out, 0, sizeof(*out));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header)) {
		if (elf)
			elf_end(elf);
		return error_set(why, -ENOEXEC, "is not an ELF file");
	}
	out->program = header.e_type == ET_EXEC;
	err = read_loads(elf, out);
	if (err) {
		error_set(why, err,
			  err == -ENOMEM ? "needs more memory than there is"
					 : "has damaged program headers");
		mapped_file_free(out);
	} else {
		read_build_id(elf, out);
		find_table(elf, out);
	}
	elf_end(elf);
	return err;
}

void mapped_file_free(struct mapped_file *image)
{
	free(image->loads);
	memset(image, 0, sizeof(*image));
}

bool mapped_file_vaddr(const struct mapped_file *image, uint64_t offset, uint64_t *vaddr)
{
	const uint64_t page = 4096;
	size_t i;

	for (i = 0; i < image->n_loads; i++) {
		const struct mapped_file_load *l = &image->loads[i];

		/* What is mapped begins and ends at page boundaries. */
		if (offset >= (l->offset & ~(page - 1)) &&
		    offset < ((l->offset + l->filesz + page - 1) & ~(page - 1))) {
			*vaddr = offset - l->offset + l->vaddr;
			return true;
		}
	}
	return false;
}

static bool read_all(int fd, void *to, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

void *mapped_file_table(int fd, const struct mapped_file *image, struct error *why)
{
	void *table;
	off_t end;

	if (image->table_size > PCCE_RECORD_MAX - sizeof(struct pcce_rec_table)) {
		error_set(why, 0, "is larger than a recording can hold");
		return NULL;
	}
	end = lseek(fd, 0, SEEK_END);
	if (end < 0 || image->table_offset > (uint64_t)end ||
	    image->table_size > (uint64_t)end - image->table_offset) {
		error_set(why, 0, "reaches beyond the end of the file");
		return NULL;
	}
	table = malloc(image->table_size);
	if (!table || !read_all(fd, table, image->table_size, image->table_offset)) {
		error_set(why, 0, table ? "cannot be read" : "needs more memory than there is");
		free(table);
		return NULL;
	}
	return table;
}

bool mapped_file_table_head(int fd, const struct mapped_file *image, struct pcce_table *head)
{
	return image->table_size >= sizeof(*head) &&
	       read_all(fd, head, sizeof(*head), image->table_offset) &&
	       head->magic == PCCE_TABLE_MAGIC && encoding_table_version_is_known(head->version);
}
