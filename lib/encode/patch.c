/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fills slots with the forms of docs/slots.md. Each form is built instruction by instruction in a
 * small buffer. So its length, and the places where its effect begins and ends, come from the lines
 * that write it.
 *
 * A before-slot is filled towards its end: nops, the work, the call. An after-slot is filled from
 * its beginning. Each slot gets the shortest form that fits. A push is inline if the plugin
 * reserved the room, else it calls a helper.
 *
 * A nop is an instruction that is executed for nothing. So prefixes without effect fill the slot
 * instead, if there are few bytes to fill (stretch()), and a jump leads over many.
 */
#include <errno.h>
#include <string.h>
#include "encode/patch.h"
#include "encode/patch_code.h"
#include "elf/x86.h"

int patch_page_read(const struct elf_module *m, const struct pcce_helper_entries *e,
		    struct patch_page *out, struct error *why)
{
	const uint8_t *p = elf_module_at(m, e->tls_insn, 7);

	memset(out, 0, sizeof(*out));
	out->push = e->push;
	out->pop = e->pop;
	out->push_slow = e->push_slow;
	out->pop_slow = e->pop_slow;
	out->leaf = e->leaf;
	if (p && p[0] == 0x49 && p[1] == 0xc7 && p[2] == 0xc3) {
		out->executable = true;
		out->offset = (int32_t)x86_load32(p + 3);
		return 0;
	}
	if (p && p[0] == 0x4c && p[1] == 0x8b && p[2] == 0x1d) {
		out->got = e->tls_insn + 7 + (uint64_t)x86_load_rel32(p + 3);
		if (elf_module_segment(m, out->got) && elf_module_segment(m, out->got + 7))
			return 0;
	}
	return error_set(why, -EINVAL,
			 "has a damaged description of the runtime: it does not say where the "
			 "thread page is");
}

/*
 * In a function of a library that has one context, the id before and after a call is 0. Then an
 * addition need not wait for the last one: it stores a constant.
 */
static bool stores_constants(const struct patch_page *page, const struct callgraph_site *s,
			     uint64_t value)
{
	return !page->executable && s->id_is_zero && !(value >> 31);
}

/* ---- forms ----------------------------------------------------------------------- */

static void put_inline_pop(struct code *c, struct fixups *f, const struct patch_page *page,
			   const struct callgraph_site *s)
{
	int32_t d = page->offset;

	PUT(c, 0x4c, 0x8d, 0x1d); /* lea end(%rip), %r11 */
	code_put_target(c, f, 0, true);
	PUT(c, 0x64, 0x4c, 0x63, 0x14, 0x25); /* movslq %fs:D+off, %r10 */
	code_put32(c, d + PAGE_OFF);
	PUT(c, 0x64, 0x66, 0x41, 0x83, 0xba); /* cmpw $0, %fs:D+top.count(%r10) */
	code_put32(c, d + TOP + 14);
	code_put8(c, 0);
	PUT(c, 0x0f, 0x85); /* jne pop_slow */
	code_put_target(c, f, page->pop_slow, false);
	if (s->id_is_zero) {
		code_put_set_id(c, f, page, 0);
	} else {
		PUT(c, 0x64, 0x4d, 0x8b, 0x92); /* mov %fs:D+top.id(%r10), %r10 */
		code_put32(c, d + TOP);
		PUT(c, 0x64, 0x4c, 0x89, 0x14, 0x25); /* mov %r10, %fs:D+id */
		code_put32(c, d + PAGE_ID);
	}
	PUT(c, 0x64, 0x83, 0x2c, 0x25); /* subl $16, %fs:D+off */
	code_put32(c, d + PAGE_OFF);
	code_put8(c, 16);
}

/*
 * Puts an inline push into a shared library. Two registers must hold the key, the page's offset and
 * that of the entry, so two of these are loaded again.
 */
