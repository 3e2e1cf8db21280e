/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a site of inline assembly that calls.
 *
 *	asm volatile("sub $128, %%rsp; call *%0; add $128, %%rsp" : : "r"(f)
 *		     : "memory", "rax", "rcx", ..., "r10", "r11");
 *
 * The whole statement is one site, an indirect call. GCC does not know what it calls, so the site
 * is a push, and whatever it calls begins a segment. Control may take any path between its slots,
 * as long as it leaves at the end.
 *
 * The text of a statement tells whether it calls: it has the word call (or callq) where an
 * instruction begins. A slot must be free to change r10 and r11, like a function. A statement that
 * does not name both as clobbered saves them itself; a statement with the flags as its result needs
 * them after it. Neither can have slots, nor can asm goto. GCC then reports it in a note.
 *
 * A slot may call, so a function with such a statement must not use the red zone. The pass tells
 * GCC that the function is no leaf. It does so as GCC does for calls of TLS descriptors, which are
 * no calls either when stack frames are laid out.
 */
#include "internal.h"

static bool is_separator(char c)
{
	return c == ';' || c == '\n' || c == '{' || c == '|' || c == '}';
}

/* Finds the word with which the next instruction begins, and sets *rest to the text after it.
 * Returns its length, 0 at the end of the text. */
static size_t next_word(const char **rest, const char **word)
{
	const char *p = *rest;
	size_t length;

	while (is_separator(*p) || ISSPACE(*p))
		p++;
	*word = p;
	length = strcspn(p, " \t\n;:{|}");
	*rest = p + length;
	return length;
}

static bool is_word(const char *word, size_t length, const char *what)
{
	return length == strlen(what) && !strncmp(word, what, length);
}

static bool text_calls(const char *text)
{
	const char *word;
	size_t length;

	while ((length = next_word(&text, &word)) || *text) {
		if (is_word(word, length, "call") || is_word(word, length, "callq"))
			return true;
		/* A label or a prefix is not the instruction yet. */
		if (*text == ':') {
			text++;
			continue;
		}
		if (is_word(word, length, "notrack") || is_word(word, length, "bnd"))
			continue;
		text += strcspn(text, ";\n{|}");
	}
	return false;
}

/* Returns the text of inline assembly, or NULL. */
static const char *template_of(rtx_insn *insn)
{
	rtx body;

	if (!INSN_P(insn) || CALL_P(insn))
		return NULL;
	body = PATTERN(insn);
	if (GET_CODE(body) == ASM_INPUT)
		return XSTR(body, 0);
	if (GET_CODE(body) == PARALLEL && GET_CODE(XVECEXP(body, 0, 0)) == ASM_INPUT)
		return XSTR(XVECEXP(body, 0, 0), 0);
	if (asm_noperands(body) >= 0)
		return decode_asm_operands(body, NULL, NULL, NULL, NULL, NULL);
	return NULL;
}

static bool is_calling_asm(rtx_insn *insn)
{
	const char *text = template_of(insn);

	return text && text_calls(text);
}

bool asm_is_in_function(void)
{
	for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
		const char *text = template_of(insn);

		if (text && *text)
			return true;
	}
	return false;
}

static bool sets_register(const_rtx part, unsigned int regno)
{
	return REG_P(XEXP(part, 0)) && REGNO(XEXP(part, 0)) == regno;
}

/* Are r10 and r11 free around the statement, and the flags after it? */
static bool leaves_room(rtx_insn *insn)
{
	const_rtx body = PATTERN(insn);
	unsigned int clobbered = 0;

	if (JUMP_P(insn) || GET_CODE(body) != PARALLEL)
		return false;
	for (int i = 0; i < XVECLEN(body, 0); i++) {
		const_rtx part = XVECEXP(body, 0, i);

		if (GET_CODE(part) == SET && sets_register(part, FLAGS_REG))
			return false;
		if (GET_CODE(part) == CLOBBER)
			clobbered += sets_register(part, R10_REG) || sets_register(part, R11_REG);
	}
	return clobbered == 2;
}

bool asm_is_site(rtx_insn *insn)
{
	return !cfun->machine->frame.red_zone_size && is_calling_asm(insn) && leaves_room(insn);
}

static unsigned int asm_execute(function *fun)
{
	for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
		if (!is_calling_asm(insn))
			continue;
		if (!leaves_room(insn)) {
			inform(INSN_LOCATION(insn),
			       "pcce: cannot encode the call in this %<asm%>, so contexts of what "
			       "it calls are wrong: %<r10%>, %<r11%> and the flags are not free "
			       "around it; name %<r10%> and %<r11%> as clobbered, and use neither "
			       "flag outputs nor labels");
			continue;
		}
		/* GCC needs both: see ix86_current_function_calls_tls_descriptor. */
		fun->machine->tls_descriptor_call_expanded_p = true;
		emit_insn_before(gen_rtx_USE(VOIDmode, stack_pointer_rtx), insn);
	}
	return 0;
}

PCCE_PASS(asm, rtl, "pcce_asm", scope_instrumented, asm_execute);
