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
#include <pcce/abi.h>
#include "encode/patch.h"
#include "elf/x86.h"

#define PAGE_ID ((int)__builtin_offsetof(struct pcce_page, id))
#define PAGE_EXT ((int)__builtin_offsetof(struct pcce_page, ext))
#define PAGE_OFF ((int)__builtin_offsetof(struct pcce_page, off))
#define PAGE_ENTRY ((int)__builtin_offsetof(struct pcce_page, entry))
#define TOP (PAGE_ENTRY - 16) /* the top entry, relative to off */
#define RESTORE_LEN 10
#define PREFIX_FS 0x64
#define PREFIX_CS 0x2e /* without effect */
#define INSN_MAX 15    /* bytes */
#define NOPS_MAX 45    /* bytes of three nops; a jump is cheaper than four */
#define REX 0x40       /* without effect: makes the instruction longer */
#define REX_W 0x48

/* Code under construction. */
struct code {
	uint8_t bytes[160];
	size_t n;
	size_t claim, applied; /* offsets where the effect begins and is complete */
	uint8_t start[24];     /* of each instruction: its offset */
	unsigned int n_insns;
};

/* Begins an instruction with these bytes. put32() and put_call_target() continue it. */
#define PUT(c, ...)                                                  \
	do {                                                         \
		const uint8_t bytes_[] = {__VA_ARGS__};              \
		(c)->start[(c)->n_insns++] = (c)->n;                 \
		memcpy((c)->bytes + (c)->n, bytes_, sizeof(bytes_)); \
		(c)->n += sizeof(bytes_);                            \
	} while (0)

/* Continues one. */
static void put8(struct code *c, uint8_t v)
{
	c->bytes[c->n++] = v;
}

static void put32(struct code *c, uint32_t v)
{
	memcpy(c->bytes + c->n, &v, 4);
	c->n += 4;
}

/* A displacement to an address. The code's own address is not known yet, since it depends on the
 * code's length: the position is kept, and the address put in at the end. */
struct fixups {
	struct {
		size_t at;
		uint64_t target;
		bool to_key; /* to the site's key or the slot's end instead */
	} item[8];
	int n;
};

static void put_call_target(struct code *c, struct fixups *f, uint64_t target, bool to_key)
{
	f->item[f->n].at = c->n;
	f->item[f->n].target = target;
	f->item[f->n++].to_key = to_key;
	put32(c, 0);
}

/* Fills the displacements. start: address of the first byte; key: the target of to_key. */
static int apply_fixups(struct code *c, const struct fixups *f, uint64_t start, uint64_t key)
{
	for (int i = 0; i < f->n; i++) {
		uint64_t target = f->item[i].to_key ? key : f->item[i].target;
		int64_t distance = (int64_t)(target - (start + f->item[i].at + 4));
		int32_t rel = (int32_t)distance;

		if (rel != distance)
			return -ERANGE;
		memcpy(c->bytes + f->item[i].at, &rel, 4);
	}
	return 0;
}

/* Returns the prefix that can be repeated before the instruction without effect; 0: none can. */
static uint8_t prefix_of(const uint8_t *insn)
{
	if (insn[0] == PREFIX_FS || insn[0] == PREFIX_CS)
		return insn[0];
	return insn[0] == 0x4c && insn[1] == 0x8d ? PREFIX_CS : 0; /* lea */
}

/* Inserts a prefix into instruction number k. */
static void insert_prefix(struct code *c, struct fixups *f, unsigned int k, uint8_t prefix)
{
	size_t at = c->start[k];

	memmove(c->bytes + at + 1, c->bytes + at, c->n - at);
	c->bytes[at] = prefix;
	c->n++;
	for (unsigned int i = k + 1; i < c->n_insns; i++)
		c->start[i]++;
	for (int i = 0; i < f->n; i++)
		f->item[i].at += f->item[i].at > at;
	c->claim += c->claim > at;
	c->applied += c->applied > at;
}

/*
 * Makes the code up to `room` bytes long by prefixes without effect, if there is no need for nops
 * then. The prefixes are spread over the instructions.
 */
