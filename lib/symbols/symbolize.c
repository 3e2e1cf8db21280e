/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds symbols, inline chains and lines for many addresses of one file. The time is proportional
 * to the debug information around these addresses.
 *
 *   1. Symbols: the function symbols of .symtab, else .dynsym, and the stubs of the PLT (plt.c),
 *      are sorted.  Each address takes a binary search.
 *   2. DWARF (dwarf.c): units without any of the addresses are skipped.  In each other unit, one
 *      walk over the tree of functions and inlined functions finds the addresses in their ranges.
 *   3. Frames: the innermost frame of an address has the line of the line table.  Each outer frame
 *      has the line of the call that was inlined into it.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/sorted.h"
#include "base/array.h"
#include "symbols/debuginfo.h"
#include "symbols/symbolize.h"
#include "symbols/dwarf.h"
#include "symbols/plt.h"

struct symbol_table_entry {
	uint64_t addr, size;
	const char *name;
	int rank; /* the highest at one address wins */
};

struct symbols {
	struct symbol_table_entry *all;
	size_t n, capacity;
	char **cut; /* names without their versions */
	size_t n_cut;
};

/*
 * Ranks the names of one address by what people call the function: free, not cfree@GLIBC_2.2.5,
 * and open, not __open64. hidden: a version for old programs only.
 */
static int symbol_rank(const GElf_Sym *sym, const char *name, bool hidden)
{
	size_t underscores = strspn(name, "_");
	const char *at = strchr(name, '@');
	int rank = underscores < 9 ? -(int)underscores : -9;

	if (GELF_ST_BIND(sym->st_info) != STB_LOCAL)
		rank += 20;
	if (!hidden && (!at || at[1] == '@'))
		rank += 40;
	return sym->st_size ? rank + 80 : rank;
}

static int add_elf_symbol(struct symbols *s, struct symbol_table_entry symbol)
{
	if (array_grow_from(&s->all, s->n, &s->capacity, 1024, sizeof(symbol)))
		return -ENOMEM;
	s->all[s->n++] = symbol;
	return 0;
}

/* Returns the versions of a section of dynamic symbols, or NULL. */
static Elf_Data *find_versions(Elf *elf, size_t symbols)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_GNU_versym && sh.sh_link == symbols)
			return elf_getdata(scn, NULL);
	return NULL;
}

static int add_section_symbols(struct symbols *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL), *versions = find_versions(elf, elf_ndxscn(scn));
	size_t i, n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;

	for (i = 1; data && i < n; i++) {
		GElf_Versym version = 0;
		GElf_Sym sym;
		const char *name;
		int type;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    sym.st_shndx == SHN_ABS)
			continue;
		type = GELF_ST_TYPE(sym.st_info);
		if (type != STT_FUNC && type != STT_GNU_IFUNC)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		if (versions)
			gelf_getversym(versions, (int)i, &version);
		if (add_elf_symbol(
			    s, (struct symbol_table_entry){sym.st_value, sym.st_size, name,
							   symbol_rank(&sym, name, version >> 15)}))
			return -ENOMEM;
	}
	return 0;
}

static int read_elf_symbols(struct symbols *s, Elf *elf, GElf_Word type)
{
	Elf_Scn *scn = NULL;
	int err;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		err = add_section_symbols(s, elf, scn, &sh);
		if (err)
			return err;
	}
	return 0;
}

static int compare_elf_symbols(const void *a, const void *b)
{
	const struct symbol_table_entry *x = a, *y = b;
	int diff;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	diff = strcmp(x->name, y->name);
	return diff;
}

/* Sorts the symbols and keeps one for each address. */
static void sort_elf_symbols(struct symbols *s)
{
	size_t i, kept = 0;

	if (!s->n)
		return;
	qsort(s->all, s->n, sizeof(*s->all), compare_elf_symbols);
	for (i = 0; i < s->n; i++)
		if (!kept || s->all[kept - 1].addr != s->all[i].addr)
			s->all[kept++] = s->all[i];
	s->n = kept;
}

/* Removes the versions from names: free@@GLIBC_2.2.5. */
static int cut_versions(struct symbols *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *name = s->all[i].name, *at = strchr(name, '@');

		if (!at || at == name || !strcmp(at, "@plt"))
			continue;
		if (array_grow(&s->cut, s->n_cut, sizeof(*s->cut)))
			return -ENOMEM;
		s->cut[s->n_cut] = strndup(name, (size_t)(at - name));
		if (!s->cut[s->n_cut])
			return -ENOMEM;
		s->all[i].name = s->cut[s->n_cut++];
	}
	return 0;
}

static const struct symbol_table_entry *find_symbol(const struct symbols *s, uint64_t vaddr)
{
	size_t low = SORTED_COUNT(i, s->n, s->all[i].addr <= vaddr);

	if (!low)
		return NULL;
	low--;
	/*
	 * A symbol without a size (assembler code) reaches to the next symbol, but at most 64 KiB.
	 */
	if (s->all[low].size ? vaddr - s->all[low].addr >= s->all[low].size
			     : vaddr - s->all[low].addr > 65536)
		return NULL;
	return &s->all[low];
}

