// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the memory of traced processes; see space.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <pcce/dictionary.h>
#include "base/mapped_file.h"
#include "tests/oracle/space.h"

static struct file **files;
static uint32_t n_files;
static uint64_t generations;

static void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		fprintf(stderr, "step: no memory left\n");
		exit(2);
	}
	return p;
}

size_t memory_read(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote[2];
	uint64_t edge = (address | 4095) + 1;
	size_t first = edge - address < size ? edge - address : size;
	ssize_t n;

	/* In two parts, since a part that is not mapped as a whole is not read at all. */
	remote[0] = (struct iovec){(void *)(uintptr_t)address, first};
	remote[1] = (struct iovec){(void *)(uintptr_t)edge, size - first};
	n = process_vm_readv(pid, &local, 1, remote, size > first ? 2 : 1, 0);
	return n < 0 ? 0 : (size_t)n;
}

/* ---- files ------------------------------------------------------------------------- */

static int compare_sites(const void *a, const void *b, void *table)
{
	const struct encoding_table *t = table;
	const struct pcce_table_site *x = &t->sites[*(const uint32_t *)a],
				     *y = &t->sites[*(const uint32_t *)b];

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void find_copies(struct file *f)
{
	const struct encoding_table *t = &f->table;
	uint32_t n = (uint32_t)t->head->sites.count, first = 0;
	uint32_t *order = grow(NULL, (n + 1) * sizeof(*order));

	f->canonical = grow(NULL, (n + 1) * sizeof(*f->canonical));
	for (uint32_t i = 0; i < n; i++)
		order[i] = f->canonical[i] = i;
	qsort_r(order, n, sizeof(*order), compare_sites, &f->table);
	for (uint32_t i = 1; i < n; i++) {
		const struct pcce_table_site *s = &t->sites[order[i]];

		if (compare_sites(&order[first], &order[i], &f->table))
			first = i;
		if (s->kind <= PCCE_KIND_ADD && s->callee != PCCE_NONE)
			f->canonical[order[i]] = order[first];
	}
	free(order);
}

uint32_t site_canonical(const struct file *f, uint32_t site)
{
	return site == PCCE_NONE ? PCCE_NONE : f->canonical[site];
}

static bool same_content(const struct file *a, const struct file *b)
{
	const struct elf_section *x = elf_module_table(&a->elf), *y = elf_module_table(&b->elf);

	if (!a->elf.build_id_size || a->elf.build_id_size != b->elf.build_id_size ||
	    memcmp(a->elf.build_id, b->elf.build_id, a->elf.build_id_size) != 0 ||
	    a->instrumented != b->instrumented)
		return false;
	return !a->instrumented || (x->size == y->size && !memcmp(a->data, b->data, x->size));
}

static uint32_t identity_of(const struct file *f)
{
	for (uint32_t i = 0; i < n_files; i++)
		if (same_content(files[i], f))
			return i;
	return n_files;
}

static struct file *open_file(pid_t pid, uint64_t start, uint64_t length, const char *path)
{
	int fd = path[0] == '/' ? mapped_file_open(pid, start, length, path, 0) : -1;
	char *key = NULL;
	const struct elf_section *table = NULL;
	struct error why;
	struct file *f;
	struct stat st = {0};

	if (fd >= 0)
		fstat(fd, &st);
	if (asprintf(&key, "%s|%llu|%lld.%ld|%lld", path, (unsigned long long)st.st_ino,
		     (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size) < 0)
		exit(2);
	for (uint32_t i = 0; i < n_files; i++)
		if (!strcmp(files[i]->key, key)) {
			free(key);
			if (fd >= 0)
				close(fd);
			return files[i];
		}
	f = grow(NULL, sizeof(*f));
	memset(f, 0, sizeof(*f));
	f->key = key;
	f->path = strdup(path);
	f->index = n_files;
	if (fd >= 0 && S_ISREG(st.st_mode) && !elf_module_open_fd(fd, &f->elf, NULL))
		table = elf_module_table(&f->elf);
	if (table) {
		f->data = elf_section_read(fd, table, &why);
		if (!f->data || encoding_table_open(f->data, table->size, &f->table, &why)) {
			fprintf(stderr, "step: %s: its encoding table %s\n", path, why.text);
			exit(2);
		}
		f->instrumented = true;
		find_copies(f);
	}
	if (fd >= 0)
		close(fd);
	f->identity = identity_of(f);
	files = grow(files, (n_files + 1) * sizeof(struct file *));
	files[n_files++] = f;
	return f;
}

const struct file *space_file(uint32_t index)
{
	return files[index];
}

const struct file *space_open(const char *path)
{
	return open_file(0, 0, 0, path);
}

/* ---- mappings ---------------------------------------------------------------------- */

static const struct decode_module *find(const struct decode_space *as, uint64_t address)
{
	struct space *s = (struct space *)(uintptr_t)as;
	size_t lo = 0, hi = s->n;

	if (s->last < s->n && address >= s->maps[s->last].start && address < s->maps[s->last].end)
		return &s->maps[s->last];
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->maps[mid].end <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == s->n || s->maps[lo].start > address)
		return NULL;
	s->last = lo;
	return &s->maps[lo];
}

static const struct decode_module *main_module(const struct decode_space *as)
{
	return ((const struct space *)as)->main;
}

static const struct decode_module *mapping(const struct decode_space *as, size_t number)
{
	const struct space *s = (const struct space *)as;

	return number < s->n ? &s->maps[number] : NULL;
}

static void add_map(struct space *s, uint64_t start, uint64_t end, uint64_t offset,
		    const char *path)
{
	struct file *f = open_file(s->pid, start, end - start, path);
	uint64_t vaddr;

	if (!elf_module_vaddr(&f->elf, offset, &vaddr))
		vaddr = offset;
	if (s->n == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 16;
		s->maps = grow(s->maps, s->capacity * sizeof(*s->maps));
	}
	s->maps[s->n++] = (struct decode_module){
		.start = start,
		.end = end,
		.vaddr = vaddr,
		.module = f->index,
		.main_executable = f->instrumented && f->table.head->flags & PCCE_TABLE_EXEC,
		.table = f->instrumented ? &f->table : NULL,
	};
}

static FILE *open_maps(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return fopen(path, "re");
}

bool space_read(struct space *s, pid_t pid)
{
	FILE *in = open_maps(pid);
	char *line = NULL;
	size_t capacity = 0;

	if (!in)
		return false;
	s->as.find = find;
	s->as.main_module = main_module;
	s->as.mapping = mapping;
	s->pid = pid;
	s->n = s->last = 0;
	s->main = NULL;
	s->generation = ++generations;
	while (getline(&line, &capacity, in) > 0) {
		uint64_t start, end, offset;
		char executable;
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %*s %n",
			   &start, &end, &executable, &offset, &at) < 4 ||
		    !at || executable != 'x')
			continue;
		line[strcspn(line, "\n")] = 0;
		if (line[at])
			add_map(s, start, end, offset, line + at);
	}
	free(line);
	fclose(in);
	for (size_t i = 0; i < s->n && !s->main; i++)
		if (s->maps[i].main_executable)
			s->main = &s->maps[i];
	return s->n > 0;
}

