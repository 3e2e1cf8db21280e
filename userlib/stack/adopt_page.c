// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lets libpcce.so.0 use the thread page that another runtime of the process has.
 *
 * The dynamic linker gives a library the page of its own scope. dlmopen() and auditing begin
 * another namespace, with another libpcce.so.0, and dlopen() with RTLD_DEEPBIND prefers that of the
 * library. So one thread would have two pages, and a context would lack what the other page has.
 *
 * The offset of a page from the thread pointer is the same in all threads and namespaces. So when
 * this library has been loaded, it looks for another page, and puts its offset where the dynamic
 * linker has put that of its own page:
 *
 *  - into the GOT slots of all libraries that were loaded together with it, and into its own one.
 *    None of their code has run yet, except IFUNC resolvers.
 *  - into the value of its own dynamic symbol. So the dynamic linker itself gives the offset to
 *    libraries that are loaded later.
 *
 * If the library itself has been given the page of the executable, its symbol becomes undefined. So
 * a library that is loaded with RTLD_DEEPBIND later finds that page, too.
 *
 * This runtime then is idle (thread_page.c), but its functions work on the page that is in use. If
 * memory cannot be made writable, the library keeps its page.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include "internal.h"
#include "stack/page.h"
#include "base/syscall.h"

struct change {
	uint64_t own, wanted; /* offsets; wanted is 0: no library is to find this library's page */
};

static uint64_t offset_of(const void *page)
{
	return (uint64_t)page - (uint64_t)__builtin_thread_pointer();
}

/* The executable, as far as it concerns the page. */
struct program {
	uint64_t bias;
	const Elf64_Phdr *tls;
	const Elf64_Dyn *dynamic;
	bool is_starting; /* libraries for auditing are loaded before it is relocated */
};

/* The dynamic linker has relocated the addresses in a dynamic section, if it is writable. */
static uint64_t dynamic_address(uint64_t bias, uint64_t value)
{
	return value < bias ? value + bias : value;
}

static void read_executable(struct program *p)
{
	const Elf64_Phdr *h = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long n = getauxval(AT_PHNUM);

	*p = (struct program){0};
	for (unsigned long i = 0; h && i < n; i++)
		if (h[i].p_type == PT_PHDR)
			p->bias = (uint64_t)h - h[i].p_vaddr;
	for (unsigned long i = 0; h && i < n; i++) {
		if (h[i].p_type == PT_TLS)
			p->tls = &h[i];
		else if (h[i].p_type == PT_DYNAMIC)
			p->dynamic = (const Elf64_Dyn *)(p->bias + h[i].p_vaddr);
	}
	for (const Elf64_Dyn *d = p->dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG)
			p->is_starting = !d->d_un.d_ptr;
}

static bool is_page(const char *name)
{
	const char *wanted = "pcce_page";

	for (; *name == *wanted; name++, wanted++)
		if (!*name)
			return true;
	return false;
}

/* Follows the chain of the GNU hash table that pcce_page would be in. */
static const Elf64_Sym *find_in_table(const uint32_t *table, const Elf64_Sym *symbols,
				      const char *names)
{
	const uint32_t *buckets = table + 4 + 2 * table[2], *chains = buckets + table[0];
	uint32_t hash = 5381, i;

	for (const char *c = "pcce_page"; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	i = table[0] ? buckets[hash % table[0]] : 0;
	for (; i && i >= table[1]; i++) {
		uint32_t found = chains[i - table[1]];

		if ((found | 1) == (hash | 1) && is_page(names + symbols[i].st_name))
			return &symbols[i];
		if (found & 1)
			break;
	}
	return NULL;
}

/* The offset of the page that the executable exports, or 0. Its TLS ends at the thread pointer. */
static uint64_t page_of_program(const struct program *p)
{
	const uint32_t *table = NULL;
	const Elf64_Sym *symbols = NULL, *page;
	const char *names = NULL;

	for (const Elf64_Dyn *d = p->dynamic; d && d->d_tag != DT_NULL; d++) {
		uint64_t at = dynamic_address(p->bias, d->d_un.d_ptr);

		if (d->d_tag == DT_GNU_HASH)
			table = (const uint32_t *)at;
		else if (d->d_tag == DT_SYMTAB)
			symbols = (const Elf64_Sym *)at;
		else if (d->d_tag == DT_STRTAB)
			names = (const char *)at;
	}
	page = p->tls && table && symbols && names ? find_in_table(table, symbols, names) : NULL;
	if (!page || page->st_shndx == SHN_UNDEF)
		return 0;
	return page->st_value - p->tls->p_memsz -
	       (-(p->tls->p_vaddr + p->tls->p_memsz) & (p->tls->p_align - 1));
}

/* The offset of the page of the program's libpcce.so.0, or 0. Other namespaces cannot be asked: for
 * an empty one, dlmopen() fails and keeps its lock (glibc 2.36). */
static uint64_t page_of_library(void)
{
	void *object = dlmopen(LM_ID_BASE, "libpcce.so.0", RTLD_LAZY | RTLD_NOLOAD);
	void *page = object ? dlsym(object, "pcce_page") : NULL;

	if (object)
		dlclose(object);
	else
		dlerror(); /* the program must not see the message */
	return page ? offset_of(page) : 0;
}

/* Changes a word, which may be read-only. */
static void change_word(const struct dl_phdr_info *module, uint64_t address, uint64_t value)
{
	uint64_t start = address & ~(uint64_t)(MEMORY_PAGE - 1);
	int before = PROT_READ;

	for (int i = 0; i < module->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &module->dlpi_phdr[i];

		if (address - (module->dlpi_addr + p->p_vaddr) >= p->p_memsz)
			continue;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_W))
			before |= PROT_WRITE;
		if (p->p_type == PT_GNU_RELRO)
			before = PROT_READ;
	}
	if (!(before & PROT_WRITE) &&
	    raw_syscall3(SYS_mprotect, start, MEMORY_PAGE, PROT_READ | PROT_WRITE) < 0)
		return;
	*(volatile uint64_t *)address = value;
	if (!(before & PROT_WRITE))
		raw_syscall3(SYS_mprotect, start, MEMORY_PAGE, before);
}