static void stretch(struct code *c, struct fixups *f, size_t room)
{
	size_t possible = 0;

	for (unsigned int k = 0; k < c->n_insns; k++) {
		size_t end = k + 1 < c->n_insns ? c->start[k + 1] : c->n;

		if (prefix_of(c->bytes + c->start[k]))
			possible += INSN_MAX - (end - c->start[k]);
	}
	if (c->n + possible < room)
		return;
	while (c->n < room) {
		for (unsigned int k = 0; k < c->n_insns && c->n < room; k++) {
			size_t end = k + 1 < c->n_insns ? c->start[k + 1] : c->n;
			uint8_t prefix = prefix_of(c->bytes + c->start[k]);

			if (prefix && end - c->start[k] < INSN_MAX)
				insert_prefix(c, f, k, prefix);
		}
	}
}

/* Fills bytes that do nothing. */
static void fill(uint8_t *code, size_t n)
{
	if (n > NOPS_MAX) {
		code[0] = 0xeb; /* jmp */
		code[1] = n - 2;
		code += 2;
		n -= 2;
	}
	x86_fill_nops(code, n);
}

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

/* ---- forms ----------------------------------------------------------------------- */

/*
 * Adds or subtracts value. sub: 0x28 for the modrm's reg field, or 0 to add. Constants and prefixes
 * are longer than necessary, since the slot has the room and each saved nop is one instruction
 * less.
 */
static void put_arith(struct code *c, struct fixups *f, const struct patch_page *page,
		      uint64_t value, uint8_t sub)
{
	bool upper = value >> 31;
	uint32_t imm = upper ? value >> 32 : value;
	uint8_t at = PAGE_ID + (upper ? 4 : 0);

	if (page->executable) {
		PUT(c, 0x64, upper ? REX : REX_W, 0x81, 0x04 | sub,
		    0x25); /* add/sub imm, %fs:D+id */
		put32(c, page->offset + at);
	} else {
		PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
		put_call_target(c, f, page->got, false);
		PUT(c, 0x64, upper ? 0x41 : 0x49, 0x81, 0x43 | sub,
		    at); /* add/sub imm, %fs:id(%r11) */
	}
	put32(c, imm);
}

static void put_ext_before(struct code *c, struct fixups *f, const struct patch_page *page,
			   uint64_t key)
{
	if (page->executable) {
		PUT(c, 0x64, REX, 0xc7, 0x04, 0x25); /* movl $key, %fs:D+ext */
		put32(c, page->offset + PAGE_EXT);
		put32(c, key);
		return;
	}
	PUT(c, 0x4c, 0x8d, 0x1d); /* lea key(%rip), %r11 */
	put_call_target(c, f, 0, true);
	PUT(c, 0x4c, 0x8b, 0x15); /* mov G(%rip), %r10 */
	put_call_target(c, f, page->got, false);
	PUT(c, 0x64, 0x4d, 0x89, 0x5a, PAGE_EXT); /* mov %r11, %fs:ext(%r10) */
}

static void put_ext_after(struct code *c, struct fixups *f, const struct patch_page *page)
{
	if (page->executable) {
		PUT(c, 0x64, REX, 0xc7, 0x04, 0x25); /* movl $0, %fs:D+ext */
		put32(c, page->offset + PAGE_EXT);
	} else {
		PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
		put_call_target(c, f, page->got, false);
		PUT(c, 0x64, 0x49, 0xc7, 0x43, PAGE_EXT); /* movq $0, %fs:ext(%r11) */
	}
	put32(c, 0);
}

static void put_set_id(struct code *c, struct fixups *f, const struct patch_page *page, uint32_t id)
{
	if (page->executable) {
		PUT(c, 0x64, REX_W, 0xc7, 0x04, 0x25); /* movq $id, %fs:D+id */
		put32(c, page->offset + PAGE_ID);
	} else {
		PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
		put_call_target(c, f, page->got, false);
		PUT(c, 0x64, 0x49, 0xc7, 0x43, PAGE_ID); /* movq $id, %fs:id(%r11) */
	}
	put32(c, id);
}

static void put_helper(struct code *c, struct fixups *f, uint64_t helper)
{
	PUT(c, 0x4c, 0x8d, 0x1d); /* lea key-or-end(%rip), %r11 */
	put_call_target(c, f, 0, true);
	PUT(c, 0xe8); /* call helper */
	put_call_target(c, f, helper, false);
}