static const char *name_at(void *ctx, uint64_t addr)
{
	const struct symbol_table_entry *symbol = find_symbol(ctx, addr);

	return symbol && symbol->addr == addr ? symbol->name : NULL;
}

struct symbolizer {
	Elf *elf, *debug; /* debug: a separate file; NULL: none */
	int debug_fd;
	Dwarf *dwarf;
	struct symbols symbols;
	struct plt_stub *stubs;
	size_t n_stubs;
};

/* One look into a file. */
struct look {
	struct symbolizer *in;
	const uint64_t *vaddrs;
	struct dwarf_chains *chains;
	int (*frame)(void *ctx, const struct symbolize_frame *f);
	void *ctx;
};

static int deliver_frames(const struct look *w, size_t i)
{
	const struct symbol_table_entry *symbol = find_symbol(&w->in->symbols, w->vaddrs[i]);
	struct symbolize_frame f = {
		.vaddr = w->vaddrs[i], .symbol = symbol ? symbol->addr : 0, .file = ""};
	size_t n = dwarf_chain_length(w->chains, i), k;
	int err;

	for (k = 0; k < (n ? n : 1); k++) {
		const char *function = NULL;

		f.depth = (uint32_t)k;
		f.inlined = k + 1 < n;
		f.file = "";
		f.line = 0;
		if (n)
			dwarf_chain_frame(w->chains, i, k, &function, &f.file, &f.line);
		else
			dwarf_chain_line(w->chains, i, &f.file, &f.line);
		/*
		 * The outermost frame has a symbol, whose name says more: it tells clones and parts
		 * of functions apart.
		 */
		if (!f.inlined && symbol)
			function = symbol->name;
		if (!function) {
			if (!n)
				return 0;
			function = "??";
		}
		f.function = function;
		err = w->frame(w->ctx, &f);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Adds symbols for the stubs. Without them, stubs would get the name of the symbol before them,
 * mostly _init.
 */
static int add_stubs(struct symbolizer *w)
{
	int err = plt_read(w->elf, name_at, &w->symbols, &w->stubs, &w->n_stubs);

	for (size_t i = 0; i < w->n_stubs && !err; i++)
		err = add_elf_symbol(&w->symbols,
				     (struct symbol_table_entry){w->stubs[i].addr, w->stubs[i].size,
								 w->stubs[i].name, 0});
	sort_elf_symbols(&w->symbols);
	return err;
}

static int read_all_symbols(struct symbolizer *w)
{
	int err = read_elf_symbols(&w->symbols, w->elf, SHT_SYMTAB);

	if (!err && !w->symbols.n && w->debug)
		err = read_elf_symbols(&w->symbols, w->debug, SHT_SYMTAB);
	if (!err && !w->symbols.n)
		err = read_elf_symbols(&w->symbols, w->elf, SHT_DYNSYM);
	sort_elf_symbols(&w->symbols);
	if (!err)
		err = cut_versions(&w->symbols);
	return err ? err : add_stubs(w);
}

static void free_symbols(struct symbolizer *w)
{
	free(w->symbols.all);
	for (size_t i = 0; i < w->symbols.n_cut; i++)
		free(w->symbols.cut[i]);
	free(w->symbols.cut);
	plt_free(w->stubs, w->n_stubs);
}

/* Says why the debug information of a file, if it has any, cannot be read. */
static void explain_no_dwarf(Elf *elf, struct error *why)
{
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;
	GElf_Chdr compressed;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : "";

		if (!name || strcmp(name, ".debug_info") || sh.sh_type == SHT_NOBITS)
			continue;
		if (gelf_getchdr(scn, &compressed) && compressed.ch_type != ELFCOMPRESS_ZLIB)
			error_set(why, 0,
				  "is compressed in a way that libdw cannot read; build with "
				  "-gz=zlib");
		else
			error_set(why, 0, "cannot be read: libdw says '%s'", dwarf_errmsg(-1));
	}
}

/* Opens a file with its debug information, and reads its symbols. 0, or -errno as of
 * symbolize_file(). */
static int open_symbols(struct symbolizer *w, int fd, const uint8_t *build_id, size_t build_id_size,
			struct error *why)
{
	elf_version(EV_CURRENT);
	w->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!w->elf || elf_kind(w->elf) != ELF_K_ELF)
		return error_set(why, -ENOEXEC, "is not an ELF file");
	if (build_id_size && !debuginfo_same_build_id(w->elf, build_id, build_id_size))
		return error_set(why, -ESTALE, "was replaced while it was recorded");
	w->debug_fd = debuginfo_open(build_id, build_id_size, &w->debug);
	if (w->debug_fd < 0)
		w->debug_fd = debuginfo_open_link(fd, w->elf, &w->debug);
	return read_all_symbols(w) ? error_set(why, -ENOMEM, "needs more memory than is available")
				   : 0;
}

