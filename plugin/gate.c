/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits the gate of an exported function of a shared library.
 *
 * A call of such a function from its own library goes through the procedure linkage table, since
 * another module may define a function of that name. If none does, the call stays in the library.
 * pcce-encode leads these calls to the gate, which finds out once, as lazy binding does:
 *
 *	.section .data.rel.local.pcce7
 *	.Lpcce_p7:	.quad .Lpcce_t7		the gate's pointer
 *
 *	.subsection 1			behind the code of the unit, in the same section
 *	.balign	16
 *	.Lpcce_s7:	notrack jmp *.Lpcce_p7(%rip)
 *	.Lpcce_t7:	.byte ...	30 bytes of nops: compares the GOT slot with f, and lets
 *					the pointer lead to f if they are equal
 *		jmp	f		equal
 *	1:	push	%r11		different: an ordinary call, since it must be a push
 *	.Lpcce_b7: .byte ...		13 bytes of nops, as before any call
 *		.byte	...		6 bytes of nops: the call, through the linkage table
 *	.Lpcce_a7: .byte ...		13 bytes of nops, as after any call
 *		pop	%r11
 *		ret
 *
 * So the gate is a function that tail-calls f, or calls what replaces it. It has a block of its
 * own, with these two sites. Until pcce-encode has filled it nothing leads there.
 *
 * The frame comes between a caller and the function that replaces f. So functions have no gate that
 * look at their caller's frame. If f may receive arguments on the stack, they are copied into the
 * frame first, with n words and, if n is even, one for the alignment:
 *
 *	1:	jmp	3f			in place of push %r11
 *	2:		...			the call and its slots
 *		add	$8 * words, %rsp	in place of pop %r11
 *		ret
 *	3:	push	%r11			if n is even
 *		push	8 * words(%rsp)		n times, from the last word to the first
 *		jmp	2b
 */
#include "internal.h"

#define NAME_SUFFIX "@plt"
#define WORDS_MAX 15 /* whose distances have one byte */

/* Words on the stack that hold arguments. */
static unsigned int words_of_arguments(void)
{
	return (crtl->args.size.to_constant() + 7) / 8;
}

/* Can the arguments be copied? A function with variable arguments does not know how many it has. */
static bool can_copy_arguments(function *fun)
{
	for (tree arg = DECL_ARGUMENTS(fun->decl); arg; arg = DECL_CHAIN(arg))
		if (TYPE_ALIGN(TREE_TYPE(arg)) > 128)
			return false;
	return !fun->stdarg && words_of_arguments() <= WORDS_MAX;
}

static bool gets_gate(function *fun)
{
	return flag_pic && !flag_pie && TREE_PUBLIC(fun->decl) &&
	       DECL_VISIBILITY(fun->decl) == VISIBILITY_DEFAULT && !entry_is_fixed(fun) &&
	       can_copy_arguments(fun) && entry_allows_frame(fun);
}

static void grow_bytes(struct obstack *text, const char *bytes)
{
	obstack_grow(text, "\t.byte ", strlen("\t.byte "));
	obstack_grow(text, bytes, strlen(bytes));
	obstack_1grow(text, '\n');
}

static void grow_slot(struct obstack *text, char kind, unsigned int label, unsigned int bytes)
{
	char line[SLOT_TEXT_BYTES(PCCE_GATE_TEST_BYTES)];

	slot_print(line, sizeof(line), kind, label, bytes);
	obstack_grow(text, line, strlen(line));
	obstack_1grow(text, '\n');
}

/* Each pointer has a section of its own, so that it goes with its function. */
static void grow_pointer(struct obstack *text, unsigned int gate)
{
	sites_grow_printf(text,
			  "\t.pushsection .data.rel.local.pcce%u,\"aw?\",@progbits\n"
			  "\t.balign 8\n.Lpcce_p%u:\t.quad .Lpcce_t%u\n\t.popsection\n",
			  gate, gate, gate);
}

/* The frame is the word of a push, which also aligns the stack, or the arguments. */
static void grow_begin_of_frame(struct obstack *text, unsigned int gate, unsigned int arguments)
{
	if (!arguments) {
		grow_bytes(text, "0x41,0x53");
		sites_grow_printf(text, "\t.cfi_adjust_cfa_offset 8\n");
		return;
	}
	sites_grow_printf(text,
			  "\t.byte 0xeb\n\t.byte .Lpcce_w%u-.-1\n\t.cfi_adjust_cfa_offset %u\n"
			  ".Lpcce_f%u:\n",
			  gate, 8 * (arguments | 1), gate);
}

