/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds the offsets of thread pages in encoding tables and GOT slots. A hash table keeps files that
 * were already examined. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <pcce/abi.h>
#include "base/array.h"
#include "base/uthash.h"
#include "base/mapped_file.h"
#include "elf/module.h"
#include "sampler/tls_offsets.h"
#include "symbols/table_file.h"

#define GUESSES 8
#define RETRIES 250 /* polls; after them the process will not relocate the slot any more */

struct file_key {
	uint64_t dev, ino, size, mtime;
};

/* A file that was examined. */
struct file {
	struct file_key key;
	bool table, program;
	int64_t tpoff;
	uint64_t got; /* vaddr */
	struct elf_module elf;
	UT_hash_handle hh;
};

struct slot { /* a GOT slot that is not relocated yet */
	pid_t pid;
	uint64_t address;
	unsigned int tries;
};

struct tls_offsets {
	int64_t *offsets;
	uint32_t *n, capacity, fixed;
	uint32_t oldest; /* index that the next new offset replaces if the array is full */
	struct file *files;
	struct slot *slots;
	size_t n_slots;
};

static void add_offset(struct tls_offsets *p, int64_t offset)
{
	uint32_t i, n = *p->n;

	for (i = 0; i < n; i++)
		if (p->offsets[i] == offset)
			return;
	if (n < p->capacity) {
		__atomic_store_n(&p->offsets[n], offset, __ATOMIC_RELAXED);
		__atomic_store_n(p->n, n + 1, __ATOMIC_RELEASE);
		return;
	}
	i = p->fixed + p->oldest++ % (p->capacity - p->fixed);
	__atomic_store_n(&p->offsets[i], offset, __ATOMIC_RELAXED);
}

struct tls_offsets *tls_offsets_new(int64_t *offsets, uint32_t *n, uint32_t capacity)
{
	struct tls_offsets *p = calloc(1, sizeof(*p));
	int i;

	if (!p)
		return NULL;
	p->offsets = offsets;
	p->n = n;
	p->capacity = capacity;
	for (i = 0; i < GUESSES; i++)
		add_offset(p, -(int64_t)(PCCE_PAGE_SIZE + PCCE_PAGE_ALIGN * i));
	p->fixed = GUESSES;
	return p;
}

void tls_offsets_free(struct tls_offsets *p)
{
	struct file *f, *next;

	if (!p)
		return;
	HASH_ITER (hh, p->files, f, next) {
		HASH_DEL(p->files, f);
		elf_module_close(&f->elf);
		free(f);
	}
	free(p->slots);
	free(p);
}

static struct file *examine_file(struct tls_offsets *p, int fd)
{
	struct pcce_table head;
	struct file_key key;
	struct file *f;
	struct stat st;
	struct table_file table = {.state = TABLE_NONE};

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	memset(&key, 0, sizeof(key));
	key.dev = st.st_dev;
	key.ino = st.st_ino;
	key.size = (uint64_t)st.st_size;
	key.mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	HASH_FIND(hh, p->files, &key, sizeof(key), f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->key = key;
	if (!elf_module_open_fd(fd, &f->elf, NULL))
		table_file_find(fd, &f->elf, &table);
	if (table.state == TABLE_FOUND && elf_section_table_head(table.fd, &table.section, &head)) {
		f->table = true;
		f->program = head.flags & PCCE_TABLE_EXEC;
		f->tpoff = head.tpoff;
		f->got = head.got;
	}
	table_file_close(&table);
	HASH_ADD(hh, p->files, key, sizeof(key), f);
	if (hash_added(f))
		return f;
	elf_module_close(&f->elf);
	free(f);
	return NULL;
}

/* Reads a GOT slot. True: it need not be read again. */
static bool read_got_slot(struct tls_offsets *p, const struct slot *slot)
{
	int64_t offset = 0;
	struct iovec to = {&offset, sizeof(offset)},
		     from = {(void *)(uintptr_t)slot->address, sizeof(offset)};

	if (process_vm_readv(slot->pid, &to, 1, &from, 1, 0) != sizeof(offset))
		return true; /* the process has ended or done an exec */
	/* A slot that is not relocated contains 0 or an addend. An addend is never a negative
	 * multiple of the page's alignment. */
	if (offset >= 0 || offset % 4096 || offset < -((int64_t)1 << 32))
		return false;
	add_offset(p, offset);
	return true;
}

static void add_waiting_slot(struct tls_offsets *p, pid_t pid, uint64_t address)
{
	struct slot slot = {pid, address, 0};

	if (!read_got_slot(p, &slot) && !array_grow(&p->slots, p->n_slots, sizeof(slot)))
		p->slots[p->n_slots++] = slot;
}

void tls_offsets_retry(struct tls_offsets *p)
{
	size_t i, kept = 0;

	for (i = 0; i < p->n_slots; i++)
		if (!read_got_slot(p, &p->slots[i]) && ++p->slots[i].tries < RETRIES)
			p->slots[kept++] = p->slots[i];
	p->n_slots = kept;
}

void tls_offsets_program(struct tls_offsets *p, const char *path)
{
	int fd = mapped_file_open(0, 0, 0, path, 0);
	struct file *f;

	if (fd < 0)
		return;
	f = examine_file(p, fd);
	close(fd);
	if (f && f->table && f->program)
		add_offset(p, f->tpoff);
}

void tls_offsets_map(struct tls_offsets *p, pid_t pid, uint64_t start, uint64_t length,
		     uint64_t pgoff, const char *path)
{
	int fd = path[0] == '/' && path[1] != '/' ? mapped_file_open(pid, start, length, path, 0)
						  : -1;
	uint64_t vaddr;
	struct file *f;

	if (fd < 0)
		return;
	f = examine_file(p, fd);
	close(fd);
	if (!f || !f->table)
		return;
	if (f->program)
		add_offset(p, f->tpoff);
	else if (f->got && elf_module_vaddr(&f->elf, pgoff, &vaddr))
		add_waiting_slot(p, pid, f->got - vaddr + start);
}
