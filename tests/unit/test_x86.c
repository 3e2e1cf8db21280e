/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tests the decoding of calls, stubs and nops. */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/tap.h"
#include "elf/x86.h"

#define AT 0x401000

struct form {
	const char *name;
	uint8_t code[24];
	size_t n;
	bool jump;
	enum x86_branch_kind kind;
	uint64_t target;
};

static const struct form forms[] = {
	{"call", {0xe8, 0x10, 0, 0, 0}, 5, false, X86_TO_ADDRESS, AT + 0x15},
	{"call backward", {0xe8, 0xf0, 0xff, 0xff, 0xff}, 5, false, X86_TO_ADDRESS, AT - 11},
	{"call, relaxed from a slot",
	 {0x67, 0xe8, 0x10, 0, 0, 0},
	 6,
	 false,
	 X86_TO_ADDRESS,
	 AT + 0x16},
	{"call; nop", {0xe8, 0x10, 0, 0, 0, 0x90}, 6, false, X86_TO_ADDRESS, AT + 0x15},
	{"nop; call", {0x90, 0xe8, 0x10, 0, 0, 0}, 6, false, X86_TO_ADDRESS, AT + 0x16},
	{"bnd call", {0xf2, 0xe8, 0x10, 0, 0, 0}, 6, false, X86_TO_ADDRESS, AT + 0x16},
	{"call; endbr64",
	 {0xe8, 0x10, 0, 0, 0, 0xf3, 0x0f, 0x1e, 0xfa},
	 9,
	 false,
	 X86_TO_ADDRESS,
	 AT + 0x15},
	{"call through a slot", {0xff, 0x15, 0x10, 0, 0, 0}, 6, false, X86_THROUGH_SLOT, AT + 0x16},
	{"notrack call through a slot",
	 {0x3e, 0xff, 0x15, 0x10, 0, 0, 0},
	 7,
	 false,
	 X86_THROUGH_SLOT,
	 AT + 0x17},
	{"general-dynamic TLS",
	 {0x66, 0x48, 0x8d, 0x3d, 1, 2, 3, 4, 0x66, 0x66, 0x48, 0xe8, 0x10, 0, 0, 0},
	 16,
	 false,
	 X86_TO_ADDRESS,
	 AT + 0x20},
	{"local-dynamic TLS through a slot",
	 {0x48, 0x8d, 0x3d, 1, 2, 3, 4, 0xff, 0x15, 0x10, 0, 0, 0},
	 13,
	 false,
	 X86_THROUGH_SLOT,
	 AT + 0x1d},
	{"jmp", {0xe9, 0x10, 0, 0, 0}, 5, true, X86_TO_ADDRESS, AT + 0x15},
	{"jmp, relaxed from a slot",
	 {0xe9, 0x10, 0, 0, 0, 0x90},
	 6,
	 true,
	 X86_TO_ADDRESS,
	 AT + 0x15},
	{"short jmp", {0xeb, 0xfe}, 2, true, X86_TO_ADDRESS, AT},
	{"jmp through a slot", {0xff, 0x25, 0x10, 0, 0, 0}, 6, true, X86_THROUGH_SLOT, AT + 0x16},
	{"conditional jump", {0x0f, 0x84, 0x10, 0, 0, 0}, 6, true, X86_TO_ADDRESS, AT + 0x16},
	{"short conditional jump", {0x75, 0x10}, 2, true, X86_TO_ADDRESS, AT + 0x12},
	{"a jump is no call", {0xe9, 0x10, 0, 0, 0}, 5, false, X86_NO_BRANCH, 0},
	{"a call is no jump", {0xe8, 0x10, 0, 0, 0}, 5, true, X86_NO_BRANCH, 0},
	{"call through a register", {0xff, 0xd0}, 2, false, X86_NO_BRANCH, 0},
	{"call through memory", {0xff, 0x10}, 2, false, X86_NO_BRANCH, 0},
	{"something behind the call", {0xe8, 0x10, 0, 0, 0, 0xc3}, 6, false, X86_NO_BRANCH, 0},
	{"cut off", {0xe8, 0x10, 0, 0}, 4, false, X86_NO_BRANCH, 0},
	{"nothing", {0}, 0, false, X86_NO_BRANCH, 0},
	{"a relaxed TLS sequence",
	 {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x48, 0x8d, 0x80, 0, 0, 0, 0},
	 16,
	 false,
	 X86_NO_BRANCH,
	 0},
};