static void grow_end_of_frame(struct obstack *text, unsigned int arguments)
{
	if (arguments)
		sites_grow_printf(text, "\t.byte 0x48,0x83,0xc4,%u\n", 8 * (arguments | 1));
	else
		grow_bytes(text, "0x41,0x5b");
	sites_grow_printf(text, "\t.cfi_adjust_cfa_offset -%u\n", 8 * (arguments | 1));
	grow_bytes(text, "0xc3");
}

static void grow_copies(struct obstack *text, unsigned int gate, unsigned int arguments)
{
	sites_grow_printf(text, ".Lpcce_w%u:\n", gate);
	if (arguments % 2 == 0)
		grow_bytes(text, "0x41,0x53\n\t.cfi_adjust_cfa_offset 8");
	for (unsigned int i = 0; i < arguments; i++)
		sites_grow_printf(text, "\t.byte 0xff,0x74,0x24,%u\n\t.cfi_adjust_cfa_offset 8\n",
				  8 * (arguments | 1));
	sites_grow_printf(text, "\t.byte 0xeb\n\t.byte .Lpcce_f%u-.-1\n", gate);
}

static void grow_code(struct obstack *text, unsigned int gate, unsigned int function,
		      unsigned int arguments)
{
	obstack_grow(text, "\t.subsection 1\n\t.balign 16\n\t.cfi_startproc\n",
		     strlen("\t.subsection 1\n\t.balign 16\n\t.cfi_startproc\n"));
	sites_grow_printf(text, ".Lpcce_s%u:\t.byte 0x3e,0xff,0x25\n\t.long .Lpcce_p%u-.-4\n", gate,
			  gate);
	grow_slot(text, 't', gate, PCCE_GATE_TEST_BYTES);
	sites_grow_printf(text, "\t.byte 0xe9\n\t.long .Lpcce_s%u-.-4\n", function);
	grow_begin_of_frame(text, gate, arguments);
	grow_slot(text, 'b', gate, PCCE_SLOT_DIRECT);
	grow_slot(text, 'c', gate, PCCE_GATE_CALL_BYTES);
	grow_slot(text, 'a', gate, PCCE_SLOT_DIRECT);
	grow_end_of_frame(text, arguments);
	if (arguments)
		grow_copies(text, gate, arguments);
	sites_grow_printf(text, ".Lpcce_e%u:\n\t.cfi_endproc\n\t.previous\n", gate);
}

void gate_emit(function *fun, unsigned int function)
{
	const unsigned int call = PCCE_GATE_CALL - PCCE_SLOT_DIRECT;
	unsigned int line = LOCATION_LINE(DECL_SOURCE_LOCATION(fun->decl)), gate;
	struct obstack text;
	char *name;

	if (!gets_gate(fun))
		return;
	gate = sites_new_label();
	name = concat(callee_assembler_name(fun->decl), NAME_SUFFIX, NULL);
	obstack_init(&text);
	grow_pointer(&text, gate);
	grow_code(&text, gate, function, words_of_arguments());
	sites_grow_head(&text, gate, gate, sites_section(fun, function), 2, PCCE_BLOCK_GATE, name);
	sites_grow_printf(&text, "\t.long 0,0\n\t.quad 0\n\t.long 0,0\n");
	sites_grow_printf(&text, "\t.long %u,%u\n\t.byte 0,0\n\t.value %u\n\t.long 1024,%u,0,0\n",
			  PCCE_GATE_JUMP, PCCE_GATE_JUMP + PCCE_GATE_JUMP_BYTES,
			  PCCE_SITE_TAIL | PCCE_SITE_PIC, line);
	sites_grow_printf(&text, "\t.long %u,%u\n\t.byte %u,%u\n\t.value %u\n\t.long 0,%u,0,0\n",
			  call, PCCE_GATE_CALL + PCCE_GATE_CALL_BYTES, PCCE_SLOT_DIRECT,
			  PCCE_SLOT_DIRECT, PCCE_SITE_INDIRECT | PCCE_SITE_PIC, line);
	sites_grow_name(&text, name);
	obstack_1grow(&text, 0);
	asm_text_after((char *)obstack_finish(&text), sites_end_of_hot_part(), UNKNOWN_LOCATION);
	obstack_free(&text, NULL);
	free(name);
}
