// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads sets of contexts: pcce_contexts_open() of pcce.h. include/pcce/context_set.h defines the
 * file.
 *
 * The file is copied to memory, since a program must not end when a file becomes shorter. All
 * numbers are checked here, so a test cannot leave the memory, whatever the file holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "base/confined.h"
#include "contexts/set.h"
#include "internal.h"
#include "base/local_libc.h"
#include "base/syscall.h"

#define HEAD_OFFSET offsetof(struct pcce_contexts, head)

static bool is_size_right(const struct pcce_set *h)
{
	return h->size == sizeof(*h) + h->n_modules * sizeof(struct pcce_set_module) +
				  h->n_funcs * sizeof(struct pcce_set_func) +
				  h->n_ranges * sizeof(struct pcce_set_range) +
				  h->n_places * sizeof(struct pcce_set_place) +
				  h->n_glue * sizeof(struct pcce_set_glue);
}

static bool is_check_right(const struct pcce_set *h)
{
	const uint64_t *words = (const uint64_t *)(h + 1);
	struct pcce_name name = PCCE_NAME_SEED;

	for (uint64_t i = 0; i < (h->size - sizeof(*h)) / 8; i += 2)
		name = pcce_name_step(name, words[i], words[i + 1], 0);
	return name.a == h->check_a && name.b == h->check_b;
}

static bool are_numbers_right(const struct pcce_contexts *s)
{
	const struct pcce_set *h = &s->head;

	if (!h->last || h->last >= PCCE_SET_STATES)
		return false;
	for (uint32_t i = 0; i < h->n_modules; i++) {
		uint32_t n = s->modules[i].n_places;
		bool is_free = false;

		if (n < 2 || n & (n - 1) || s->modules[i].first_place > h->n_places ||
		    n > h->n_places - s->modules[i].first_place)
			return false;
		for (uint32_t k = 0; k < n && !is_free; k++)
			is_free = !s->places[s->modules[i].first_place + k].key;
		if (!is_free)
			return false;
	}
	for (uint32_t i = 0; i < h->n_funcs; i++)
		if (s->funcs[i].first > h->n_ranges ||
		    s->funcs[i].n > h->n_ranges - s->funcs[i].first)
			return false;
	for (uint32_t i = 0; i < h->n_ranges; i++)
		if (s->ranges[i].caller != PCCE_SET_NONE && s->ranges[i].caller >= h->n_funcs)
			return false;
	for (uint32_t i = 0; i < h->n_places; i++)
		if (s->places[i].key && s->places[i].func >= h->n_funcs)
			return false;
	return true;
}

static int read_all(int fd, char *to, uint64_t size)
{
	while (size) {
		long n = raw_syscall3(SYS_read, fd, to, size);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -ENOEXEC;
		to += n;
		size -= (uint64_t)n;
	}
	return 0;
}

/* Finds the arrays, and checks all. */
static int open_set(struct pcce_contexts *s)
{
	const struct pcce_set *h = &s->head;
	bool needs_program = false;

	if (!is_size_right(h) || !is_check_right(h))
		return -ENOEXEC;
	s->modules = (const struct pcce_set_module *)(h + 1);
	s->funcs = (const struct pcce_set_func *)(s->modules + h->n_modules);
	s->ranges = (const struct pcce_set_range *)(s->funcs + h->n_funcs);
	s->places = (const struct pcce_set_place *)(s->ranges + h->n_ranges);
	s->glue = (const struct pcce_set_glue *)(s->places + h->n_places);
	if (!are_numbers_right(s))
		return -ENOEXEC;
	for (uint32_t i = 0; i < h->n_modules; i++) {
		needs_program |= s->modules[i].program;
		if (main_module.size && s->modules[i].name_a == main_module.name.a &&
		    s->modules[i].name_b == main_module.name.b)
			s->program = &s->modules[i];
	}
	return needs_program && !s->program ? -ESTALE : 0;
}

static int read_set_file(int fd, struct pcce_contexts **set)
{
	struct pcce_contexts *s;
	struct stat st;
	uint64_t size;
	int r = (int)raw_syscall2(SYS_fstat, fd, &st);

	if (r)
		return r;
	if (st.st_size < (off_t)sizeof(struct pcce_set) || (uint64_t)st.st_size > PCCE_SET_SIZE_MAX)
		return -ENOEXEC;
	size = HEAD_OFFSET + (uint64_t)st.st_size;
	s = raw_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw_failed(s))
		return -ENOMEM;
	s->size = size;
	r = read_all(fd, (char *)&s->head, (uint64_t)st.st_size);
	if (!r && (s->head.magic != PCCE_SET_MAGIC || s->head.size != (uint64_t)st.st_size))
		r = -ENOEXEC;
	if (!r)
		r = open_set(s);
	if (r)
		raw_syscall2(SYS_munmap, s, size);
	else
		*set = s;
	return r;
}

int pcce_set_read(struct pcce_contexts **set, const char *path)
{
	long fd;
	int r;

	*set = NULL;
	if (is_confined(CONFINED))
		return -EPERM;
	fd = raw_syscall4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			  0);
	if (fd < 0)
		return (int)fd;
	r = read_set_file((int)fd, set);
	raw_syscall1(SYS_close, fd);
	return r;
}

void pcce_set_unmap(struct pcce_contexts *set)
{
	raw_syscall2(SYS_munmap, set, set->size);
}