/* A relocation against pcce_page. */
static void change_slot(const struct dl_phdr_info *module, const Elf64_Rela *r, Elf64_Sym *symbol,
			const struct change *c)
{
	uint64_t slot = module->dlpi_addr + r->r_offset;

	if (symbol->st_shndx != SHN_UNDEF && !c->wanted) {
		Elf64_Sym hidden = *symbol;

		hidden.st_shndx = SHN_UNDEF;
		change_word(module, (uint64_t)symbol, *(const uint64_t *)&hidden);
	}
	if (!c->wanted || *(const uint64_t *)slot != c->own)
		return;
	if (symbol->st_shndx != SHN_UNDEF)
		change_word(module, (uint64_t)&symbol->st_value,
			    symbol->st_value + c->wanted - c->own);
	change_word(module, slot, c->wanted);
}

static int change_module(struct dl_phdr_info *module, size_t size, void *arg)
{
	const Elf64_Dyn *d = NULL;
	const Elf64_Rela *rela = NULL;
	const char *names = NULL;
	Elf64_Sym *symbols = NULL;
	uint64_t bytes = 0;

	(void)size;
	for (int i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const Elf64_Dyn *)(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		uint64_t at = dynamic_address(module->dlpi_addr, d->d_un.d_ptr);

		if (d->d_tag == DT_RELA)
			rela = (const Elf64_Rela *)at;
		else if (d->d_tag == DT_RELASZ)
			bytes = d->d_un.d_val;
		else if (d->d_tag == DT_SYMTAB)
			symbols = (Elf64_Sym *)at;
		else if (d->d_tag == DT_STRTAB)
			names = (const char *)at;
	}
	for (uint64_t i = 0; rela && symbols && names && i < bytes / sizeof(*rela); i++)
		if (ELF64_R_TYPE(rela[i].r_info) == R_X86_64_TPOFF64 &&
		    is_page(names + symbols[ELF64_R_SYM(rela[i].r_info)].st_name))
			change_slot(module, &rela[i], &symbols[ELF64_R_SYM(rela[i].r_info)], arg);
	return 0;
}

static bool has_address(const struct dl_phdr_info *module, uint64_t address)
{
	for (int i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - (module->dlpi_addr + module->dlpi_phdr[i].p_vaddr) <
			    module->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static int change_if_own(struct dl_phdr_info *module, size_t size, void *arg)
{
	return has_address(module, (uint64_t)change_if_own) ? change_module(module, size, arg),
	       1					    : 0;
}

/* This file is linked before thread_page.c, so its constructor comes first. */
__attribute__((constructor(101))) static void adopt_page(void)
{
	int saved_errno = errno;
	struct program program;
	struct change c = {.own = offset_of(&pcce_page)};

	if (!page_is_own()) {
		dl_iterate_phdr(change_if_own, &c);
	} else {
		read_executable(&program);
		c.wanted = page_of_program(&program);
		/* It is too early to ask the dynamic linker while the program starts. */
		if (!c.wanted && !program.is_starting)
			c.wanted = page_of_library();
		if (c.wanted && c.wanted != c.own)
			dl_iterate_phdr(change_module, &c);
	}
	errno = saved_errno;
}