static void put_inline_push_pic(struct code *c, struct fixups *f, const struct patch_page *page,
				const struct callgraph_site *s)
{
	PUT(c, 0x4c, 0x8b, 0x15); /* mov G(%rip), %r10 */
	code_put_target(c, f, page->got, false);
	PUT(c, 0x4c, 0x8d, 0x1d); /* lea key(%rip), %r11 */
	code_put_target(c, f, 0, true);
	PUT(c, 0x64, 0x41, 0xf7, 0x42, PAGE_OFF); /* testl $slow, %fs:off(%r10) */
	code_put32(c, PCCE_OFF_SLOW);
	PUT(c, 0x0f, 0x85); /* jne push_slow */
	code_put_target(c, f, page->push_slow, false);
	PUT(c, 0x64, 0x41, 0x83, 0x42, PAGE_OFF, 16); /* addl $16, %fs:off(%r10) */
	c->claim = c->n;
	if (s->id_is_zero) {
		PUT(c, 0x64, 0x4d, 0x63, 0x52, PAGE_OFF); /* movslq %fs:off(%r10), %r10 */
		PUT(c, 0x4c, 0x03, 0x15);		  /* add G(%rip), %r10 */
		code_put_target(c, f, page->got, false);
		PUT(c, 0x64, 0x4d, 0x89, 0x5a, TOP + 8); /* mov %r11, %fs:top.site(%r10) */
		PUT(c, 0x64, 0x49, 0xc7, 0x42, TOP);	 /* movq $0, %fs:top.id(%r10) */
		code_put32(c, 0);
		return;
	}
	PUT(c, 0x64, 0x4d, 0x63, 0x5a, PAGE_OFF); /* movslq %fs:off(%r10), %r11 */
	PUT(c, 0x4d, 0x01, 0xd3);		  /* add %r10, %r11 */
	PUT(c, 0x64, 0x4d, 0x8b, 0x52, PAGE_ID);  /* mov %fs:id(%r10), %r10 */
	PUT(c, 0x64, 0x4d, 0x89, 0x53, TOP);	  /* mov %r10, %fs:top.id(%r11) */
	PUT(c, 0x4c, 0x8d, 0x15);		  /* lea key(%rip), %r10 */
	code_put_target(c, f, 0, true);
	PUT(c, 0x64, 0x4d, 0x89, 0x53, TOP + 8); /* mov %r10, %fs:top.site(%r11) */
}

/* What comes before the jump but after the comparison does not change the flags. */
static void put_inline_pop_pic(struct code *c, struct fixups *f, const struct patch_page *page,
			       const struct callgraph_site *s)
{
	PUT(c, 0x4c, 0x8b, 0x15); /* mov G(%rip), %r10 */
	code_put_target(c, f, page->got, false);
	PUT(c, 0x64, 0x4d, 0x63, 0x5a, PAGE_OFF); /* movslq %fs:off(%r10), %r11 */
	/* cmpw $0, %fs:top.count(%r10,%r11) */
	PUT(c, 0x64, 0x66, 0x43, 0x83, 0x7c, 0x1a, TOP + 14, 0);
	if (!s->id_is_zero) /* mov %fs:top.id(%r10,%r11), %r10 */
		PUT(c, 0x64, 0x4f, 0x8b, 0x54, 0x1a, TOP);
	PUT(c, 0x4c, 0x8d, 0x1d); /* lea end(%rip), %r11 */
	code_put_target(c, f, 0, true);
	PUT(c, 0x0f, 0x85); /* jne pop_slow */
	code_put_target(c, f, page->pop_slow, false);
	if (s->id_is_zero) {
		PUT(c, 0x64, 0x49, 0xc7, 0x42, PAGE_ID); /* movq $0, %fs:id(%r10) */
		code_put32(c, 0);
		PUT(c, 0x64, 0x41, 0x83, 0x6a, PAGE_OFF, 16); /* subl $16, %fs:off(%r10) */
		return;
	}
	PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
	code_put_target(c, f, page->got, false);
	PUT(c, 0x64, 0x4d, 0x89, 0x53, PAGE_ID);      /* mov %r10, %fs:id(%r11) */
	PUT(c, 0x64, 0x41, 0x83, 0x6b, PAGE_OFF, 16); /* subl $16, %fs:off(%r11) */
}

/*
 * Lets a function that was called as a leaf callee, with ext set, go through __pcce_leaf. If that
 * is impossible, the function keeps the id.
 */
static void put_leaf_check(struct code *c, struct fixups *f, const struct patch_page *page,
			   const struct callgraph_func *func)
{
	const uint8_t set_length = func->sets_base ? CODE_BASE_BYTES : page->executable ? 13 : 16;

	if (page->executable) {
		PUT(c, 0x64, REX_W, 0x83, 0x3c, 0x25); /* cmpq $0, %fs:D+ext */
		code_put32(c, page->offset + PAGE_EXT);
		code_put8(c, 0);
	} else {
		PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
		code_put_target(c, f, page->got, false);
		PUT(c, 0x64, 0x49, 0x83, 0x7b, PAGE_EXT, 0); /* cmpq $0, %fs:ext(%r11) */
	}
	if (func->block_flags & PCCE_BLOCK_STACK) {
		PUT(c, 0x75, set_length); /* jne behind */
		return;
	}
	PUT(c, 0x4c, 0x8d, 0x1d, 6, 0, 0, 0); /* lea 1f(%rip), %r11 */
	PUT(c, 0x0f, 0x85);		      /* jne __pcce_leaf; 1: */
	code_put_target(c, f, page->leaf, false);
}