static void test_forms(void)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];
		uint8_t *code = malloc(f->n + 1); /* so that a sanitizer sees any byte too far */
		struct x86_branch b;

		code = realloc(code, f->n ? f->n : 1);
		memcpy(code, f->code, f->n);
		b = x86_decode_branch(code, f->n, AT, f->jump);
		tap_ok(b.kind == f->kind && (f->kind == X86_NO_BRANCH || b.target == f->target),
		       f->name, "kind %d, target %#llx", b.kind, (unsigned long long)b.target);
		free(code);
	}
}

static void test_stubs(void)
{
	static const uint8_t plain[] = {0xff, 0x25, 0x10, 0, 0, 0},
			     cet[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0},
			     mold[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 7, 0,
				       0,    0,	   0xff, 0x25, 0x10, 0,	   0, 0},
			     other[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0x25, 0, 0, 0, 0};
	uint64_t slot = 0;

	tap_ok(x86_decode_stub(plain, sizeof(plain), AT, &slot) && slot == AT + 0x16, "stub",
	       "%#llx", (unsigned long long)slot);
	tap_ok(x86_decode_stub(cet, sizeof(cet), AT, &slot) && slot == AT + 0x1b,
	       "stub with endbr64 and bnd", "%#llx", (unsigned long long)slot);
	tap_ok(x86_decode_stub(mold, sizeof(mold), AT, &slot) && slot == AT + 0x20, "numbered stub",
	       "%#llx", (unsigned long long)slot);
	tap_ok(!x86_decode_stub(other, sizeof(other), AT, &slot), "a function is no stub", " ");
	tap_ok(!x86_decode_stub(cet, 8, AT, &slot), "a stub that is cut off", " ");
}

static void test_nops(void)
{
	uint8_t bytes[300];
	bool good = true;

	for (size_t n = 0; n < 128 && good; n++) {
		memset(bytes, 0xcc, sizeof(bytes));
		x86_fill_nops(bytes, n);
		good = x86_only_nops(bytes, n) && bytes[n] == 0xcc &&
		       (n < 2 || !x86_only_nops(bytes, n - 1));
	}
	tap_ok(good, "filled nops are nops, exactly as many bytes as wanted", " ");
	static const uint8_t gas[] = {0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},
			     endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, pause[] = {0xf3, 0x90},
			     code[] = {0x0f, 0x1f, 0xc0}, other[] = {0x0f, 0x1f, 0x08};

	tap_ok(x86_nop_length(gas, sizeof(gas)) == sizeof(gas) &&
		       !x86_nop_length(gas, sizeof(gas) - 1),
	       "an assembler's nop", " ");
	tap_ok(!x86_nop_length(endbr, 4) && x86_endbr_or_nop_length(endbr, 4) == 4,
	       "endbr64 is no nop in a slot", " ");
	tap_ok(!x86_nop_length(pause, 2) && !x86_nop_length(code, 3) && !x86_nop_length(other, 3),
	       "what is no nop", " ");
}

static void test_indirect(void)
{
	static const uint8_t call[] = {0x41, 0xff, 0xd2}, jump[] = {0xff, 0x64, 0xca, 0x08},
			     relative[] = {0xff, 0x25, 0x10, 0, 0, 0};
	struct x86_operand o;

	tap_ok(x86_decode_indirect(call, 3, AT, false, &o) && o.rex == 1 && o.n == 1 &&
		       o.bytes[0] == 0xc2 && !o.relative &&
		       !x86_decode_indirect(call, 3, AT, true, &o),
	       "a call through a register is no jump", " ");
	tap_ok(x86_decode_indirect(jump, 4, AT, true, &o) && !o.rex && o.n == 3 &&
		       !memcmp(o.bytes, "\x44\xca\x08", 3) &&
		       !x86_decode_indirect(jump, 4, AT, false, &o),
	       "a jump through memory is no call", " ");
	tap_ok(x86_decode_indirect(relative, 6, AT, true, &o) && o.relative &&
		       o.target == AT + 0x16,
	       "a jump through memory at a distance", " ");
}

int main(void)
{
	test_forms();
	test_indirect();
	test_stubs();
	test_nops();
	return tap_done();
}