static void put_inline_push(struct code *c, struct fixups *f, const struct patch_page *page,
			    const struct callgraph_site *s)
{
	int32_t d = page->offset;

	PUT(c, 0x4c, 0x8d, 0x1d); /* lea key(%rip), %r11 */
	put_call_target(c, f, 0, true);
	PUT(c, 0x64, 0x44, 0x8b, 0x14, 0x25); /* mov %fs:D+off, %r10d */
	put32(c, d + PAGE_OFF);
	PUT(c, 0x41, 0xf7, 0xc2); /* test $slow, %r10d */
	put32(c, PCCE_OFF_SLOW);
	PUT(c, 0x0f, 0x85); /* jne push_slow */
	put_call_target(c, f, page->push_slow, false);
	PUT(c, 0x64, 0x83, 0x04, 0x25); /* addl $16, %fs:D+off */
	put32(c, d + PAGE_OFF);
	put8(c, 16);
	c->claim = c->n;
	PUT(c, 0x64, 0x4d, 0x89, 0x9a); /* mov %r11, %fs:D+new.site(%r10) */
	put32(c, d + PAGE_ENTRY + 8);
	if (s->id_is_zero) {
		PUT(c, 0x64, 0x49, 0xc7, 0x82); /* movq $0, %fs:D+new.id(%r10) */
		put32(c, d + PAGE_ENTRY);
		put32(c, 0);
		return;
	}
	PUT(c, 0x64, 0x4c, 0x8b, 0x1c, 0x25); /* mov %fs:D+id, %r11 */
	put32(c, d + PAGE_ID);
	PUT(c, 0x64, 0x4d, 0x89, 0x9a); /* mov %r11, %fs:D+new.id(%r10) */
	put32(c, d + PAGE_ENTRY);
	if (s->clears)
		put_set_id(c, f, page, 0);
}

static void put_inline_pop(struct code *c, struct fixups *f, const struct patch_page *page,
			   const struct callgraph_site *s)
{
	int32_t d = page->offset;

	PUT(c, 0x4c, 0x8d, 0x1d); /* lea end(%rip), %r11 */
	put_call_target(c, f, 0, true);
	PUT(c, 0x64, 0x44, 0x8b, 0x14, 0x25); /* mov %fs:D+off, %r10d */
	put32(c, d + PAGE_OFF);
	PUT(c, 0x64, 0x66, 0x41, 0x83, 0xba); /* cmpw $0, %fs:D+top.count(%r10) */
	put32(c, d + TOP + 14);
	put8(c, 0);
	PUT(c, 0x0f, 0x85); /* jne pop_slow */
	put_call_target(c, f, page->pop_slow, false);
	if (s->id_is_zero) {
		put_set_id(c, f, page, 0);
	} else {
		PUT(c, 0x64, 0x4d, 0x8b, 0x92); /* mov %fs:D+top.id(%r10), %r10 */
		put32(c, d + TOP);
		PUT(c, 0x64, 0x4c, 0x89, 0x14, 0x25); /* mov %r10, %fs:D+id */
		put32(c, d + PAGE_ID);
	}
	PUT(c, 0x64, 0x83, 0x2c, 0x25); /* subl $16, %fs:D+off */
	put32(c, d + PAGE_OFF);
	put8(c, 16);
}

/*
 * The same in a shared library. Two registers must hold the key, the page's offset and that of the
 * entry, so two of them are loaded again.
 */
