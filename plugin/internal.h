/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Declares what the plugin's files share.
 *
 * The files, in the order in which a function passes them:
 *
 *   scope.c      which functions are instrumented at all
 *   tailcalls.c  GIMPLE: makes tail calls to leaf library functions ordinary calls
 *   restore.c    GIMPLE: saves and restores the state around non-local entries
 *   types.c      GIMPLE: remembers the types of calls through pointers
 *   asm.c        RTL: inline assembly that calls
 *   clobbers.c   RTL: marks the registers that slots use
 *   freq.c       RTL: records how often each call is executed
 *   slots.c      RTL: finds the calls, puts slots around them
 *   callee.c         what a call calls, and whether that is a leaf
 *   recursion.c      whether a call closes a cycle of the unit's call graph
 *   tail_slot.c      the slot of a tail call through a pointer
 *   entry.c          the slot at a function's entry
 *   split_stack.c        its place in a function of -fsplit-stack
 *   gate.c           the code through which a library calls its own exported functions
 *   stale.c          the code in which the state is stale
 *   sites.c          the records: collects them, and writes a block for each part
 *   asm_text.c       assembler text as insns, and the text of a slot
 *
 * plugin.c registers the passes; inlining.c and warnings.c set options.
 */
#ifndef PCCE_PLUGIN_INTERNAL_H
#define PCCE_PLUGIN_INTERNAL_H

#include "gcc-compat.h"
#include <pcce/sites.h>

#define PCCE_RESTORE_FUNCTION "__pcce_restore"

/* scope.c */
bool scope_instrumented(function *fun);

/* callee.c */
struct callee {
	rtx symbol; /* SYMBOL_REF, or NULL if the call goes through a pointer */
	/* Its declaration, or NULL: then it is one of GCC's own library routines. */
	tree decl;
	const char *name; /* assembler name, or NULL */
	bool indirect;	  /* the instruction itself does not name the callee */
	bool tls;	  /* a __tls_get_addr sequence */
};
void callee_of(rtx_insn *call, struct callee *out);
/* True if the function cannot call back into the program. decl may be NULL. */
bool callee_is_leaf(tree decl, const char *name);
/* Does it throw, or continue to throw? name may be NULL. */
bool callee_throws(const char *name);
/* May others take this function of the unit for a leaf? Because a library has one of that name, or
 * because what they take for a leaf calls it. */
bool callee_replaces_leaf(tree decl, const char *name);
const char *callee_assembler_name(tree decl);

/* inlining.c: call it before anything is compiled, once the options are known. */
void inlining_raise_limits(void);
/* warnings.c: keeps warnings that more inlining brings from being errors. */
void warnings_keep(void);

/* recursion.c: the callback for the beginning of each function's compilation, and its result. */
void recursion_find(void *, void *);
bool recursion_closes_cycle(tree caller, tree callee);

/* asm.c: is the insn inline assembly that calls, and that can have slots? */
bool asm_is_site(rtx_insn *insn);
/* Has the function inline assembly with a text? */
bool asm_is_in_function(void);

/* freq.c: executions of a call per 1,024 entries of the function, and entry_count of struct
 * pcce_site_block. */
unsigned int freq_of(const rtx_insn *call);
uint64_t freq_entry_count(void);
void freq_forget(void);

/* asm_text.c: emit assembler text as an insn before or after insn. text is copied. */
rtx asm_text(const char *text);
rtx_insn *asm_text_before(const char *text, rtx_insn *insn, location_t location);
rtx_insn *asm_text_after(const char *text, rtx_insn *insn, location_t location);
/* Bytes of the largest slot around a call, and room for the text of a slot with this number of
 * bytes. */
#define SLOT_BYTES_MAX (PCCE_SLOT_TYPED + PCCE_SLOT_SPILL_REGS + PCCE_SLOT_HYBRID)
#define SLOT_TEXT_BYTES(bytes) ((bytes)*5 + 64)
/* Writes a slot to text, which has size bytes: the label .Lpcce_<kind><label>, then nops. */
void slot_print(char *text, size_t size, char kind, unsigned int label, unsigned int bytes);

/* entry.c: slots have the room that hybrid encoding needs, and all functions have entry slots
 * (-fplugin-arg-...-hybrid). */
