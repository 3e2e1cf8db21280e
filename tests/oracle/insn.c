// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Classifies an instruction by its prefixes, one or two bytes of opcode, and modrm.  VEX and EVEX
 * encodings begin with bytes that are no prefixes here (c4, c5, 62), and are all plain.
 */
#include <stdbool.h>
#include "tests/oracle/insn.h"

#define RSP 4

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

static enum insn group5(uint8_t modrm)
{
	switch (modrm >> 3 & 7) {
	case 2:
	case 3:
		return INSN_CALL;
	case 4:
	case 5:
		return INSN_JUMP_FAR;
	default:
		return INSN_PLAIN;
	}
}

static bool is_rsp(unsigned int low, bool extended)
{
	return low == RSP && !extended;
}

enum insn insn_classify(const uint8_t *code, size_t n)
{
	uint8_t rex = 0, op, modrm;
	size_t at = 0;
	bool reg_is_rsp, rm_is_rsp;

	while (at < n && is_prefix(code[at]))
		at++;
	if (at < n && (code[at] & 0xf0) == 0x40)
		rex = code[at++];
	if (at >= n)
		return INSN_PLAIN;
	op = code[at++];
	modrm = at < n ? code[at] : 0;
	reg_is_rsp = is_rsp(modrm >> 3 & 7, rex & 4);
	rm_is_rsp = modrm >> 6 == 3 && is_rsp(modrm & 7, rex & 1);
	switch (op) {
	case 0xe8:
		return INSN_CALL;
	case 0xff:
		return group5(modrm);
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
		return INSN_RETURN;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
	case 0xe9:
	case 0xeb:
		return INSN_JUMP;
	case 0x0f:
		if (modrm == 0x05)
			return INSN_SYSCALL;
		return (modrm & 0xf0) == 0x80 ? INSN_JUMP : INSN_PLAIN;
	case 0x89: /* mov r, r/m */
		return rm_is_rsp ? INSN_LOAD_SP : INSN_PLAIN;
	case 0x8b: /* mov r/m, r */
		return reg_is_rsp ? INSN_LOAD_SP : INSN_PLAIN;
	case 0x87: /* xchg */
		return reg_is_rsp || rm_is_rsp ? INSN_LOAD_SP : INSN_PLAIN;
	case 0x94: /* xchg %rax, %rsp */
	case 0x5c: /* pop %rsp */
		return rex & 1 ? INSN_PLAIN : INSN_LOAD_SP;
	default:
		return (op & 0xf0) == 0x70 ? INSN_JUMP : INSN_PLAIN;
	}
}