static void put_inline_push_pic(struct code *c, struct fixups *f, const struct patch_page *page,
				const struct callgraph_site *s)
{
	PUT(c, 0x4c, 0x8b, 0x15); /* mov G(%rip), %r10 */
	put_call_target(c, f, page->got, false);
	PUT(c, 0x4c, 0x8d, 0x1d); /* lea key(%rip), %r11 */
	put_call_target(c, f, 0, true);
	PUT(c, 0x64, 0x41, 0xf7, 0x42, PAGE_OFF); /* testl $slow, %fs:off(%r10) */
	put32(c, PCCE_OFF_SLOW);
	PUT(c, 0x0f, 0x85); /* jne push_slow */
	put_call_target(c, f, page->push_slow, false);
	PUT(c, 0x64, 0x41, 0x83, 0x42, PAGE_OFF, 16); /* addl $16, %fs:off(%r10) */
	c->claim = c->n;
	PUT(c, 0x64, 0x45, 0x8b, 0x5a, PAGE_OFF); /* mov %fs:off(%r10), %r11d */
	PUT(c, 0x4d, 0x01, 0xd3);		  /* add %r10, %r11 */
	if (s->id_is_zero) {
		PUT(c, 0x64, 0x49, 0xc7, 0x43, TOP); /* movq $0, %fs:top.id(%r11) */
		put32(c, 0);
	} else {
		PUT(c, 0x64, 0x4d, 0x8b, 0x52, PAGE_ID); /* mov %fs:id(%r10), %r10 */
		PUT(c, 0x64, 0x4d, 0x89, 0x53, TOP);	 /* mov %r10, %fs:top.id(%r11) */
	}
	PUT(c, 0x4c, 0x8d, 0x15); /* lea key(%rip), %r10 */
	put_call_target(c, f, 0, true);
	PUT(c, 0x64, 0x4d, 0x89, 0x53, TOP + 8); /* mov %r10, %fs:top.site(%r11) */
}

static void put_inline_pop_pic(struct code *c, struct fixups *f, const struct patch_page *page,
			       const struct callgraph_site *s)
{
	PUT(c, 0x4c, 0x8b, 0x15); /* mov G(%rip), %r10 */
	put_call_target(c, f, page->got, false);
	PUT(c, 0x64, 0x45, 0x8b, 0x52, PAGE_OFF); /* mov %fs:off(%r10), %r10d */
	PUT(c, 0x4c, 0x03, 0x15);		  /* add G(%rip), %r10 */
	put_call_target(c, f, page->got, false);
	PUT(c, 0x4c, 0x8d, 0x1d); /* lea end(%rip), %r11 */
	put_call_target(c, f, 0, true);
	PUT(c, 0x64, 0x66, 0x41, 0x83, 0x7a, TOP + 14, 0); /* cmpw $0, %fs:top.count(%r10) */
	PUT(c, 0x0f, 0x85);				   /* jne pop_slow */
	put_call_target(c, f, page->pop_slow, false);
	if (s->id_is_zero) {
		put_set_id(c, f, page, 0); /* and G in %r11 */
	} else {
		PUT(c, 0x64, 0x4d, 0x8b, 0x52, TOP); /* mov %fs:top.id(%r10), %r10 */
		PUT(c, 0x4c, 0x8b, 0x1d);	     /* mov G(%rip), %r11 */
		put_call_target(c, f, page->got, false);
		PUT(c, 0x64, 0x4d, 0x89, 0x53, PAGE_ID); /* mov %r10, %fs:id(%r11) */
	}
	PUT(c, 0x64, 0x41, 0x83, 0x6b, PAGE_OFF, 16); /* subl $16, %fs:off(%r11) */
}

/*
 * Lets a function that was called as a leaf callee, with ext set, go through __pcce_leaf. If that
 * is impossible (stack), the function keeps the id.
 */
static void put_leaf_check(struct code *c, struct fixups *f, const struct patch_page *page,
			   bool stack)
{
	const uint8_t set_length = page->executable ? 13 : 16;

	if (page->executable) {
		PUT(c, 0x64, REX_W, 0x83, 0x3c, 0x25); /* cmpq $0, %fs:D+ext */
		put32(c, page->offset + PAGE_EXT);
		put8(c, 0);
	} else {
		PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
		put_call_target(c, f, page->got, false);
		PUT(c, 0x64, 0x49, 0x83, 0x7b, PAGE_EXT, 0); /* cmpq $0, %fs:ext(%r11) */
	}
	if (stack) {
		PUT(c, 0x75, set_length); /* jne behind */
		return;
	}
	PUT(c, 0x4c, 0x8d, 0x1d, 6, 0, 0, 0); /* lea 1f(%rip), %r11 */
	PUT(c, 0x0f, 0x85);		      /* jne __pcce_leaf; 1: */
	put_call_target(c, f, page->leaf, false);
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
		put_arith(c, &f, page, value, 0);
		break;
	case PCCE_KIND_EXT:
		if (page->executable && key >> 32)
			return -ERANGE;
		put_ext_before(c, &f, page, key);
		break;
	case PCCE_KIND_PUSH:
		room = s->before_len - (spill ? PCCE_SLOT_SPILL_REGS : 0);
		if (page->no_inline)
			put_helper(c, &f, page->push);
		else if (page->executable &&
			 room >= (s->clears ? PCCE_SLOT_PUSH_CLEAR : PCCE_SLOT_PUSH))
			put_inline_push(c, &f, page, s);
		else if (!page->executable && !s->clears && room >= PCCE_SLOT_PUSH_PIC)
			put_inline_push_pic(c, &f, page, s);
		else
			put_helper(c, &f, page->push);
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
	if (c->n > s->before_len)
		return -ENOSPC;
	stretch(c, &f, s->before_len);
	size_t pad = s->before_len - c->n;

	if (apply_fixups(c, &f, s->before + pad, key))
		return -ERANGE;
	fill(patch->before, pad);
	memcpy(patch->before + pad, c->bytes, c->n);
	out->key = key;
	out->before = key - s->before;
	out->ret = s->after - key;
	if (kind != PCCE_KIND_NONE) {
		out->claim = pad + c->claim;
		out->applied = pad + c->applied;
	}
	return 0;
}

