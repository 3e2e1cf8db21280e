// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Copies memory, looks at strings and reads the clock without the C library (local_libc.h).
 *
 * The C library calls the clock function of the vdso and does not say where it is. So this file
 * looks it up in the vdso's table of dynamic symbols.
 */
#include <elf.h>
#include <stdint.h>
#include <sys/auxv.h>
#include "base/local_libc.h"
#include "base/syscall.h"

void *memcpy(void *to, const void *from, size_t size)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(byte) : "memory");
	return to;
}

size_t strlen(const char *text)
{
	const char *end = text;

	while (*end)
		end++;
	return (size_t)(end - text);
}

char *strchr(const char *text, int c)
{
	for (; *text != (char)c; text++)
		if (!*text)
			return NULL;
	return (char *)(uintptr_t)text;
}

/* ---- the clock ------------------------------------------------------------------ */

typedef int clock_fn(clockid_t, struct timespec *);

static clock_fn *vdso_clock;

struct symbols {
	const Elf64_Sym *symbol;
	const char *names;
	uint32_t n;
};

/* A GNU hash table does not say how many symbols there are. The last one ends the longest chain. */
static uint32_t count_hashed(const uint32_t *table)
{
	uint32_t n_buckets = table[0], first = table[1], last = 0;
	const uint32_t *buckets = table + 4 + 2 * table[2], *chains = buckets + n_buckets;

	for (uint32_t i = 0; i < n_buckets; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < first)
		return 0;
	while (!(chains[last - first] & 1))
		last++;
	return last + 1;
}

static void read_dynamic(struct symbols *s, const Elf64_Dyn *d, const char *base)
{
	for (; d->d_tag != DT_NULL; d++) {
		const void *p = base + d->d_un.d_ptr;

		if (d->d_tag == DT_SYMTAB)
			s->symbol = p;
		else if (d->d_tag == DT_STRTAB)
			s->names = p;
		else if (d->d_tag == DT_HASH)
			s->n = ((const uint32_t *)p)[1];
		else if (d->d_tag == DT_GNU_HASH && !s->n)
			s->n = count_hashed(p);
	}
}

static int same(const char *a, const char *b)
{
	for (; *a == *b; a++, b++)
		if (!*a)
			return 1;
	return 0;
}

void local_clock_start(void)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	const char *start = (const char *)header, *base = start;
	const Elf64_Phdr *segment;
	const Elf64_Dyn *dynamic = NULL;
	struct symbols s = {0};

	if (!header) /* as under valgrind */
		return;
	segment = (const Elf64_Phdr *)(start + header->e_phoff);
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD)
			base = start + segment[i].p_offset - segment[i].p_vaddr;
		else if (segment[i].p_type == PT_DYNAMIC)
			dynamic = (const Elf64_Dyn *)(start + segment[i].p_offset);
	}
	if (!dynamic)
		return;
	read_dynamic(&s, dynamic, base);
	if (!s.symbol || !s.names)
		return;
	for (uint32_t i = 0; i < s.n; i++)
		if (s.symbol[i].st_shndx != SHN_UNDEF &&
		    same(s.names + s.symbol[i].st_name, "__vdso_clock_gettime"))
			vdso_clock = (clock_fn *)(uintptr_t)(base + s.symbol[i].st_value);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (vdso_clock)
		return vdso_clock(clock, ts);
	return (int)raw_syscall2(SYS_clock_gettime, clock, ts);
}