void space_free(struct space *s)
{
	free(s->maps);
	*s = (struct space){0};
}

bool space_overlaps(const struct space *s, uint64_t start, uint64_t length)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->maps[i].start < start + length && start < s->maps[i].end)
			return true;
	return false;
}

bool space_instrumented(const struct space *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->maps[i].table)
			return true;
	return false;
}

bool memory_region(pid_t pid, uint64_t address, uint64_t *lo, uint64_t *hi, bool *main_stack)
{
	FILE *in = open_maps(pid);
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (in && !found && getline(&line, &capacity, in) > 0)
		found = sscanf(line, "%" SCNx64 "-%" SCNx64, lo, hi) == 2 && address >= *lo &&
			address < *hi;
	*main_stack = found && strstr(line, "[stack]");
	free(line);
	if (in)
		fclose(in);
	return found;
}

size_t space_page_offsets(const struct space *s, int64_t *offsets, size_t max)
{
	size_t n = 0;

	if (s->main && max)
		offsets[n++] = s->main->table->head->tpoff;
	for (size_t i = 0; i < s->n && n < max; i++) {
		const struct decode_module *m = &s->maps[i];
		int64_t offset;

		/* A GOT slot that the dynamic linker has filled, or will. */
		if (!m->table || m->main_executable || !m->table->head->got)
			continue;
		if (memory_read(s->pid, decode_run_time(m, m->table->head->got), &offset, 8) == 8 &&
		    offset < 0 && offset % PCCE_PAGE_ALIGN == 0)
			offsets[n++] = offset;
	}
	return n;
}

/* ---- places ------------------------------------------------------------------------ */

