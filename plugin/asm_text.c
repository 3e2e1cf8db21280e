/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits assembler text as insns, and writes the text of a slot.
 *
 * The plugin adds everything to a function as text: labels, nops and site records.  Such an insn
 * is a volatile asm without operands.
 */
#include "internal.h"

/*
 * Returns the pattern of an insn with this text. For branch shortening, GCC counts 128 bytes per
 * line, as for any asm. A line of a slot is always shorter. Lines in other sections are counted
 * too, which only makes the estimate of distances more careful.
 */
rtx asm_text(const char *text)
{
	/* final looks up the file of this location, so the location must have one. */
	rtx body = gen_rtx_ASM_INPUT_loc(VOIDmode, ggc_strdup(text), BUILTINS_LOCATION);

	MEM_VOLATILE_P(body) = 1;
	return body;
}

static rtx_insn *finish_asm(rtx_insn *insn)
{
	/* Otherwise a volatile asm can throw with -fnon-call-exceptions. */
	make_reg_eh_region_note_nothrow_nononlocal(insn);
	return insn;
}

rtx_insn *asm_text_before(const char *text, rtx_insn *insn, location_t location)
{
	return finish_asm(emit_insn_before_setloc(asm_text(text), insn, location));
}

rtx_insn *asm_text_after(const char *text, rtx_insn *insn, location_t location)
{
	return finish_asm(emit_insn_after_setloc(asm_text(text), insn, location));
}

/* The assembler's .nops would jump over a long slot, and its choice of nops depends on -march. */
void slot_print(char *text, size_t size, char kind, unsigned int label, unsigned int bytes)
{
	static const char *const nops[] = {
		"",
		"0x90",
		"0x66,0x90",
		"0xf,0x1f,0",
		"0xf,0x1f,0x40,0",
		"0xf,0x1f,0x44,0,0",
		"0x66,0xf,0x1f,0x44,0,0",
		"0xf,0x1f,0x80,0,0,0,0",
		"0xf,0x1f,0x84,0,0,0,0,0",
		"0x66,0xf,0x1f,0x84,0,0,0,0,0",
	};
	const unsigned int longest = ARRAY_SIZE(nops) - 1;
	int length = snprintf(text, size, ".Lpcce_%c%u:%s", kind, label, bytes ? " .byte " : "");

	gcc_assert(bytes <= SLOT_BYTES_MAX);
	while (bytes) {
		unsigned int n = MIN(bytes, longest);

		bytes -= n;
		length += snprintf(text + length, size - length, "%s%s", nops[n], bytes ? "," : "");
		gcc_assert((size_t)length < size);
	}
}
