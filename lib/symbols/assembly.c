/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds functions and lines with libdwfl, and disassembles with capstone. Where capstone knows no
 * instruction, one byte is shown as such.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <capstone/capstone.h>
#include <elfutils/libdwfl.h>
#include "base/array.h"
#include "base/mapped_file.h"
#include "symbols/assembly.h"
#include "symbols/debuginfo.h"

#define LARGEST_FUNCTION (1 << 20) /* bytes */

/* A file that is open. Addresses of libdwfl are link-time addresses + bias. */
struct reader {
	Dwfl_Module *module;
	GElf_Addr bias;
	csh decoder;
	struct assembly *to;
};

/* Finds debug information as the rest of pcce does. libdwfl itself would ask debuginfod's servers,
 * and wait for a FIFO that has the name. Without file_name, it searches a part that is shared. */
static int find_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			   const char *file_name, const char *link, GElf_Word checksum, char **path)
{
	Elf *elf, *debug = NULL;
	const unsigned char *id;
	GElf_Addr bias, at;
	int n, own, fd;

	(void)user, (void)name, (void)base, (void)link, (void)checksum;
	elf = file_name ? dwfl_module_getelf(module, &bias) : NULL;
	if (!elf)
		return -1;
	n = dwfl_module_build_id(module, &id, &at);
	fd = n > 0 ? debuginfo_open(id, (size_t)n, &debug) : -1;
	own = fd < 0 ? mapped_file_open(0, 0, 0, file_name, 0) : -1;
	if (own >= 0) {
		fd = debuginfo_open_link(own, elf, &debug);
		close(own);
	}
	if (debug)
		elf_end(debug);
	*path = NULL;
	return fd;
}

static int open_assembly_file(const char *path, const uint8_t *id, size_t id_size, struct reader *r,
			      struct error *why)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debug_file,
		.section_address = dwfl_offline_section_address,
	};
	const unsigned char *bits;
	int fd = mapped_file_open(0, 0, 0, path, 0), n;
	GElf_Ehdr head;
	GElf_Addr at;
	Elf *elf;

	if (fd < 0)
		return error_set(why, fd, "cannot read %s: %s", path, strerror(-fd));
	r->to->dwfl = dwfl_begin(&callbacks);
	r->module = r->to->dwfl ? dwfl_report_offline(r->to->dwfl, "", path, fd) : NULL;
	if (!r->module)
		close(fd);
	elf = r->module && !dwfl_report_end(r->to->dwfl, NULL, NULL)
		      ? dwfl_module_getelf(r->module, &r->bias)
		      : NULL;
	if (!elf)
		return error_set(why, -EIO, "cannot read %s: %s", path, dwfl_errmsg(-1));
	if (!gelf_getehdr(elf, &head) || head.e_machine != EM_X86_64)
		return error_set(why, -EOPNOTSUPP,
				 "cannot show the code of %s: it is not for x86-64", path);
	n = dwfl_module_build_id(r->module, &bits, &at);
	if (id_size && (n != (int)id_size || memcmp(bits, id, id_size) != 0))
		return error_set(
			why, -ESTALE,
			"cannot show the code of %s: it was built again since the recording", path);
	return 0;
}

/* Returns the bytes of a range of a section, or NULL. */
static const uint8_t *bytes_at(const struct reader *r, GElf_Addr start, size_t size)
{
	GElf_Addr address = start, bias;
	Elf_Scn *section = dwfl_module_address_section(r->module, &address, &bias);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	if (!data || !data->d_buf || address > data->d_size || size > data->d_size - address)
		return NULL;
	return (const uint8_t *)data->d_buf + address;
}

/* Adds an instruction. 0 or -ENOMEM. */
static int add_assembly_line(struct reader *r, uint64_t vaddr, size_t size, const char *function,
			     const char *mnemonic, const char *operands)
{
	struct assembly *to = r->to;
	struct assembly_line *line;
	Dwfl_Line *source = dwfl_module_getsrc(r->module, vaddr + r->bias);
	int number = 0;

	if (array_grow(&to->lines, to->n, sizeof(*to->lines)))
		return -ENOMEM;
	line = &to->lines[to->n++];
	*line = (struct assembly_line){.vaddr = vaddr, .size = size, .function = function};
	if (source)
		line->file = dwfl_lineinfo(source, NULL, &number, NULL, NULL, NULL);
	line->line = number > 0 ? number : 0;
	snprintf(line->text, sizeof(line->text), "%-7s%s%s", mnemonic, *operands ? " " : "",
		 operands);
	return 0;
}

