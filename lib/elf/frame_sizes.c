/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See frame_sizes.h. libdw interprets the unwind information. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/sorted.h"
#include "elf/frame_sizes.h"

#define DWARF_RSP 7 /* System V ABI, AMD64 supplement, figure 3.36 */
#define SIZE_MAX_FIXED (1 << 24)

struct frame_reader {
	Elf *elf;
	Dwarf *dwarf; /* of .debug_frame; NULL: there is none */
	Dwarf_CFI *eh, *debug;
};

int frame_reader_open(const struct elf_module *m, struct frame_reader **out, struct error *why)
{
	struct frame_reader *r = calloc(1, sizeof(*r));

	*out = r;
	if (!r)
		return error_memory(why);
	elf_version(EV_CURRENT);
	/* libelf only reads such an image. */
	r->elf = elf_memory((char *)(uintptr_t)m->image, m->size);
	if (!r->elf) {
		frame_reader_close(r);
		*out = NULL;
		return error_set(why, -EINVAL, "cannot be read by libelf: %s", elf_errmsg(-1));
	}
	r->eh = dwarf_getcfi_elf(r->elf);
	r->dwarf = dwarf_begin_elf(r->elf, DWARF_C_READ, NULL);
	r->debug = r->dwarf ? dwarf_getcfi(r->dwarf) : NULL;
	return 0;
}

void frame_reader_close(struct frame_reader *r)
{
	if (!r)
		return;
	if (r->eh)
		dwarf_cfi_end(r->eh);
	if (r->dwarf)
		dwarf_end(r->dwarf);
	if (r->elf)
		elf_end(r->elf);
	free(r);
}

/* Returns the size at vaddr, and sets *end to where another one may begin. */
static uint32_t read_size(Dwarf_CFI *cfi, uint64_t vaddr, uint64_t *end)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr from, to;
	Dwarf_Op *ops;
	size_t n;
	uint32_t size = FRAME_SIZE_NONE;
	bool signal;

	if (!cfi || dwarf_cfi_addrframe(cfi, vaddr, &frame))
		return size;
	if (dwarf_frame_info(frame, &from, &to, &signal) >= 0 && to > vaddr) {
		*end = to;
		if (!dwarf_frame_cfa(frame, &ops, &n) && n == 1 && ops->atom == DW_OP_bregx &&
		    ops->number == DWARF_RSP && ops->number2 >= 8 && ops->number2 < SIZE_MAX_FIXED)
			size = ops->number2;
	}
	free(frame);
	return size;
}

static int add_size(struct frame_sizes *f, uint64_t start, uint32_t size)
{
	if (f->n && f->all[f->n - 1].size == size)
		return 0;
	if (array_reserve(&f->all, &f->capacity, f->n + 1, sizeof(*f->all)))
		return -ENOMEM;
	f->all[f->n++] = (struct frame_size){start, size};
	return 0;
}

int frame_sizes_add(struct frame_sizes *f, struct frame_reader *r, uint64_t start, uint64_t end)
{
	int err = 0;

	for (uint64_t at = start, next; !err && at < end; at = next) {
		uint32_t size;

		next = end;
		size = read_size(r->eh, at, &next);
		if (next == end && size == FRAME_SIZE_NONE)
			size = read_size(r->debug, at, &next);
		err = add_size(f, at, size);
	}
	return err ? err : add_size(f, end, FRAME_SIZE_NONE);
}

uint32_t frame_sizes_at(const struct frame_sizes *f, uint64_t vaddr)
{
	size_t n = SORTED_COUNT(i, f->n, f->all[i].start <= vaddr);

	return n ? f->all[n - 1].size : FRAME_SIZE_NONE;
}

void frame_sizes_free(struct frame_sizes *f)
{
	free(f->all);
	memset(f, 0, sizeof(*f));
}