/* ---- slots ----------------------------------------------------------------------- */

static int refuse_small_slot(const struct callgraph_site *s, const char *func, size_t need,
			     size_t have, struct error *why)
{
	if (s->flags & PCCE_SITE_PIC)
		return error_set(why, -EINVAL,
				 "has a slot of %zu bytes in '%s' (line %u) where %zu are needed; "
				 "build the file again",
				 have, func, s->line, need);
	return error_set(why, -EINVAL,
			 "has code that was not compiled for a shared library: '%s' (line %u); "
			 "compile it with -fPIC",
			 func, s->line);
}

/* Does a form need registers besides the flags? */
static bool needs_registers(const struct patch_page *page, enum pcce_site_kind kind)
{
	return kind == PCCE_KIND_PUSH ||
	       (!page->executable && (kind == PCCE_KIND_ADD || kind == PCCE_KIND_EXT));
}

static int make_before(const struct patch_page *page, const struct callgraph_site *s,
		       enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
		       struct pcce_table_site *out, struct code *c)
{
	uint64_t end = s->before + s->before_len, key;
	size_t length = s->before_len - (s->offset ? CODE_OFFSET_BYTES : 0);
	bool spill = s->flags & PCCE_SITE_SPILL_REGS && needs_registers(page, kind);
	struct fixups f = {};
	size_t prologue;
	int room;

	out->restore_len = spill ? RESTORE_LEN : 0;
	key = end - out->restore_len;
	if (spill) {
		PUT(c, 0x4c, 0x89, 0x54, 0x24, 0x88); /* r10, r11 to the red zone */
		PUT(c, 0x4c, 0x89, 0x5c, 0x24, 0x80);
	}
	prologue = c->n;
	switch (kind) {
	case PCCE_KIND_ADD:
		if (stores_constants(page, s, value))
			code_put_set_id(c, &f, page, value);
		else {
			if (s->if_explicit)
				code_put_if_explicit(c, page);
			code_put_arith(c, &f, page, value, 0);
		}
		break;
	case PCCE_KIND_EXT:
		if (page->executable && key >> 32)
			return -ERANGE;
		code_put_ext_before(c, &f, page, key);
		break;
	case PCCE_KIND_PUSH:
		room = (int)length - (spill ? PCCE_SLOT_SPILL_REGS : 0);
		if (page->no_inline)
			code_put_helper(c, &f, 0, page->push);
		else if (page->executable &&
			 room >= (s->clears ? PCCE_SLOT_PUSH_CLEAR : PCCE_SLOT_PUSH))
			code_put_inline_push(c, &f, page, s);
		else if (!page->executable && !s->clears && room >= PCCE_SLOT_PUSH_PIC)
			put_inline_push_pic(c, &f, page, s);
		else
			code_put_helper(c, &f, 0, page->push);
		break;
	default:
		break;
	}
	c->applied = c->n;
	if (c->claim == 0 || c->claim < prologue)
		c->claim = c->applied;
	if (spill) {
		PUT(c, 0x4c, 0x8b, 0x5c, 0x24, 0x80); /* and back */
		PUT(c, 0x4c, 0x8b, 0x54, 0x24, 0x88);
	}
	if (c->n > length)
		return -ENOSPC;
	/* The guard's jump has a fixed distance. */
	if (!s->if_explicit)
		code_stretch(c, &f, length);
	size_t pad = length - c->n;

	if (code_apply_fixups(c, &f, end - c->n, key))
		return -ERANGE;
	code_fill(patch->before, pad);
	memcpy(patch->before + s->before_len - c->n, c->bytes, c->n);
	out->key = key;
	out->before = key - s->before;
	out->ret = s->after - key;
	if (s->offset) {
		struct code offset = {};

		code_put_offset(&offset, page, false);
		memcpy(patch->before + pad, offset.bytes, offset.n);
		out->before = key - (end - c->n);
		pad = 0;
	}
	if (kind != PCCE_KIND_NONE) {
		out->claim = pad + c->claim;
		out->applied = pad + c->applied;
	}
	return 0;
}

