/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads ELF headers through libelf, from an image in memory or from a descriptor.
 *
 * libelf does the parsing because it knows both word sizes, both byte orders and the extended
 * numbers of sections and segments: the recorder meets all of them, and the encoder names what it
 * refuses.  On a descriptor libelf reads only the headers, the notes and the section names, with
 * pread().  So a file of any size costs little, and a file that shrinks meanwhile gives a read
 * error; with a mapping it would kill the recorder by SIGBUS.
 *
 * The contents of sections and segments come from the image or from pread(), never from libelf.
 * The functions that return them check each offset.
 */
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/sorted.h"
#include "elf/encoding_table.h"
#include "elf/module.h"

/* Only damaged files have more, and would cost that much memory. */
#define NOTES_MAX (1u << 20)
#define SECTION_NAMES_MAX (1u << 26)

static int check_ident(const uint8_t *image, size_t size, struct error *why)
{
	const Elf64_Ehdr *h = (const void *)image;

	if (size < SELFMAG || memcmp(image, ELFMAG, SELFMAG))
		return error_set(why, -EINVAL, "is not an ELF file");
	if (size < sizeof(*h))
		return error_set(why, -EINVAL, "is cut off after %zu bytes", size);
	if (image[EI_CLASS] != ELFCLASS64)
		return error_set(why, -EINVAL, "is a 32-bit file; only x86-64 is supported");
	if (image[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_X86_64)
		return error_set(
			why, -EINVAL,
			"is for another processor (ELF machine %u); only x86-64 is supported",
			h->e_machine);
	if (h->e_type == ET_REL)
		return error_set(why, -EINVAL,
				 "is an object file; encode the program or shared library that it "
				 "is linked into");
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return error_set(why, -EINVAL,
				 "is neither a program nor a shared library (ELF type %u)",
				 h->e_type);
	return 0;
}

COMPARE_BY1(compare_segments, struct elf_segment, vaddr);

/* Takes the build id from the notes, if it is there and fits. */
static void take_build_id(Elf_Data *notes, struct elf_module *m)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (notes && (at = gelf_getnote(notes, at, &note, &name, &desc)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((const char *)notes->d_buf + name, "GNU", 4))
			continue;
		if (!note.n_descsz || note.n_descsz > sizeof(m->build_id))
			continue;
		m->build_id_size = note.n_descsz;
		memcpy(m->build_id, (const char *)notes->d_buf + desc, note.n_descsz);
		return;
	}
}

static void add_segment(struct elf_module *m, const GElf_Phdr *p)
{
	if (!m->n_segments)
		m->base = p->p_align > 1 ? p->p_vaddr / p->p_align * p->p_align : p->p_vaddr;
	m->segments[m->n_segments++] =
		(struct elf_segment){p->p_vaddr, p->p_offset,	    p->p_filesz,
				     p->p_memsz, p->p_flags & PF_X, p->p_flags & PF_W};
}

static int read_program_headers(struct elf_module *m, Elf *elf, struct error *why)
{
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return error_set(why, -EINVAL, "has damaged program headers");
	m->segments = calloc(n + 1, sizeof(*m->segments));
	if (!m->segments)
		return error_memory(why);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p))
			return error_set(why, -EINVAL, "has damaged program headers");
		if (p.p_type == PT_INTERP)
			m->program = true;
		else if (p.p_type == PT_LOAD)
			add_segment(m, &p);
		else if (p.p_type == PT_NOTE && !m->build_id_size && p.p_filesz <= NOTES_MAX)
			take_build_id(
				elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz,
						     p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				m);
	}
	return 0;
}

/* Copies the section names: those that libelf returns end with its handle. A file without usable
 * names has none. */
static int read_section_names(struct elf_module *m, Elf *elf, size_t index, size_t *size,
			      struct error *why)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	Elf_Data *data;
	GElf_Shdr s;

	*size = 0;
	if (!scn || !gelf_getshdr(scn, &s) || s.sh_type != SHT_STRTAB ||
	    s.sh_flags & SHF_COMPRESSED || s.sh_size > SECTION_NAMES_MAX)
		return 0;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return 0;
	m->section_names = malloc(data->d_size);
	if (!m->section_names)
		return error_memory(why);
	memcpy(m->section_names, data->d_buf, data->d_size);
	*size = data->d_size;
	return 0;
}