extern bool room_for_hybrid;
/* entry.c: return the size of the function's entry slot, or 0, and add PCCE_BLOCK_* for it; emit
 * the slot with the label .Lpcce_n<label>. */
unsigned int entry_length(function *fun, unsigned int *block_flags);
void entry_emit(unsigned int label, unsigned int length);
/* For restore.c: the function reads its return address or its frame. */
void entry_looks_back(function *fun);
bool entry_has_stack_arguments(function *fun);
/* It has such arguments, or reads its return address or its frame: no frame may come between it and
 * its caller. */
bool entry_needs_frame_of_caller(function *fun);
/* May a frame, with a call of the same signature, come between its caller and it, if it has no
 * arguments on the stack, or copies of them are in that frame? */
bool entry_allows_frame(function *fun);

/* There is code at the entry that no call may skip. */
bool entry_is_fixed(function *fun);

/* split_stack.c: split_stack_begin() finds the entry slot's place in a function that checks its
 * stack, and the first and last insn of the stale code before it; false if there is no check.
 * split_stack_entry() returns the insn before that place, or NULL.  keep_r11: r11 is live there,
 * and r10 is not. */
bool split_stack_begin(rtx_insn **stale, rtx_insn **stale_end);
rtx_insn *split_stack_entry(bool *keep_r11);

/* gate.c: emits the gate of a function behind its hot part, with a block, if it gets one. function
 * is the number of the function's label .Lpcce_s. */
void gate_emit(function *fun, unsigned int function);

/* sites.c */
struct site {
	unsigned int label; /* number of its two labels */
	bool cold;	    /* in the cold part */
	unsigned int before_len, after_len;
	unsigned int flags; /* PCCE_SITE_* */
	unsigned int freq;
	/* The landing pad of its exceptions. Of a stretch: the only landing pad that leads here. 0:
	 * none. */
	int pad;
	bool is_pad;	     /* the stretch begins with that landing pad */
	location_t location; /* with the inlined block */
	const void *callee;  /* equal for equal callees */
	uint32_t type;	     /* of a call through a pointer; 0: not known */
};
/* tail_slot.c: does the tail call get a slot? Writes it to text, which has size bytes. */
bool tail_slot_fits(function *fun, const struct site *site);
void tail_slot_print(char *text, size_t size, unsigned int label);

void sites_begin(void);
void sites_add(const struct site *site);
unsigned int sites_new_label(void);
/* Emits all blocks of the function. No instruction may be added after that, except behind the
 * function. Returns the number of its label .Lpcce_s. */
unsigned int sites_finish(function *fun, unsigned int block_flags);
rtx_insn *sites_end_of_hot_part(void);
/* Returns the label to name after "o" for code that begins at label start. */
unsigned int sites_section(function *fun, unsigned int start);
/* Add to the text of a block: its head up to `flags`; the name and the end of the section; any
 * text. */
void sites_grow_head(struct obstack *text, unsigned int start, unsigned int main,
		     unsigned int section, unsigned int n, unsigned int flags, const char *name);
void sites_grow_name(struct obstack *text, const char *name);
void sites_grow_printf(struct obstack *text, const char *format, ...) ATTRIBUTE_PRINTF_2;

/* types.c: the type of a function, and of a call through a pointer, as in site records. 0: not
 * known. */
uint32_t types_of_function(tree decl);
uint32_t types_of_call(location_t location);

/* stale.c: stale_start() marks code where control may arrive with a stale state. pad: number of the
 * landing pad that insn begins, or 0. */
void stale_begin(void);
void stale_start(rtx_insn *insn, int pad);
/* Adds the records, if the function has calls of __pcce_restore. */
void stale_finish(bool restores);
bool stale_is_restore(const struct callee *callee);

/* The passes. */
opt_pass *make_pass_tailcalls(void);
opt_pass *make_pass_restore(void);
opt_pass *make_pass_types(void);
opt_pass *make_pass_asm(void);
opt_pass *make_pass_freq(void);
opt_pass *make_pass_clobbers(void);
opt_pass *make_pass_slots(void);
/* restore.c: protects its declarations from the garbage collector. */
void restore_register(const char *plugin_name);

#endif