static int make_after(const struct patch_page *page, const struct callgraph_site *s,
		      enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
		      struct pcce_table_site *out, struct code *c)
{
	struct fixups f = {};

	out->after_len = s->after_len;
	if (s->after_len) {
		switch (kind) {
		case PCCE_KIND_ADD:
			put_arith(c, &f, page, value, 0x28);
			break;
		case PCCE_KIND_EXT:
			/*
			 * setjmp and similar functions keep ext: it still names this site, which
			 * distinguishes the first return from a jump (docs/slots.md).
			 */
			if (!(s->flags & PCCE_SITE_RETURNS_TWICE))
				put_ext_after(c, &f, page);
			break;
		case PCCE_KIND_PUSH:
			if (page->no_inline)
				put_helper(c, &f, page->pop);
			else if (page->executable && s->after_len >= PCCE_SLOT_POP)
				put_inline_pop(c, &f, page, s);
			else if (!page->executable && s->after_len >= PCCE_SLOT_POP_PIC)
				put_inline_pop_pic(c, &f, page, s);
			else
				put_helper(c, &f, page->pop);
			break;
		default:
			break;
		}
	}
	if (c->n > s->after_len)
		return -ENOSPC;
	stretch(c, &f, s->after_len);
	if (apply_fixups(c, &f, s->after, s->after + s->after_len))
		return -ERANGE;
	memcpy(patch->after, c->bytes, c->n);
	fill(patch->after + c->n, s->after_len - c->n);
	out->undone = c->n;
	return 0;
}

/* cmp %r11, OPERAND */
static void put_compare(struct code *c, struct fixups *f, const struct x86_operand *o)
{
	PUT(c, 0x4c | o->rex, 0x39, o->bytes[0] | 3 << 3);
	if (o->relative) {
		put_call_target(c, f, o->target, false);
		return;
	}
	for (int i = 1; i < o->n; i++)
		put8(c, o->bytes[i]);
}

/* The guard, and a push by helper where it fails. The distances of the two short jumps follow. */
static int make_guarded_before(const struct patch_page *page, const struct callgraph_site *s,
			       const struct x86_operand *operand, uint64_t pointer, uint64_t target,
			       enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
			       struct pcce_table_site *out, struct pcce_table_site *guard)
{
	uint64_t key = s->before + s->before_len, end = s->after + s->after_len, base;
	size_t miss_jump, begin, call, back, end_jump, undone, miss;
	struct fixups f = {};
	struct code c = {};
	int own_key;

