/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Builds the code of slots: see patch_code.h. */
#include <errno.h>
#include "encode/patch_code.h"
#include "elf/x86.h"

void code_put8(struct code *c, uint8_t v)
{
	c->bytes[c->n++] = v;
}

void code_put32(struct code *c, uint32_t v)
{
	memcpy(c->bytes + c->n, &v, 4);
	c->n += 4;
}

void code_put_target(struct code *c, struct fixups *f, uint64_t target, bool to_key)
{
	f->item[f->n].at = c->n;
	f->item[f->n].target = target;
	f->item[f->n++].to_key = to_key;
	code_put32(c, 0);
}

int code_apply_fixups(struct code *c, const struct fixups *f, uint64_t start, uint64_t key)
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

void code_stretch(struct code *c, struct fixups *f, size_t room)
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

void code_fill(uint8_t *code, size_t n)
{
	if (n > NOPS_MAX) {
		code[0] = 0xeb; /* jmp */
		code[1] = n - 2;
		code += 2;
		n -= 2;
	}
	x86_fill_nops(code, n);
}

void code_put_arith(struct code *c, struct fixups *f, const struct patch_page *page, uint64_t value,
		    uint8_t sub)
{
	bool upper = value >> 31;
	uint32_t imm = upper ? value >> 32 : value;
	uint8_t at = PAGE_ID + (upper ? 4 : 0);

	if (page->executable) {
		PUT(c, 0x64, upper ? REX : REX_W, 0x81, 0x04 | sub,
		    0x25); /* add/sub imm, %fs:D+id */
		code_put32(c, page->offset + at);
	} else {
		PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
		code_put_target(c, f, page->got, false);
		PUT(c, 0x64, upper ? 0x41 : 0x49, 0x81, 0x43 | sub,
		    at); /* add/sub imm, %fs:id(%r11) */
	}
	code_put32(c, imm);
}

void code_put_ext_before(struct code *c, struct fixups *f, const struct patch_page *page,
			 uint64_t key)
{
	if (page->executable) {
		PUT(c, 0x64, REX, 0xc7, 0x04, 0x25); /* movl $key, %fs:D+ext */
		code_put32(c, page->offset + PAGE_EXT);
		code_put32(c, key);
		return;
	}
	PUT(c, 0x4c, 0x8d, 0x1d); /* lea key(%rip), %r11 */
	code_put_target(c, f, 0, true);
	PUT(c, 0x4c, 0x8b, 0x15); /* mov G(%rip), %r10 */
	code_put_target(c, f, page->got, false);
	PUT(c, 0x64, 0x4d, 0x89, 0x5a, PAGE_EXT); /* mov %r11, %fs:ext(%r10) */
}

void code_put_ext_after(struct code *c, struct fixups *f, const struct patch_page *page)
{
	if (page->executable) {
		PUT(c, 0x64, REX, 0xc7, 0x04, 0x25); /* movl $0, %fs:D+ext */
		code_put32(c, page->offset + PAGE_EXT);
	} else {
		PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
		code_put_target(c, f, page->got, false);
		PUT(c, 0x64, 0x49, 0xc7, 0x43, PAGE_EXT); /* movq $0, %fs:ext(%r11) */
	}
	code_put32(c, 0);
}

void code_put_set_id(struct code *c, struct fixups *f, const struct patch_page *page, uint32_t id)
{
	if (page->executable) {
		PUT(c, 0x64, REX_W, 0xc7, 0x04, 0x25); /* movq $id, %fs:D+id */
		code_put32(c, page->offset + PAGE_ID);
	} else {
		PUT(c, 0x4c, 0x8b, 0x1d); /* mov G(%rip), %r11 */
		code_put_target(c, f, page->got, false);
		PUT(c, 0x64, 0x49, 0xc7, 0x43, PAGE_ID); /* movq $id, %fs:id(%r11) */
	}
	code_put32(c, id);
}

void code_put_if_explicit(struct code *c, const struct patch_page *page)
{
	PUT(c, 0x64, 0x83, 0x3c, 0x25); /* cmpl $0, %fs:D+id's upper half */
	code_put32(c, page->offset + PAGE_ID + 4);
	code_put8(c, 0);
	PUT(c, 0x74, 13); /* je behind the addition */
}

void code_put_offset(struct code *c, const struct patch_page *page, bool back)
{
	PUT(c, 0x64, back ? 0x01 : 0x29, 0x24, 0x25); /* sub or add %esp, %fs:D+id */
	code_put32(c, page->offset + PAGE_ID);
}

void code_put_base(struct code *c, const struct patch_page *page)
{
	PUT(c, 0x41, 0x89, 0xe3);	      /* mov %esp, %r11d */
	PUT(c, 0x64, 0x4c, 0x89, 0x1c, 0x25); /* mov %r11, %fs:D+id */
	code_put32(c, page->offset + PAGE_ID);
}

void code_put_helper(struct code *c, struct fixups *f, uint64_t where, uint64_t helper)
{
	PUT(c, 0x4c, 0x8d, 0x1d); /* lea key-or-end(%rip), %r11 */
	code_put_target(c, f, where, !where);
	PUT(c, 0xe8); /* call helper */
	code_put_target(c, f, helper, false);
}

void code_put_inline_push(struct code *c, struct fixups *f, const struct patch_page *page,
			  const struct callgraph_site *s)
{
	int32_t d = page->offset;

	PUT(c, 0x4c, 0x8d, 0x1d); /* lea key(%rip), %r11 */
	code_put_target(c, f, 0, true);
	PUT(c, 0x64, 0x44, 0x8b, 0x14, 0x25); /* mov %fs:D+off, %r10d */
	code_put32(c, d + PAGE_OFF);
	PUT(c, 0x41, 0xf7, 0xc2); /* test $slow, %r10d */
	code_put32(c, PCCE_OFF_SLOW);
	PUT(c, 0x0f, 0x85); /* jne push_slow */
	code_put_target(c, f, page->push_slow, false);
	PUT(c, 0x64, 0x83, 0x04, 0x25); /* addl $16, %fs:D+off */
	code_put32(c, d + PAGE_OFF);
	code_put8(c, 16);
	c->claim = c->n;
	PUT(c, 0x64, 0x4d, 0x89, 0x9a); /* mov %r11, %fs:D+new.site(%r10) */
	code_put32(c, d + PAGE_ENTRY + 8);
	if (s->id_is_zero) {
		PUT(c, 0x64, 0x49, 0xc7, 0x82); /* movq $0, %fs:D+new.id(%r10) */
		code_put32(c, d + PAGE_ENTRY);
		code_put32(c, 0);
		return;
	}
	PUT(c, 0x64, 0x4c, 0x8b, 0x1c, 0x25); /* mov %fs:D+id, %r11 */
	code_put32(c, d + PAGE_ID);
	PUT(c, 0x64, 0x4d, 0x89, 0x9a); /* mov %r11, %fs:D+new.id(%r10) */
	code_put32(c, d + PAGE_ENTRY);
	if (s->clears)
		code_put_set_id(c, f, page, 0);
}