static int read_section_headers(struct elf_module *m, Elf *elf, struct error *why)
{
	size_t n, names_index, names_size;
	int err;

	if (elf_getshdrnum(elf, &n))
		return error_set(why, -EINVAL, "has damaged section headers");
	if (!n)
		return error_set(why, -EINVAL, "has no section headers");
	if (elf_getshdrstrndx(elf, &names_index))
		return error_set(why, -EINVAL, "has no section names");
	err = read_section_names(m, elf, names_index, &names_size, why);
	if (err)
		return err;
	m->sections = calloc(n, sizeof(*m->sections));
	if (!m->sections)
		return error_memory(why);
	for (size_t i = 0; i < n; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);
		GElf_Shdr s;

		if (!scn || !gelf_getshdr(scn, &s))
			return error_set(why, -EINVAL, "has damaged section headers");
		const char *name = elf_string(m->section_names, names_size, s.sh_name);

		m->sections[i] =
			(struct elf_section){name ? name : "", s.sh_flags,   s.sh_addr, s.sh_offset,
					     s.sh_size,	       s.sh_entsize, s.sh_type, s.sh_link};
		m->n_sections++;
	}
	return 0;
}

/* Checks what the functions below rely on for an image, and orders the segments. */
static int check_segments(struct elf_module *m, struct error *why)
{
	if (!m->n_segments)
		return error_set(why, -EINVAL, "has no loadable segment");
	for (size_t i = 0; i < m->n_segments; i++) {
		const struct elf_segment *s = &m->segments[i];

		if (s->file_size > s->memory_size || s->vaddr + s->memory_size < s->vaddr ||
		    (s->vaddr + s->memory_size) >> 47)
			return error_set(why, -EINVAL, "has a damaged program header");
		if (s->offset > m->size || s->file_size > m->size - s->offset)
			return error_set(why, -EINVAL,
					 "is cut off: segment %zu lies beyond its end", i);
	}
	qsort(m->segments, m->n_segments, sizeof(*m->segments), compare_segments);
	for (size_t i = 1; i < m->n_segments; i++)
		if (m->segments[i].vaddr <
		    m->segments[i - 1].vaddr + m->segments[i - 1].memory_size)
			return error_set(why, -EINVAL, "has segments that overlap");
	return 0;
}

/* Fills the module from libelf's handle, as far as the file can be read by anyone. */
static int read_headers(struct elf_module *m, Elf *elf, struct error *why)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return error_set(why, -ENOEXEC, "is not an ELF file");
	m->entry = header.e_entry;
	m->fixed_address = m->program = header.e_type == ET_EXEC;
	return read_program_headers(m, elf, why);
}

int elf_module_open(const void *image, size_t size, struct elf_module *out, struct error *why)
{
	Elf *elf;
	int err;

	memset(out, 0, sizeof(*out));
	err = check_ident(image, size, why);
	if (err)
		return err;
	out->image = image;
	out->size = size;
	elf_version(EV_CURRENT);
	/* libelf writes to the image only when an ELF_C_RDWR handle is updated. */
	elf = elf_memory((char *)image, size);
	if (!elf)
		return error_set(why, -EINVAL, "has a damaged ELF header");
	err = read_headers(out, elf, why);
	if (!err)
		err = check_segments(out, why);
	if (!err)
		err = read_section_headers(out, elf, why);
	elf_end(elf);
	if (err)
		elf_module_close(out);
	return err;
}

