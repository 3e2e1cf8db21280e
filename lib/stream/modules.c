/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See modules.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/uthash.h"
#include "base/mapped_file.h"
#include "elf/module.h"
#include "stream/modules.h"

#define VDSO "[vdso]"
#define DELETED " (deleted)"

struct entry {
	struct record_module module;
	struct elf_module elf;
	void *table; /* if instrumented */
	size_t table_size;
	char *path;
	char *key; /* the path and what identifies the file */
	UT_hash_handle hh;
};

struct record_modules {
	struct stream stream;
	struct datafile_writer *writer;
	void (*warn)(const char *text);
	bool told_of_too_many, hybrid;
	struct entry *by_key;
	struct entry **all;
	size_t n;
};

static void free_entry(struct entry *e)
{
	if (e->module.fd >= 0)
		close(e->module.fd);
	if (e->module.instrumented || e->module.missing)
		encoding_table_close(&e->module.table);
	elf_module_close(&e->elf);
	free(e->table);
	free(e->path);
	free(e->key);
	free(e);
}

void record_modules_free(struct record_modules *m)
{
	size_t i;

	if (!m)
		return;
	HASH_CLEAR(hh, m->by_key);
	for (i = 0; i < m->n; i++)
		free_entry(m->all[i]);
	free(m->all);
	free(m);
}

static void *read_table(int fd, const struct elf_section *section, struct error *why)
{
	if (section->size > PCCE_RECORD_MAX - sizeof(struct pcce_rec_table)) {
		error_set(why, 0, "is larger than a recording can hold");
		return NULL;
	}
	return elf_section_read(fd, section, why);
}

static void open_table(struct record_modules *m, struct entry *e, const struct table_file *file)
{
	struct error why = {0};
	char text[4608];

	e->table = read_table(file->fd, &file->section, &why);
	e->table_size = file->section.size;
	if (e->table && !encoding_table_open(e->table, e->table_size, &e->module.table, &why)) {
		e->module.instrumented = true;
		m->hybrid |= (e->module.table.head->flags & PCCE_TABLE_HYBRID) != 0;
		return;
	}
	snprintf(text, sizeof(text),
		 "cannot use the encoding table of %s: it %s; link the file again, or run "
		 "pcce-encode on it",
		 e->path, why.text);
	m->warn(text);
	free(e->table);
	e->table = NULL;
}

/* Opens the table, or warns that it is missing. */
static void find_table(struct record_modules *m, struct entry *e)
{
	struct table_file file;
	char text[4608];

	table_file_find(e->module.fd, &e->elf, &file);
	e->module.state = file.state;
	if (file.state == TABLE_FOUND) {
		open_table(m, e, &file);
	} else if (file.state != TABLE_NONE) {
		snprintf(text, sizeof(text), "%s %s: contexts lack its functions%s", e->path,
			 table_state_text(file.state), table_state_remedy(file.state));
		m->warn(text);
		e->table = encoding_table_missing(&e->table_size);
		e->module.missing = e->table && !encoding_table_open(e->table, e->table_size,
								     &e->module.table, NULL);
	}
	table_file_close(&file);
}

int record_modules_write(const struct record_modules *m, uint32_t index, uint32_t number,
			 struct datafile_writer *w)
{
	const struct entry *e = m->all[index];
	struct pcce_rec_module rec = {.module = number, .build_id_size = e->module.build_id_size};
	struct pcce_rec_table table = {.module = number};
	struct iovec part = {e->table, e->table_size};
	int err;

	memcpy(rec.build_id, e->module.build_id, sizeof(rec.build_id));
	err = datafile_put_strings(w, PCCE_REC_MODULE, &rec, sizeof(rec),
				   (const char *const[]){e->path}, 1);
	if (!err && e->table)
		err = datafile_put(w, PCCE_REC_TABLE, &table, sizeof(table), &part, 1);
	return err;
}

/* Takes ownership of fd and key. */
static int add_file(struct record_modules *m, const char *path, int fd, char *key,
		    struct entry **out)
{
	struct entry *e = calloc(1, sizeof(*e));
	size_t length;

	if (!e || array_grow(&m->all, m->n, sizeof(struct entry *))) {
		free(e);
		free(key);
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	m->all[m->n] = e;
	e->key = key;
	e->path = strdup(path);
	e->module.fd = fd;
	e->module.index = (uint32_t)m->n++;
	if (!e->path)
		return -ENOMEM;
	length = strlen(path);
	if (length > strlen(DELETED) && !strcmp(path + length - strlen(DELETED), DELETED))
		e->path[length - strlen(DELETED)] = 0;
	e->module.path = e->path;
	e->module.vdso = !strcmp(path, VDSO);
	if (fd >= 0 && !elf_module_open_fd(fd, &e->elf, NULL)) {
		e->module.elf = true;
		e->module.program = e->elf.program;
		e->module.build_id_size = e->elf.build_id_size;
		memcpy(e->module.build_id, e->elf.build_id, sizeof(e->module.build_id));
		find_table(m, e);
	}
	HASH_ADD_KEYPTR(hh, m->by_key, e->key, strlen(e->key), e);
	if (!hash_added(e))
		return -ENOMEM;
	*out = e;
	return m->writer ? record_modules_write(m, e->module.index, e->module.index, m->writer) : 0;
}

/* True for names in the file system. The kernel has other names for memory that is not a file. */
static bool is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/' && strncmp(path, "/anon_hugepage", 14) &&
	       strncmp(path, "/SYSV", 5) && strncmp(path, "/dev/zero", 9);
}

