/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes calls and jumps by their forms:
 *
 *   e8 rel32                       call f
 *   ff 15 rel32                    call *f@GOTPCREL(%rip), from -fno-plt
 *   67 e8 rel32                    the same, relaxed by bfd, gold, lld
 *   e8 rel32 90, 90 e8 rel32       the same with bfd's -z call-nop=
 *   e9, eb, ff 25                  the jumps of tail calls; e9 rel32 90: relaxed
 *   0f 80..8f, 70..7f              a conditional tail call
 *   f2 or 3e before                bnd, notrack
 *   66 48 8d 3d .. 66 66 48 e8 ..  the general-dynamic TLS sequence; without 66: the local-dynamic
 *                                  one
 */
#include <string.h>
#include "elf/x86.h"

/*
 * The length limit of an instruction. Only old processors, such as Silvermont and Bulldozer, are
 * slow with many prefixes.
 */
#define NOP_MAX 15
#define NOP_PLAIN 9

static const uint8_t nops[NOP_PLAIN + 1][NOP_PLAIN] = {
	{0},
	{0x90},
	{0x66, 0x90},
	{0x0f, 0x1f, 0x00},
	{0x0f, 0x1f, 0x40, 0x00},
	{0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
	{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
};

uint32_t x86_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

int64_t x86_load_rel32(const uint8_t *p)
{
	return (int32_t)x86_load32(p);
}

/*
 * Returns the length of a memory operand's modrm, sib and displacement; 0 if it is cut off or a
 * register.
 */
static size_t memory_operand_length(const uint8_t *p, size_t n)
{
	size_t length = 1;

	if (!n)
		return 0;
	uint8_t mod = p[0] >> 6, rm = p[0] & 7, base = rm;

	if (mod == 3)
		return 0;
	if (rm == 4) {
		if (n < 2)
			return 0;
		base = p[1] & 7;
		length++;
	}
	if (mod == 1)
		length += 1;
	else if (mod == 2 || base == 5)
		length += 4;
	return length <= n ? length : 0;
}

size_t x86_nop_length(const uint8_t *code, size_t n)
{
	size_t at = 0, operand;

	/* Operand-size and segment prefixes: assemblers write up to eleven. */
	while (at < n && at < 12 && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < n && code[at] == 0x90)
		return at + 1;
	if (n - at < 3 || code[at] != 0x0f || code[at + 1] != 0x1f || (code[at + 2] >> 3 & 7) != 0)
		return 0;
	operand = memory_operand_length(code + at + 2, n - at - 2);
	return operand ? at + 2 + operand : 0;
}

size_t x86_endbr_or_nop_length(const uint8_t *code, size_t n)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	if (n >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		return sizeof(endbr64);
	return x86_nop_length(code, n);
}

bool x86_only_nops(const uint8_t *code, size_t n)
{
	for (size_t at = 0, length; at < n; at += length) {
		length = x86_nop_length(code + at, n - at);
		if (!length)
			return false;
	}
	return true;
}

void x86_fill_nops(uint8_t *code, size_t n)
{
	while (n) {
		/* As few nops as possible, with about equal lengths. */
		size_t count = (n + NOP_MAX - 1) / NOP_MAX, length = (n + count - 1) / count;
		size_t prefixes = length > NOP_PLAIN ? length - NOP_PLAIN : 0;

		memset(code, 0x66, prefixes);
		memcpy(code + prefixes, nops[length - prefixes], length - prefixes);
		code += length;
		n -= length;
	}
}

static bool is_only_filler(const uint8_t *code, size_t n)
{
	for (size_t at = 0, length; at < n; at += length) {
		length = x86_endbr_or_nop_length(code + at, n - at);
		if (!length)
			return false;
	}
	return true;
}

static struct x86_branch branch_at(const uint8_t *code, size_t n, size_t at, size_t length,
				   uint64_t vaddr, enum x86_branch_kind kind, int64_t displacement)
{
	size_t bytes = length > 2 ? 4 : 1;

	if (!is_only_filler(code + at + length, n - at - length))
		return (struct x86_branch){};
	return (struct x86_branch){kind, vaddr + at + length + (uint64_t)displacement,
				   at + length - bytes, bytes};
}

static bool is_branch_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0x3e || byte == 0x2e ||
	       byte == 0x48 || byte == 0x90;
}

struct x86_branch x86_decode_branch(const uint8_t *code, size_t n, uint64_t vaddr, bool jump)
{
	struct x86_branch none = {};
	size_t at = 0;

	/* lea x@tlsgd(%rip), %rdi */
	if (!jump && n >= 8 && code[0] == 0x66 && code[1] == 0x48 && code[2] == 0x8d &&
	    code[3] == 0x3d)
		at = 8;
	else if (!jump && n >= 7 && code[0] == 0x48 && code[1] == 0x8d && code[2] == 0x3d)
		at = 7;
	for (size_t prefixes = 0; at < n && prefixes < 15 && is_branch_prefix(code[at]); prefixes++)
		at++;
	if (n - at >= 5 && code[at] == (jump ? 0xe9 : 0xe8))
		return branch_at(code, n, at, 5, vaddr, X86_TO_ADDRESS,
				 x86_load_rel32(code + at + 1));
	if (n - at >= 6 && code[at] == 0xff && code[at + 1] == (jump ? 0x25 : 0x15))
		return branch_at(code, n, at, 6, vaddr, X86_THROUGH_SLOT,
				 x86_load_rel32(code + at + 2));
	if (!jump)
		return none;
	if (n - at >= 6 && code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80)
		return branch_at(code, n, at, 6, vaddr, X86_TO_ADDRESS,
				 x86_load_rel32(code + at + 2));
	if (n - at >= 2 && (code[at] == 0xeb || (code[at] & 0xf0) == 0x70))
		return branch_at(code, n, at, 2, vaddr, X86_TO_ADDRESS, (int8_t)code[at + 1]);
	return none;
}

bool x86_decode_indirect(const uint8_t *code, size_t n, uint64_t vaddr, bool jump,
			 struct x86_operand *out)
{
	size_t at = 0, length;

	memset(out, 0, sizeof(*out));
	/* bnd, notrack */
	while (at < n && (code[at] == 0xf2 || code[at] == 0x3e))
		at++;
	if (at < n && (code[at] & 0xf0) == 0x40)
		out->rex = code[at++] & 3;
	if (n - at < 2 || code[at] != 0xff || (code[at + 1] >> 3 & 7) != (jump ? 4 : 2))
		return false;
	at++;
	length = code[at] >> 6 == 3 ? 1 : memory_operand_length(code + at, n - at);
	if (!length || length > sizeof(out->bytes) ||
	    !is_only_filler(code + at + length, n - at - length))
		return false;
	memcpy(out->bytes, code + at, length);
	out->bytes[0] &= 0xc7;
	out->n = length;
	out->relative = (code[at] & 0xc7) == 0x05;
	if (out->relative)
		out->target = vaddr + at + length + (uint64_t)x86_load_rel32(code + at + 1);
	return true;
}

bool x86_decode_stub(const uint8_t *code, size_t n, uint64_t vaddr, uint64_t *slot)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;

	if (n >= 4 && !memcmp(code, endbr64, sizeof(endbr64)))
		at += 4;
	/* mold numbers its stubs: mov $n, %r11d */
	if (n - at >= 6 && code[at] == 0x41 && code[at + 1] == 0xbb)
		at += 6;
	if (at < n && (code[at] == 0xf2 || code[at] == 0x3e))
		at++;
	if (n - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	*slot = vaddr + at + 6 + (uint64_t)x86_load_rel32(code + at + 2);
	return true;
}
