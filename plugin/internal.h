/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the plugin's files share.  In the order in which a function passes them:
 *
 *   scope.c      which functions are instrumented at all
 *   tailcalls.c  GIMPLE: tail calls to leaf library functions become calls
 *   restore.c    GIMPLE: saves and restores the state around non-local entries
 *   asm.c        RTL: inline assembly that calls
 *   clobbers.c   RTL: says at each call which registers slots use
 *   freq.c       RTL: remembers how often each call is executed
 *   slots.c      RTL: finds the calls, puts slots around them
 *   callee.c         what a call calls; is it a leaf
 *   recursion.c      does it close a cycle of the unit's call graph
 *   entry.c          the slot at a function's entry
 *   stale.c          where the code lies in which the state is stale
 *   asm_text.c       assembler text as insns; a slot's text
 *   sites.c          the records: collects, and writes a block for each part
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
	tree decl;  /* its declaration, or NULL (then it is one of GCC's own library routines) */
	const char *name; /* assembler name, or NULL */
	bool indirect;	  /* the instruction itself does not name the callee */
	bool tls;	  /* a __tls_get_addr sequence */
};
void callee_of(rtx_insn *call, struct callee *out);
/* Can the function call back into the program? decl may be NULL. */
bool callee_is_leaf(tree decl, const char *name);
/* Is it one that throws or goes on throwing? name may be NULL. */
bool callee_throws(const char *name);
/* May others take the function of this unit for a leaf: because a library has one of that name, or
 * since what they take for one calls it? */
bool callee_replaces_leaf(tree decl, const char *name);
const char *callee_assembler_name(tree decl);

/* inlining.c: before anything is compiled, once the options are known. */
void inlining_raise_limits(void);

/* recursion.c: a callback for the beginning of each function's compilation; and what comes of it.
 */
void recursion_find(void *, void *);
bool recursion_closes_cycle(tree caller, tree callee);

/* asm.c: is the insn inline assembly that calls, and around which there can be slots? */
bool asm_is_site(rtx_insn *insn);

/* freq.c: executions of a call per 1,024 entries of the function; struct pcce_site_block's
 * entry_count. */
unsigned int freq_of(const rtx_insn *call);
uint64_t freq_entry_count(void);
void freq_forget(void);

/* asm_text.c: emit assembler text as an insn. text is copied. */
rtx asm_text(const char *text);
rtx_insn *asm_text_before(const char *text, rtx_insn *insn, location_t location);
rtx_insn *asm_text_after(const char *text, rtx_insn *insn, location_t location);
/* Bytes of the largest slot around a call, and of the text of a slot of so many bytes. */
#define SLOT_BYTES_MAX (PCCE_SLOT_PUSH_CLEAR + PCCE_SLOT_SPILL_REGS)
#define SLOT_TEXT_BYTES(bytes) ((bytes)*5 + 64)
/* Writes a slot to text, which holds size bytes: the label .Lpcce_<kind><label>, then nops. */
void slot_print(char *text, size_t size, char kind, unsigned int label, unsigned int bytes);

/* entry.c: the size of the function's entry slot, or 0, and PCCE_BLOCK_* for it. Emits it, labelled
 * .Lpcce_n<label>. */
unsigned int entry_length(function *fun, unsigned int *block_flags);
void entry_emit(unsigned int label, unsigned int length);
/* From restore.c: the function asks for its return address, or for its frame. */
void entry_looks_back(function *fun);

/* sites.c */
struct site {
	unsigned int label; /* number of its two labels */
	bool cold;	    /* in the cold part */
	unsigned int before_len, after_len;
	unsigned int flags; /* PCCE_SITE_* */
	unsigned int freq;
	int pad; /* where its exceptions land; of a stretch: the only landing pad that leads here;
		    0: none */
	bool is_pad;	     /* the stretch begins with that landing pad */
	location_t location; /* with the inlined block */
	const void *callee;  /* anything that is equal for equal callees */
};
void sites_begin(void);
void sites_add(const struct site *site);
unsigned int sites_new_label(void);
/* Emits all blocks of the function; instructions must not be added after that. */
void sites_finish(function *fun, unsigned int block_flags);

/* stale.c: stale_start() for code at which control may arrive with a stale state; pad: the number
 * of the landing pad that insn begins, or 0. */
void stale_begin(void);
void stale_start(rtx_insn *insn, int pad);
/* Adds the records, if the function has calls of __pcce_restore at all. */
void stale_finish(bool restores);
bool stale_is_restore(const struct callee *callee);

/* The passes. */
opt_pass *make_pass_tailcalls(void);
opt_pass *make_pass_restore(void);
opt_pass *make_pass_asm(void);
opt_pass *make_pass_freq(void);
opt_pass *make_pass_clobbers(void);
opt_pass *make_pass_slots(void);
/* restore.c: keeps its declarations from the garbage collector. */
void restore_register(const char *plugin_name);

#endif