int patch_make_after(const struct patch_page *page, const struct callgraph_site *s,
		     enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
		     struct pcce_table_site *out, size_t *need)
{
	struct fixups f = {};
	struct code code = {}, *c = &code;
	size_t length = s->after_len, room = s->after_len;

	if (s->offset && length)
		room = length - CODE_OFFSET_BYTES;
	if (s->after_len) {
		switch (kind) {
		case PCCE_KIND_ADD:
			if (stores_constants(page, s, value)) {
				code_put_set_id(c, &f, page, 0);
				break;
			}
			if (s->if_explicit)
				code_put_if_explicit(c, page);
			code_put_arith(c, &f, page, value, 0x28);
			break;
		case PCCE_KIND_EXT:
			/*
			 * setjmp and similar functions keep ext: it still names this site, which
			 * distinguishes the first return from a jump (docs/slots.md).
			 */
			if (!(s->flags & PCCE_SITE_RETURNS_TWICE))
				code_put_ext_after(c, &f, page);
			break;
		case PCCE_KIND_PUSH:
			if (page->no_inline)
				code_put_helper(c, &f, 0, page->pop);
			else if (page->executable && room >= PCCE_SLOT_POP)
				put_inline_pop(c, &f, page, s);
			else if (!page->executable && s->after_len >= PCCE_SLOT_POP_PIC)
				put_inline_pop_pic(c, &f, page, s);
			else
				code_put_helper(c, &f, 0, page->pop);
			break;
		default:
			break;
		}
	}
	if (need)
		*need = c->n;
	if (c->n > room)
		return -ENOSPC;
	out->undone = c->n;
	if (s->offset && length) {
		/* This slot ends where the base comes back. */
		length = c->n;
		code_put_offset(c, page, true);
	} else if (!s->if_explicit) {
		code_stretch(c, &f, length);
		out->undone = c->n;
	}
	if (code_apply_fixups(c, &f, s->after, s->after + length))
		return -ERANGE;
	out->after_len = length;
	memcpy(patch->after, c->bytes, c->n);
	code_fill(patch->after + c->n, s->after_len - c->n);
	return 0;
}

bool patch_ext_fits(const struct callgraph_site *s, const void *ctx)
{
	const struct patch_page *page = ctx;
	size_t spill = s->flags & PCCE_SITE_SPILL_REGS ? PCCE_SLOT_SPILL_REGS : 0;
	bool has_after = !(s->flags & PCCE_SITE_NORETURN);

	if (page->executable)
		return s->before_len >= PCCE_SLOT_DIRECT &&
		       (!has_after || s->after_len >= PCCE_SLOT_DIRECT) &&
		       !((s->before + s->before_len) >> 32);
	return s->before_len >= PCCE_SLOT_LEAF_PIC_BEFORE + spill &&
	       (!has_after || s->after_len >= PCCE_SLOT_DIRECT_PIC);
}

int patch_make(const struct patch_page *page, const struct callgraph_site *s, const char *func,
	       enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
	       struct pcce_table_site *out, struct error *why)
{
	struct code before = {};
	size_t need = 0;
	int err;

	if (kind == PCCE_KIND_TAIL || kind == PCCE_KIND_RESTORE) {
		if ((s->before_len || s->after_len) &&
		    !(kind == PCCE_KIND_TAIL && !s->before_len && s->after_len == PCCE_SLOT_TAIL))
			return error_set(
				why, -EINVAL,
				"has damaged site records: a jump in '%s' (line %u) has slots",
				func, s->line);
		out->key = s->before;
		out->ret = s->after - s->before;
		code_fill(patch->after, s->after_len);
		return 0;
	}
	if (!s->after_len && !(s->flags & PCCE_SITE_NORETURN))
		return error_set(
			why, -EINVAL,
			"has damaged site records: a call in '%s' (line %u) has one slot only",
			func, s->line);
	err = make_before(page, s, kind, value, patch, out, &before);
	if (err == -ENOSPC)
		return refuse_small_slot(s, func, before.n, s->before_len, why);
	if (!err)
		err = patch_make_after(page, s, kind, value, patch, out, &need);
	if (err == -ENOSPC)
		return refuse_small_slot(s, func, need, s->after_len, why);
	if (err)
		return error_set(
			why, -EINVAL,
			"is too large: code of '%s' is more than 2 GiB away from the runtime",
			func);
	return 0;
}