/* Each file stays open until its symbols are written. */
static void warn_of_too_many(struct record_modules *m, const char *path, int err)
{
	char text[4608];

	if (m->told_of_too_many || (err != -EMFILE && err != -ENFILE))
		return;
	m->told_of_too_many = true;
	snprintf(text, sizeof(text),
		 "cannot open %s: %s; contexts lack its functions and those of later files; raise "
		 "ulimit -n",
		 path, strerror(-err));
	m->warn(text);
}

/* Finds or adds the module of a mapping. *vaddr: the link-time address that start corresponds to.
 * *out is NULL for memory that is not a file. 0, -ENOMEM, or the writer's error. */
static int module_of_map(struct record_modules *m, pid_t pid, uint64_t start, uint64_t length,
			 uint64_t pgoff, uint64_t ino, const char *path,
			 const struct record_module **out, uint64_t *vaddr)
{
	bool vdso = !strcmp(path, VDSO);
	struct entry *e = NULL;
	struct stat st;
	char *key;
	int fd = -1, n, err = 0;

	*out = NULL;
	*vaddr = 0;
	if (!vdso && !is_file(path))
		return 0;
	if (!vdso)
		fd = mapped_file_open(pid, start, length, path, ino);
	warn_of_too_many(m, path, fd);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		n = asprintf(&key, "%s|%llx|%llx|%lld.%09ld|%lld", path,
			     (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
			     (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
			     (long long)st.st_size);
	else
		n = asprintf(&key, "%s|", path);
	if (n < 0) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	HASH_FIND_STR(m->by_key, key, e);
	if (e) {
		free(key);
		if (fd >= 0)
			close(fd);
	} else {
		err = add_file(m, path, fd, key, &e);
	}
	if (err)
		return err;
	*out = &e->module;
	/* The vdso is linked at 0. Without program headers, the offset in the file is the best
	 * guess. */
	if (vdso)
		*vaddr = 0;
	else if (!elf_module_vaddr(&e->elf, pgoff, vaddr))
		*vaddr = pgoff;
	return 0;
}

static int find_mapped(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		       const char *path)
{
	struct pcce_rec_map found = *rec;
	const struct record_module *module;
	uint64_t vaddr;
	int r;

	if (rec->start + rec->length < rec->start)
		return 0;
	if (!path)
		return stream_pass(s->next, map, rec, pgoff, path);
	r = module_of_map((struct record_modules *)s, (pid_t)rec->pid, rec->start, rec->length,
			  pgoff, rec->vaddr, path, &module, &vaddr);
	if (r)
		return r;
	found.vaddr = 0;
	if (module) {
		found.module = module->index;
		found.vaddr = vaddr;
	}
	return stream_pass(s->next, map, &found, pgoff, path);
}

/* It is written with its table. Its number stays the same. */
static int find_recorded(struct stream *s, const struct pcce_rec_module *rec, const char *path)
{
	const struct record_module *module;
	uint64_t vaddr;
	int r = module_of_map((struct record_modules *)s, 0, 0, 0, 0, 0, path, &module, &vaddr);

	return r ? r : stream_pass(s->next, module, rec, path);
}

struct record_modules *record_modules_new(struct datafile_writer *w, void (*warn)(const char *text))
{
	static const struct stream_ops ops = {.map = find_mapped, .module = find_recorded};
	struct record_modules *m = calloc(1, sizeof(*m));

	if (m) {
		m->stream.ops = &ops;
		m->writer = w;
		m->warn = warn;
	}
	return m;
}

int record_modules_add_kernel(struct record_modules *m)
{
	char *key = strdup(PCCE_MODULE_KERNEL);
	struct entry *e;

	return key ? add_file(m, PCCE_MODULE_KERNEL, -1, key, &e) : -ENOMEM;
}

struct stream *record_modules_stage(struct record_modules *m)
{
	return &m->stream;
}

size_t record_modules_count(const struct record_modules *m)
{
	return m->n;
}

const struct record_module *record_modules_get(const struct record_modules *m, uint32_t index)
{
	return &m->all[index]->module;
}

static const struct encoding_table *table_of_mapped(void *ctx, uint32_t index)
{
	const struct record_module *m = record_modules_get(ctx, index);

	return m->instrumented || m->missing ? &m->table : NULL;
}

bool record_modules_hybrid(const struct record_modules *m)
{
	return m->hybrid;
}

struct address_spaces *record_modules_spaces(const struct record_modules *m)
{
	return address_spaces_new(table_of_mapped, (void *)(uintptr_t)m, true);
}