	PUT(&c, 0x4c, 0x8d, 0x1d); /* lea function(%rip), %r11 */
	put_call_target(&c, &f, pointer, false);
	put_compare(&c, &f, operand);
	PUT(&c, 0x75, 0); /* jne miss */
	miss_jump = begin = c.n;
	own_key = f.n;
	if (kind == PCCE_KIND_ADD)
		put_arith(&c, &f, page, value, 0);
	else if (kind == PCCE_KIND_EXT)
		put_ext_before(&c, &f, page, 0); /* the key follows */
	call = c.n;
	PUT(&c, 0xe8); /* call function */
	put_call_target(&c, &f, target, false);
	back = c.n;
	if (kind == PCCE_KIND_ADD)
		put_arith(&c, &f, page, value, 0x28);
	else if (kind == PCCE_KIND_EXT)
		put_ext_after(&c, &f, page);
	undone = c.n;
	PUT(&c, 0xeb, 0); /* jmp end */
	end_jump = miss = c.n;
	put_helper(&c, &f, page->push);
	base = key - c.n;
	if (c.n > s->before_len || end - (base + end_jump) > 127)
		return -ERANGE;
	c.bytes[miss_jump - 1] = miss - miss_jump;
	c.bytes[end_jump - 1] = end - (base + end_jump);
	if (kind == PCCE_KIND_EXT && page->executable) {
		uint32_t own = base + call;

		if ((base + call) >> 32)
			return -ERANGE;
		memcpy(c.bytes + call - sizeof(own), &own, sizeof(own));
	} else if (kind == PCCE_KIND_EXT) {
		f.item[own_key].to_key = false;
		f.item[own_key].target = base + call;
	}
	if (apply_fixups(&c, &f, base, key))
		return -ERANGE;
	fill(patch->before, s->before_len - c.n);
	memcpy(patch->before + s->before_len - c.n, c.bytes, c.n);
	out->key = key;
	out->before = c.n - miss;
	out->ret = s->after - key;
	out->claim = out->applied = c.n - miss;
	guard->key = base + call;
	guard->before = call - begin;
	guard->ret = back - call;
	guard->claim = guard->applied = call - begin;
	guard->undone = guard->after_len = undone - back;
	return 0;
}

int patch_make_guarded(const struct patch_page *page, const struct elf_module *m,
		       const struct callgraph_site *s, const char *func, uint64_t pointer,
		       uint64_t target, enum pcce_site_kind kind, uint64_t value,
		       struct patch_slots *patch, struct pcce_table_site *out,
		       struct pcce_table_site *guard, struct error *why)
{
	uint64_t at = s->before + s->before_len;
	const uint8_t *code = elf_module_at(m, at, s->after - at);
	struct x86_operand operand;
	struct code after = {};
	int err;

	err = code && x86_decode_indirect_call(code, s->after - at, at, &operand) ? 0 : -EINVAL;
	if (!err)
		err = make_guarded_before(page, s, &operand, pointer, target, kind, value, patch,
					  out, guard);
	err = err ? err : make_after(page, s, PCCE_KIND_PUSH, 0, patch, out, &after);
	return err ? error_set(why, -EINVAL,
			       "is too large: code of '%s' is more than 2 GiB away from the "
			       "runtime",
			       func)
		   : 0;
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
	struct code before = {}, after = {};
	int err;

	if (kind == PCCE_KIND_TAIL || kind == PCCE_KIND_RESTORE) {
		if (s->before_len || s->after_len)
			return error_set(
				why, -EINVAL,
				"has damaged site records: a jump in '%s' (line %u) has slots",
				func, s->line);
		out->key = s->before;
		out->ret = s->after - s->before;
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
		err = make_after(page, s, kind, value, patch, out, &after);
	if (err == -ENOSPC)
		return refuse_small_slot(s, func, after.n, s->after_len, why);
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
	return 0;
}

/* ---- entries --------------------------------------------------------------------- */

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

	if (f->block_flags & PCCE_BLOCK_LEAF)
		put_leaf_check(&c, &fixups, page, f->block_flags & PCCE_BLOCK_STACK);
	put_set_id(&c, &fixups, page, start);
	if (!slot || c.n > f->entry_len || !x86_only_nops(slot, f->entry_len))
		return error_set(why, -EINVAL,
				 "has an entry slot in '%s' that is not empty or too small, since "
				 "it is damaged or has lost its encoding table; link it again",
				 f->name);
	/* The short jump of the second kind of check has a fixed distance. */
	if (!(f->block_flags & PCCE_BLOCK_LEAF && f->block_flags & PCCE_BLOCK_STACK))
		stretch(&c, &fixups, f->entry_len);
	pad = f->entry_len - c.n;
	if (apply_fixups(&c, &fixups, f->addr + f->entry + pad, 0))
		return error_set(why, -EINVAL,
				 "is too large: '%s' is more than 2 GiB away from its data",
				 f->name);
	fill(image + (slot - m->image), pad);
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