static void open_dwarf(struct symbolizer *w, struct error *why)
{
	w->dwarf = dwarf_begin_elf(w->elf, DWARF_C_READ, NULL);
	if (!w->dwarf && w->debug)
		w->dwarf = dwarf_begin_elf(w->debug, DWARF_C_READ, NULL);
	if (!w->dwarf)
		explain_no_dwarf(w->debug ? w->debug : w->elf, why);
}

void symbolizer_close(struct symbolizer *w)
{
	if (!w)
		return;
	if (w->dwarf)
		dwarf_end(w->dwarf);
	free_symbols(w);
	if (w->debug_fd >= 0) {
		elf_end(w->debug);
		close(w->debug_fd);
	}
	if (w->elf)
		elf_end(w->elf);
	free(w);
}

static int new_symbolizer(struct symbolizer **out, struct error *why)
{
	struct symbolizer *w = calloc(1, sizeof(*w));

	*out = w;
	if (!w)
		return error_set(why, -ENOMEM, "needs more memory than is available");
	w->debug_fd = -1;
	return 0;
}

static int finish_symbolizer(struct symbolizer *w, int err, struct symbolizer **out,
			     struct error *why)
{
	if (!err)
		open_dwarf(w, why);
	if (err)
		symbolizer_close(w);
	*out = err ? NULL : w;
	return err;
}

int symbolizer_open(int fd, const uint8_t *build_id, size_t build_id_size, struct symbolizer **out,
		    struct error *why)
{
	struct symbolizer *w;
	int err = new_symbolizer(&w, why);

	if (!err)
		err = open_symbols(w, fd, build_id, build_id_size, why);
	return finish_symbolizer(w, err, out, why);
}

int symbolizer_open_vdso(struct symbolizer **out, struct error *why)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct symbolizer *w;
	size_t size;
	int err = head ? new_symbolizer(&w, why) : error_set(why, -ENOENT, "cannot be read");

	if (err)
		return err;
	elf_version(EV_CURRENT);
	/* The section headers are at the end of the vdso. */
	size = head->e_shoff + (size_t)head->e_shentsize * head->e_shnum;
	w->elf = elf_memory((char *)(uintptr_t)head, size);
	if (!w->elf)
		err = error_set(why, -EINVAL, "cannot be read");
	else if (read_all_symbols(w))
		err = error_set(why, -ENOMEM, "needs more memory than is available");
	return finish_symbolizer(w, err, out, why);
}

int symbolizer_look(struct symbolizer *w, const uint64_t *vaddrs, size_t n,
		    int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx)
{
	struct look look = {.in = w, .vaddrs = vaddrs, .frame = frame, .ctx = ctx};
	int err = dwarf_chains_new(w->dwarf, vaddrs, n, &look.chains);

	for (size_t i = 0; i < n && !err; i++)
		err = deliver_frames(&look, i);
	dwarf_chains_free(look.chains);
	return err;
}

/* Looks once, after an opening that returned err. */
static int look_once(struct symbolizer *w, int err, const uint64_t *vaddrs, size_t n,
		     int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx,
		     struct error *why)
{
	if (err)
		return err;
	err = symbolizer_look(w, vaddrs, n, frame, ctx);
	if (err)
		error_set(why, 0, "needs more memory than is available");
	symbolizer_close(w);
	return err;
}

int symbolize_file(int fd, const uint8_t *build_id, size_t build_id_size, const uint64_t *vaddrs,
		   size_t n, int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx,
		   struct error *why)
{
	struct symbolizer *w;
	int err = symbolizer_open(fd, build_id, build_id_size, &w, why);

	return look_once(w, err, vaddrs, n, frame, ctx, why);
}

int symbolize_vdso(const uint64_t *vaddrs, size_t n,
		   int (*frame)(void *ctx, const struct symbolize_frame *f), void *ctx,
		   struct error *why)
{
	struct symbolizer *w;
	int err = symbolizer_open_vdso(&w, why);

	return look_once(w, err, vaddrs, n, frame, ctx, why);
}

/* A symbol reaches as far as find_symbol() looks. */
static struct symbolize_range *list_symbols(const struct symbols *s)
{
	struct symbolize_range *ranges = malloc((s->n + 1) * sizeof(*ranges));

	for (size_t i = 0; i < s->n && ranges; i++) {
		uint64_t start = s->all[i].addr,
			 end = start + (s->all[i].size ? s->all[i].size : 65537);

		if (i + 1 < s->n && s->all[i + 1].addr < end)
			end = s->all[i + 1].addr;
		ranges[i] = (struct symbolize_range){start, end};
	}
	return ranges;
}

int symbolize_list(int fd, const uint8_t *build_id, size_t build_id_size,
		   struct symbolize_range **ranges, size_t *n, struct error *why)
{
	struct symbolizer *w;
	int err = new_symbolizer(&w, why);

	*ranges = NULL;
	*n = 0;
	if (!err)
		err = open_symbols(w, fd, build_id, build_id_size, why);
	if (!err) {
		*ranges = list_symbols(&w->symbols);
		*n = *ranges ? w->symbols.n : 0;
		err = *ranges ? 0 : error_set(why, -ENOMEM, "needs more memory than is available");
	}
	symbolizer_close(w);
	return err;
}
