// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Puts into the ring where executable files are mapped, before the first sample that needs to know.
 *
 * At the start this comes from /proc/self/maps. Later each sample asks the dynamic linker for the
 * module of its instruction pointer and of each site on the encoding stack. _dl_find_object()
 * (glibc 2.35) is made for unwinders in signal handlers; it takes no lock and makes no system call.
 * A module that is not in the ring yet, or has replaced another, is described there. Code that no
 * module holds (that of a just-in-time compiler, for example) has no description, and the sample
 * says so.
 *
 * So neither dlopen() nor dlclose() needs to be interposed. A module cannot go while a sample needs
 * it: a function of it is on the stack.
 *
 * What has been described is in a hash table from a module's start to its identity. A place is
 * claimed once, and its identity changes in one store, after the description is in the ring. So
 * another thread that finds it there takes its sample later than the time of the description.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include "base/linker_object.h"
#include "self/self.h"
#include "base/syscall.h"

#define MODULES_MAX 4096 /* a power of two */
#define PAGE_MASK (~(uint64_t)4095)

struct known_module {
	uint64_t start, end;
	uint64_t identity; /* 0: not described */
};

static struct known_module known[MODULES_MAX];
/* Names that dlopen() was given may be relative to this folder. */
static char folder[PATH_MAX];
static char program[PATH_MAX];

static uint64_t mix_word(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3;
}

static uint64_t identity_of(const struct found_object *o)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (const char *c = o->link_map->l_name; *c; c++)
		hash = mix_word(hash, (unsigned char)*c);
	hash = mix_word(hash, (uint64_t)(uintptr_t)o->end);
	hash = mix_word(hash, (uint64_t)(uintptr_t)o->link_map);
	hash = mix_word(hash, (uint64_t)(uintptr_t)o->eh_frame);
	return hash | 1;
}

/* Returns the place of the module that begins at start; NULL if the table is full. */
static struct known_module *place_of(uint64_t start)
{
	for (unsigned int i = 0; i < MODULES_MAX; i++) {
		struct known_module *k =
			&known[((start >> 12) * 0x9e3779b1u + i) & (MODULES_MAX - 1)];
		uint64_t there = __atomic_load_n(&k->start, __ATOMIC_RELAXED);

		if (there == start)
			return k;
		if (there == 0 &&
		    (__atomic_compare_exchange_n(&k->start, &there, start, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) ||
		     there == start))
			return k;
	}
	return NULL;
}

/* False if the ring has no room. */
static bool emit_map(uint64_t time, uint64_t start, uint64_t length, uint64_t pgoff,
		     const char *prefix, const char *path)
{
	size_t prefix_size = strlen(prefix), size = strlen(path) + 1;
	struct pcce_self_map *map;

	if (prefix_size + size > PATH_MAX)
		return true;
	map = ring_reserve(&self_state.ring, sizeof(*map) + prefix_size + size, PCCE_SELF_MAP);
	if (!map)
		return false;
	map->time = time;
	map->start = start;
	map->length = length;
	map->pgoff = pgoff;
	map->pid = self_state.pid;
	map->path_size = (uint32_t)(prefix_size + size);
	map->pad = 0;
	memcpy(map + 1, prefix, prefix_size);
	memcpy((char *)(map + 1) + prefix_size, path, size);
	ring_commit(&self_state.ring, map);
	return true;
}

/* Describes the executable segments of a module, whose headers are at its start. */
static bool emit_module(const struct found_object *o)
{
	const char *path = o->link_map->l_name;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)o->start;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(o->start + header->e_phoff);
	uint64_t time = self_now(), bias = o->link_map->l_addr;

	if (!*path)
		path = program;
	/* The vdso's name has no slash. */
	if (!strchr(path, '/') || *(const uint32_t *)header->e_ident != 0x464c457f ||
	    header->e_phentsize != sizeof(*p) ||
	    header->e_phoff + header->e_phnum * sizeof(*p) > (uint64_t)(o->end - o->start))
		return true;
	for (unsigned int i = 0; i < header->e_phnum; i++, p++) {
		uint64_t start = (bias + p->p_vaddr) & PAGE_MASK;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) &&
		    !emit_map(time, start,
			      ((bias + p->p_vaddr + p->p_filesz + 4095) & PAGE_MASK) - start,
			      p->p_offset & PAGE_MASK, *path == '/' ? "" : folder, path))
			return false;
	}
	return true;
}

/* Modules that were where the new one is are gone. */
static void forget_others(const struct known_module *new, uint64_t start, uint64_t end)
{
	for (struct known_module *k = known; k < known + MODULES_MAX; k++)
		if (k != new && k->start && k->start < end && k->end > start)
			__atomic_store_n(&k->identity, 0, __ATOMIC_RELAXED);
}

