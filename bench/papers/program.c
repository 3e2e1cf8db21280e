/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads a linked program whose slots are empty, and builds its call graph. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "bench/papers/program.h"
#include "encode/encode.h"
#include "encode/pipeline.h"

/* The paper's graph also has calls of functions that call nothing. */
static bool only_outside(const struct callgraph_site *s, const void *ctx)
{
	(void)ctx;
	return s->target == CALLGRAPH_OUTSIDE;
}

static int build_graph(struct program *p, callgraph_ext_fits *ext_fits, struct error *why)
{
	struct pipeline all = {.module = &p->module, .records = &p->records, .ext_fits = ext_fits};
	int err = pipeline_run(&all, PIPELINE_GRAPH, why);

	p->links = all.relocs;
	p->graph = all.graph;
	return err;
}

int program_open(const char *path, struct program *p, struct error *why)
{
	int err;

	memset(p, 0, sizeof(*p));
	err = encode_read_file(path, &p->image, &p->size, why);
	if (!err)
		err = elf_module_open(p->image, p->size, &p->module, why);
	if (!err && elf_module_section(&p->module, PCCE_TABLE_SECTION, NULL))
		err = error_set(why, -EINVAL, "is encoded; link it with PCCE_ENCODE=off");
	if (!err)
		err = site_records_read(&p->module, &p->records, why);
	if (!err && (!p->records.has_entries || !p->records.n_blocks))
		err = error_set(
			why, -EINVAL,
			"is not instrumented; compile and link it with the flags of pcce-config");
	if (!err)
		err = build_graph(p, only_outside, why);
	if (err)
		program_close(p);
	return err;
}

int program_as_encoded(struct program *p, struct error *why)
{
	callgraph_free(&p->graph);
	elf_relocs_free(&p->links);
	return build_graph(p, patch_ext_fits, why);
}

void program_close(struct program *p)
{
	callgraph_free(&p->graph);
	elf_relocs_free(&p->links);
	site_records_free(&p->records);
	elf_module_close(&p->module);
	free(p->image);
	memset(p, 0, sizeof(*p));
}

uint64_t program_symbol(const struct program *p, const char *name)
{
	const struct elf_section *table = elf_module_section(&p->module, ".symtab", NULL);
	const struct elf_section *strings = elf_module_section(&p->module, ".strtab", NULL);
	const uint8_t *symbols = table ? elf_module_contents(&p->module, table) : NULL;
	const char *text = strings ? (const char *)elf_module_contents(&p->module, strings) : NULL;
	size_t length = strlen(name) + 1;

	if (!symbols || !text)
		return 0;
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym s;

		memcpy(&s, symbols + at, sizeof(s));
		if (s.st_name < strings->size && strings->size - s.st_name >= length &&
		    !memcmp(text + s.st_name, name, length))
			return s.st_value;
	}
	return 0;
}

const struct callgraph_site *program_site(const struct program *p, uint64_t address)
{
	const struct callgraph_site *sites = p->graph.sites;
	uint32_t low = 0, high = p->graph.n_sites;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sites[middle].after + sites[middle].after_len < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->graph.n_sites && sites[low].before <= address ? &sites[low] : NULL;
}

int program_write(const char *path, const uint8_t *image, size_t size, struct error *why)
{
	FILE *f = fopen(path, "w");
	bool bad = !f || fwrite(image, 1, size, f) != size;

	if (f && fclose(f))
		bad = true;
	return bad || chmod(path, 0755)
		       ? error_set(why, -errno, "cannot be written: %s", strerror(errno))
		       : 0;
}