int elf_module_open_fd(int fd, struct elf_module *out, struct error *why)
{
	Elf *elf;
	int err;

	memset(out, 0, sizeof(*out));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return error_set(why, -ENOEXEC, "is not an ELF file");
	}
	err = read_headers(out, elf, why);
	if (!err) {
		qsort(out->segments, out->n_segments, sizeof(*out->segments), compare_segments);
		/* The program headers are enough to find code in memory. */
		if (read_section_headers(out, elf, NULL))
			out->n_sections = 0;
	}
	elf_end(elf);
	if (err)
		elf_module_close(out);
	if (err == -ENOMEM)
		error_set(why, err, "needs more memory than is available");
	return err;
}

void elf_module_close(struct elf_module *m)
{
	free(m->segments);
	free(m->sections);
	free(m->section_names);
	memset(m, 0, sizeof(*m));
}

const struct elf_section *elf_module_section(const struct elf_module *m, const char *name,
					     const struct elf_section *after)
{
	for (size_t i = after ? (size_t)(after - m->sections) + 1 : 0; i < m->n_sections; i++)
		if (!strcmp(m->sections[i].name, name))
			return &m->sections[i];
	return NULL;
}

const uint8_t *elf_module_contents(const struct elf_module *m, const struct elf_section *s)
{
	if (!m->image || s->type == SHT_NOBITS || s->flags & SHF_COMPRESSED ||
	    s->offset > m->size || s->size > m->size - s->offset)
		return NULL;
	return m->image + s->offset;
}

const struct elf_segment *elf_module_segment(const struct elf_module *m, uint64_t vaddr)
{
	size_t low = SORTED_COUNT(i, m->n_segments, m->segments[i].vaddr <= vaddr);

	if (!low || vaddr - m->segments[low - 1].vaddr >= m->segments[low - 1].memory_size)
		return NULL;
	return &m->segments[low - 1];
}

const uint8_t *elf_module_at(const struct elf_module *m, uint64_t vaddr, uint64_t length)
{
	const struct elf_segment *s = elf_module_segment(m, vaddr);
	uint64_t at;

	if (!s || !m->image)
		return NULL;
	at = vaddr - s->vaddr;
	if (at > s->file_size || length > s->file_size - at)
		return NULL;
	return m->image + s->offset + at;
}

bool elf_module_vaddr(const struct elf_module *m, uint64_t offset, uint64_t *vaddr)
{
	const uint64_t page = 4096;

	for (size_t i = 0; i < m->n_segments; i++) {
		const struct elf_segment *s = &m->segments[i];

		/* A mapping begins and ends at page boundaries. */
		if (s->executable && offset >= (s->offset & ~(page - 1)) &&
		    offset < ((s->offset + s->file_size + page - 1) & ~(page - 1))) {
			*vaddr = offset - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}

const struct elf_section *elf_module_table(const struct elf_module *m)
{
	const struct elf_section *s = NULL;

	while ((s = elf_module_section(m, PCCE_TABLE_SECTION, s)))
		if (s->type != SHT_NOBITS)
			return s->size ? s : NULL;
	return NULL;
}

static bool pread_all(int fd, void *to, size_t size, uint64_t offset)
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

void *elf_section_read(int fd, const struct elf_section *s, struct error *why)
{
	struct stat st;
	void *data;

	if (fstat(fd, &st) || s->offset > (uint64_t)st.st_size ||
	    s->size > (uint64_t)st.st_size - s->offset) {
		error_set(why, 0, "reaches beyond the end of the file");
		return NULL;
	}
	data = malloc(s->size ? s->size : 1);
	if (!data || !pread_all(fd, data, s->size, s->offset)) {
		error_set(why, 0, data ? "cannot be read" : "needs more memory than is available");
		free(data);
		return NULL;
	}
	return data;
}

bool elf_section_table_head(int fd, const struct elf_section *s, struct pcce_table *head)
{
	return s->size >= sizeof(*head) && pread_all(fd, head, sizeof(*head), s->offset) &&
	       head->magic == PCCE_TABLE_MAGIC && head->version == PCCE_TABLE_VERSION;
}

const char *elf_string(const void *strings, size_t size, uint64_t offset)
{
	if (offset >= size || !memchr((const char *)strings + offset, 0, size - offset))
		return NULL;
	return (const char *)strings + offset;
}