/* The part that holds vaddr, or the gap between two. */
static uint32_t part_around(const struct encoding_table *t, uint64_t vaddr, uint64_t *lo,
			    uint64_t *hi)
{
	uint64_t first = 0, last = t->head->parts.count;

	while (first < last) {
		uint64_t mid = first + (last - first) / 2;

		if (t->parts[mid].addr <= vaddr)
			first = mid + 1;
		else
			last = mid;
	}
	if (first < t->head->parts.count && t->parts[first].addr < *hi)
		*hi = t->parts[first].addr;
	if (first) {
		const struct pcce_table_part *p = &t->parts[first - 1];
		uint64_t end = p->addr + p->length;

		if (vaddr < end) {
			*lo = p->addr;
			*hi = end;
			return p->func;
		}
		if (end > *lo)
			*lo = end;
	}
	return PCCE_NONE;
}

/* Helper ranges are places of their own. */
static void narrow_to_helper(const struct encoding_table *t, uint64_t vaddr, uint64_t *lo,
			     uint64_t *hi)
{
	for (uint64_t i = 0; i < t->head->helpers.count; i++) {
		const struct pcce_table_helper *h = &t->helpers[i];
		uint64_t end = h->addr + h->length;

		if (vaddr >= h->addr && vaddr < end) {
			*lo = h->addr;
			*hi = end;
			return;
		}
		if (h->addr > vaddr && h->addr < *hi)
			*hi = h->addr;
		if (end <= vaddr && end > *lo)
			*lo = end;
	}
}

struct tree_place space_place(struct space *s, uint64_t address)
{
	const struct decode_module *m = find(&s->as, address);
	struct tree_place p = {
		.func = PCCE_NONE, .lo = address & ~4095ULL, .hi = (address | 4095) + 1};
	uint64_t lo, hi;

	if (!m)
		return p;
	p.file = files[m->module];
	p.bias = m->start - m->vaddr;
	p.lo = m->start;
	p.hi = m->end;
	if (m->table) {
		lo = p.lo - p.bias;
		hi = p.hi - p.bias;
		p.func = part_around(m->table, address - p.bias, &lo, &hi);
		if (p.func == PCCE_NONE)
			narrow_to_helper(m->table, address - p.bias, &lo, &hi);
		p.lo = lo + p.bias;
		p.hi = hi + p.bias;
	}
	return p;
}

int space_helper(struct space *s, uint64_t address)
{
	const struct decode_module *m = find(&s->as, address);
	const struct pcce_table_helper *h;

	if (!m || !m->table)
		return -1;
	h = encoding_table_helper_at(m->table, decode_link_time(m, address));
	return h ? (int)h->state : -1;
}

bool space_is_unfilled(struct space *s, uint64_t address)
{
	const struct decode_module *m = find(&s->as, address);
	int helper = space_helper(s, address);
	const struct pcce_table_site *site;
	uint64_t vaddr, start;
	uint32_t i, func;

	if (helper > PCCE_HELPER_NOTHING)
		return true;
	if (!m || !m->table)
		return false;
	vaddr = decode_link_time(m, address);
	func = encoding_table_func_at(m->table, vaddr);
	if (func == PCCE_NONE)
		return helper < 0;
	if (encoding_table_in_entry(m->table, func, vaddr))
		return true;
	i = encoding_table_site_around(m->table, vaddr);
	if (i == PCCE_NONE)
		return false;
	site = &m->table->sites[i];
	if (site->kind == PCCE_KIND_RESTORE)
		return true;
	start = site->key - site->before;
	return site->kind == PCCE_KIND_PUSH && vaddr >= start + site->claim &&
	       vaddr < site->key + site->ret + site->undone;
}

const char *space_name(struct space *s, uint64_t address)
{
	static char buffers[4][512];
	static unsigned int next;
	char *to = buffers[next++ % 4];
	struct tree_place p = space_place(s, address);
	const char *base;

	if (!p.file) {
		snprintf(to, sizeof(buffers[0]), "0x%" PRIx64, address);
		return to;
	}
	base = strrchr(p.file->path, '/');
	base = base ? base + 1 : p.file->path;
	if (p.func == PCCE_NONE) {
		snprintf(to, sizeof(buffers[0]), "%s+0x%" PRIx64, base, address - p.bias);
	} else {
		const struct pcce_table_func *f = &p.file->table.funcs[p.func];

		snprintf(to, sizeof(buffers[0]), "%s%+" PRId64 " (%s+0x%" PRIx64 ")",
			 encoding_table_string(&p.file->table, f->name),
			 (int64_t)(address - p.bias - f->addr), base, address - p.bias);
	}
	return to;
}