static int disassemble_function(struct reader *r, GElf_Addr start, size_t size, const char *name)
{
	const uint8_t *code = bytes_at(r, start, size);
	uint64_t vaddr = start - r->bias;
	cs_insn *one = cs_malloc(r->decoder);
	int status = one ? 0 : -ENOMEM;

	while (code && size && !status) {
		const uint8_t *first = code;
		uint64_t at = vaddr;
		char byte[8];

		if (cs_disasm_iter(r->decoder, &code, &size, &vaddr, one)) {
			status = add_assembly_line(r, at, code - first, name, one->mnemonic,
						   one->op_str);
		} else {
			snprintf(byte, sizeof(byte), "0x%02x", *code);
			status = add_assembly_line(r, at, 1, name, ".byte", byte);
			code++;
			size--;
			vaddr++;
		}
		name = NULL;
	}
	if (one)
		cs_free(one, 1);
	return status;
}

/* Returns the size of a symbol that has none, as functions of assembly: to the next one, or to the
 * end of the section. */
static GElf_Xword size_to_next(const struct reader *r, GElf_Addr start)
{
	GElf_Addr offset = start, bias;
	Elf_Scn *section = dwfl_module_address_section(r->module, &offset, &bias);
	GElf_Shdr header;
	GElf_Xword size;

	if (!section || !gelf_getshdr(section, &header) || offset > header.sh_size)
		return 0;
	size = header.sh_size - offset;
	for (int i = 1; i < dwfl_module_getsymtab(r->module); i++) {
		GElf_Sym symbol;
		GElf_Addr at;
		const char *name =
			dwfl_module_getsym_info(r->module, i, &symbol, &at, NULL, NULL, NULL);

		if (name && *name && GELF_ST_TYPE(symbol.st_info) <= STT_FUNC && at > start &&
		    at - start < size)
			size = at - start;
	}
	return size;
}

static int disassemble_functions(struct reader *r, const uint64_t *vaddrs, size_t n)
{
	uint64_t end = 0; /* of the last function */

	for (size_t i = 0; i < n; i++) {
		GElf_Sym symbol;
		GElf_Off offset;
		const char *name;
		uint64_t start;
		int status;

		if (vaddrs[i] < end)
			continue;
		name = dwfl_module_addrinfo(r->module, vaddrs[i] + r->bias, &offset, &symbol, NULL,
					    NULL, NULL);
		if (name && !symbol.st_size)
			symbol.st_size = size_to_next(r, vaddrs[i] + r->bias - offset);
		if (!name || offset >= symbol.st_size || symbol.st_size > LARGEST_FUNCTION)
			continue;
		/* A function that another one is inside of continues behind that. */
		start = vaddrs[i] - offset > end ? vaddrs[i] - offset : end;
		symbol.st_size -= start - (vaddrs[i] - offset);
		status = disassemble_function(r, start + r->bias, symbol.st_size, name);
		if (status)
			return status;
		end = start + symbol.st_size;
	}
	return 0;
}

int assembly_read(const char *path, const uint8_t *id, size_t id_size, const uint64_t *vaddrs,
		  size_t n, struct assembly *to, struct error *why)
{
	struct reader r = {.to = to};
	int status;

	*to = (struct assembly){0};
	status = open_assembly_file(path, id, id_size, &r, why);
	if (status)
		return status;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &r.decoder) != CS_ERR_OK)
		return error_set(why, -ENOMEM, "cannot disassemble %s: out of memory", path);
	cs_option(r.decoder, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	status = disassemble_functions(&r, vaddrs, n);
	cs_close(&r.decoder);
	if (status)
		return error_set(why, status, "cannot disassemble %s: out of memory", path);
	if (!to->n)
		return error_set(why, -ENOENT,
				 "cannot find the function in %s: its symbols were removed", path);
	return 0;
}

void assembly_free(struct assembly *a)
{
	free(a->lines);
	if (a->dwfl)
		dwfl_end(a->dwfl);
	*a = (struct assembly){0};
}