/* Describes the module of an address, if it needs that; *o is the module. */
static bool describe(uint64_t address, struct found_object *o)
{
	struct known_module *k;
	uint64_t identity;

	if (!linker_object_at(address, o) || !o->link_map->l_name)
		return false;
	identity = identity_of(o);
	k = place_of((uint64_t)(uintptr_t)o->start);
	if (k && __atomic_load_n(&k->identity, __ATOMIC_ACQUIRE) == identity)
		return true;
	if (!emit_module(o) || !k)
		return true;
	forget_others(k, (uint64_t)(uintptr_t)o->start, (uint64_t)(uintptr_t)o->end);
	k->end = (uint64_t)(uintptr_t)o->end;
	__atomic_store_n(&k->identity, identity, __ATOMIC_RELEASE);
	return true;
}

void modules_describe(uint64_t address)
{
	struct found_object o;

	describe(address, &o);
}

void modules_describe_sites(const struct pcce_entry *entries, unsigned int n)
{
	struct found_object o = {.start = NULL, .end = NULL};

	for (unsigned int i = 0; i < n; i++) {
		uint64_t site = entries[i].site & PCCE_SITE_MASK,
			 kind = entries[i].site >> PCCE_SITE_BITS;

		/* These hold no address, except the ip of a signal and an ext that is an
		 * address. */
		if (kind > PCCE_COUNT_SIGNAL &&
		    !((kind == PCCE_COUNT_LEAF || kind == PCCE_COUNT_ORIGIN) && site >> 32))
			continue;
		if (site >= (uint64_t)(uintptr_t)o.start && site < (uint64_t)(uintptr_t)o.end)
			continue;
		if (!describe(site, &o))
			o.start = o.end = NULL;
	}
}

/* ---- the start ------------------------------------------------------------------- */

static const char *parse_hex_digits(const char *p, uint64_t *value)
{
	*value = 0;
	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			*value = *value << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*value = *value << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

/* START-END PERMS PGOFF DEVICE INODE   PATH */
static void take_line(const char *line)
{
	struct found_object o;
	struct known_module *k;
	uint64_t start, end, pgoff;
	const char *path, *p = parse_hex_digits(line, &start);

	if (*p++ != '-')
		return;
	p = parse_hex_digits(p, &end);
	if (p[0] != ' ' || strlen(p) < 7 || p[3] != 'x')
		return;
	parse_hex_digits(p + 6, &pgoff);
	path = strchr(p, '/');
	if (!path)
		return;
	if (!emit_map(self_now(), start, end - start, pgoff, "", path))
		self_count_lost(1);
	if (!linker_object_at(start, &o) || !o.link_map->l_name)
		return;
	k = place_of((uint64_t)(uintptr_t)o.start);
	if (!k)
		return;
	k->end = (uint64_t)(uintptr_t)o.end;
	__atomic_store_n(&k->identity, identity_of(&o), __ATOMIC_RELEASE);
}

/* Puts all executable mappings of files into the ring. */
static bool scan_maps(void)
{
	char line[PATH_MAX + 256], buffer[2048];
	unsigned int length = 0;
	bool overlong = false;
	long fd, n;

	fd = raw_syscall4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	while ((n = raw_syscall3(SYS_read, fd, buffer, sizeof(buffer))) > 0 || n == -EINTR)
		for (long i = 0; i < n; i++) {
			if (buffer[i] == '\n') {
				line[length] = 0;
				if (!overlong)
					take_line(line);
				length = 0;
				overlong = false;
			} else if (length < sizeof(line) - 1) {
				line[length++] = buffer[i];
			} else {
				overlong = true;
			}
		}
	raw_syscall1(SYS_close, fd);
	return true;
}

static void name_program(const char *path)
{
	size_t size = strlen(path) + 1;

	if (size <= sizeof(program))
		memcpy(program, path, size);
}

bool modules_begin(void)
{
	bool asks = linker_object_begin();
	long n;

	n = raw_syscall2(SYS_getcwd, folder, sizeof(folder) - 1);
	if (n <= 0)
		n = 1;
	folder[n - 1] = '/';
	folder[n] = 0;
	n = raw_syscall3(SYS_readlink, "/proc/self/exe", program, sizeof(program) - 1);
	program[n < 0 ? 0 : n] = 0;
	if (n < 0 && getauxval(AT_EXECFN))
		name_program((const char *)getauxval(AT_EXECFN));
	return scan_maps() || asks;
}

/* The child may be in another root folder: what cannot be read now is described when a sample needs
 * it. */
void modules_after_fork(void)
{
	for (unsigned int i = 0; i < MODULES_MAX; i++)
		known[i].identity = 0;
	scan_maps();
}