int patch_apply(const struct elf_module *m, const struct callgraph_site *s, const char *func,
		const struct patch_slots *patch, uint8_t *image, struct error *why)
{
	const uint8_t *before = elf_module_at(m, s->before, s->before_len);
	const uint8_t *after = elf_module_at(m, s->after, s->after_len);

	if (!s->before_len && !s->after_len)
		return 0;
	if (!before || !after)
		return error_set(why, -EINVAL,
				 "has damaged site records: a slot in '%s' lies outside the code",
				 func);
	if (!x86_only_nops(before, s->before_len) || !x86_only_nops(after, s->after_len))
		return error_set(
			why, -EINVAL,
			"has a slot in '%s' (line %u, address %#llx) that is not empty, "
			"since it is damaged or has lost its encoding table; link it again",
			func, s->line, (unsigned long long)s->before);
	memcpy(image + (before - m->image), patch->before, s->before_len);
	memcpy(image + (after - m->image), patch->after, s->after_len);
	if (patch->n_jump)
		memcpy(image + (before - m->image), patch->jump, patch->n_jump);
	return 0;
}

/* ---- entries --------------------------------------------------------------------- */

void patch_type_code(uint32_t code, uint8_t bytes[PATCH_TYPE_CODE])
{
	/* cmp and test, of 32 or 64 bits, and of 8 bits with any rex.w. None changes a register. */
	static const uint8_t to_r11[] = {0x39, 0x85, 0x38, 0x84}, from_r11[] = {0x3b, 0x3a};
	uint32_t n = code - 1, other = n % 15, wide = n / 15 % 2, kind = n / 30;

	if (other == 11)
		other = 15;
	if (kind < sizeof(to_r11)) {
		bytes[0] = REX | wide << 3 | other >> 3 << 2 | 1;
		bytes[1] = to_r11[kind];
		bytes[2] = 0xc0 | (other & 7) << 3 | 3;
	} else {
		bytes[0] = REX | wide << 3 | 4 | other >> 3;
		bytes[1] = from_r11[kind - sizeof(to_r11)];
		bytes[2] = 0xc0 | 3 << 3 | (other & 7);
	}
}

uint64_t patch_behind_entry(const struct callgraph_func *f)
{
	return f->addr + f->entry + f->entry_len;
}

int patch_entry(const struct patch_page *page, const struct elf_module *m,
		const struct callgraph_func *f, uint32_t start, uint8_t *image, struct error *why)
{
	const uint8_t *slot = elf_module_at(m, f->addr + f->entry, f->entry_len);
	struct fixups fixups = {};
	struct code c = {};
	size_t pad;

	if (f->code) {
		PUT(&c, 0, 0, 0);
		patch_type_code(f->code, c.bytes);
	}
	if (f->block_flags & PCCE_BLOCK_LEAF)
		put_leaf_check(&c, &fixups, page, f);
	if (f->sets_base)
		code_put_base(&c, page);
	else
		code_put_set_id(&c, &fixups, page, start);
	if (!slot || c.n > f->entry_len || !x86_only_nops(slot, f->entry_len))
		return error_set(why, -EINVAL,
				 "has an entry slot in '%s' that is not empty or too small, since "
				 "it is damaged or has lost its encoding table; link it again",
				 f->name);
	/* The short jump of the second kind of check has a fixed distance. */
	if (!(f->block_flags & PCCE_BLOCK_LEAF && f->block_flags & PCCE_BLOCK_STACK))
		code_stretch(&c, &fixups, f->entry_len);
	pad = f->entry_len - c.n;
	if (code_apply_fixups(&c, &fixups, f->addr + f->entry + pad, 0))
		return error_set(why, -EINVAL,
				 "is too large: '%s' is more than 2 GiB away from its data",
				 f->name);
	code_fill(image + (slot - m->image), pad);
	memcpy(image + (slot - m->image) + pad, c.bytes, c.n);
	return 0;
}

int patch_distance(const struct elf_module *m, const struct callgraph_site *s,
		   const struct callgraph_func *callee, uint8_t *image, struct error *why)
{
	const uint8_t *field = elf_module_at(m, s->distance, 4);
	int64_t distance = (int64_t)(patch_behind_entry(callee) - (s->distance + 4));
	int32_t rel = (int32_t)distance;

	if (!field || rel != distance)
		return error_set(why, -EINVAL, "is too large: '%s' is 2 GiB away from a call of it",
				 callee->name);
	memcpy(image + (field - m->image), &rel, 4);
	return 0;
}
