/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * count_patch IN OUT
 *
 * Writes a copy of a program in which each slot calls a counting function (count.c).  IN is linked
 * with PCCE_ENCODE=off and with count.o.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/papers/program.h"
#include "encode/patch.h"
#include "elf/x86.h"

/* Writes `lea end(%rip), %r11; call target` at the end of the slot. */
static int patch_entry_slot(const struct program *p, const struct callgraph_func *f,
			    uint64_t target, uint8_t *image, struct error *why)
{
	uint64_t start = f->addr + f->entry, end = start + f->entry_len;
	const uint8_t *slot = elf_module_at(&p->module, start, f->entry_len);
	uint8_t code[12] = {0x4c, 0x8d, 0x1d, 5, 0, 0, 0, 0xe8};
	int32_t distance = (int32_t)(target - end);
	uint8_t *out;

	if (!f->entry_len)
		return 0;
	if (!slot || f->entry_len < sizeof(code) || !x86_only_nops(slot, f->entry_len))
		return error_set(why, -EINVAL, "has an entry slot in '%s' that is not empty",
				 f->name);
	memcpy(code + 8, &distance, 4);
	out = image + (slot - p->image);
	x86_fill_nops(out, f->entry_len - sizeof(code));
	memcpy(out + f->entry_len - sizeof(code), code, sizeof(code));
	return 0;
}

static int patch_all(const struct program *p, uint8_t *image, struct error *why)
{
	struct patch_page count = {.no_inline = true,
				   .pop = program_symbol(p, "pcce_count_return")};
	uint64_t call = program_symbol(p, "pcce_count_call"),
		 direct = program_symbol(p, "pcce_count_direct");
	uint64_t enter = program_symbol(p, "pcce_count_enter");
	int err = 0;

	if (!call || !direct || !enter || !count.pop)
		return error_set(
			why, -EINVAL,
			"has no counting functions; link it with count.o and do not strip it");
	for (uint32_t i = 0; !err && i < p->graph.n_sites; i++) {
		const struct callgraph_site *s = &p->graph.sites[i];
		const char *name = p->graph.funcs[s->func].name;
		struct pcce_table_site unused = {};
		struct patch_slots patch = {};

		if (!s->before_len && !s->after_len)
			continue;
		count.push = s->target == CALLGRAPH_INSIDE ? direct : call;
		err = patch_make(&count, s, name, PCCE_KIND_PUSH, 0, &patch, &unused, why);
		if (!err)
			err = patch_apply(&p->module, s, name, &patch, image, why);
	}
	for (uint32_t f = 0; !err && f < p->graph.n_funcs; f++)
		err = patch_entry_slot(p, &p->graph.funcs[f], enter, image, why);
	return err;
}

int main(int argc, char **argv)
{
	struct program p;
	struct error why;
	uint8_t *image;
	int status;

	if (argc != 3) {
		fprintf(stderr, "usage: count_patch IN OUT\n");
		return 2;
	}
	if (program_open(argv[1], &p, &why)) {
		fprintf(stderr, "count_patch: '%s' %s\n", argv[1], why.text);
		return EXIT_FAILURE;
	}
	image = malloc(p.size);
	if (!image) {
		fprintf(stderr, "count_patch: out of memory\n");
		return EXIT_FAILURE;
	}
	memcpy(image, p.image, p.size);
	if (patch_all(&p, image, &why)) {
		fprintf(stderr, "count_patch: '%s' %s\n", argv[1], why.text);
		status = EXIT_FAILURE;
	} else if (program_write(argv[2], image, p.size, &why)) {
		fprintf(stderr, "count_patch: '%s' %s\n", argv[2], why.text);
		status = EXIT_FAILURE;
	} else {
		status = EXIT_SUCCESS;
	}
	free(image);
	program_close(&p);
	return status;
}
