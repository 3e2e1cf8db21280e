/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A process made by hand, for tests of the decoder: an executable, an instrumented
 * library, and a C library without slots.
 *
 *   executable          main -> a, b;  a, b, work -> c;  c: one site of every kind
 *                       rec -> rec (push), work (indirect); t1 =tail=> t2; out =tail=> outside
 *                       g1 =tail=> g2, g3 =tail=> g4
 *   library             lib_entry =tail=> lib_tail -> lib_inner -> callback (indirect)
 */
#ifndef PCCE_DECODE_FIXTURE_H
#define PCCE_DECODE_FIXTURE_H

#include "decode/decode.h"
#include "elf/encoding_table.h"

#define EXE_BASE 0x555555554000ULL
#define LIB_BASE 0x7f1200000000ULL
#define LIBC_BASE 0x7f3400000000ULL
#define MODULE_BYTES 0x10000

enum fixture_func {
	F_MAIN,
	F_A,
	F_B,
	F_C,
	F_REC,
	F_WORK,
	F_T1,
	F_T2,
	F_OUT,
	F_CB,
	F_LEAF,
	F_G1,
	F_G2,
	F_G3,
	F_G4,
	F_BARE,
	/* in the library */
	L_ENTRY = 0,
	L_TAIL,
	L_INNER,
};

enum fixture_site {
	S_MAIN_A,
	S_MAIN_B,
	S_MAIN_QSORT,
	S_A_C,
	S_B_C,
	S_C_EXT,
	S_C_REC,
	S_C_QSORT,
	S_C_T1,
	S_C_OUT,
	S_C_LIB,
	S_C_LEAF,
	S_C_RESTORE,
	S_C_SETJMP,
	S_C_BARE,
	S_REC_REC,
	S_REC_RESTORE,
	S_REC_WORK,
	S_REC_PAD,
	S_WORK_C,
	S_T1_TAIL,
	S_CB_REC,
	S_CB_T1,
	S_CB_G,
	S_CB_NAMED, /* g1, by its name, as a library calls its own function */
	S_LEAF_THROW,
	N_SITES,
	/* in the library */
	LS_TAIL_INNER = 0,
	LS_INNER_CALL,
	LS_INNER_EXT,
};

/* helpers, in both modules at the same place */
#define PUSH_BEFORE 0xf000 /* nothing done */
#define PUSH_CLAIMED 0xf010
#define PUSH_DONE 0xf020
#define POP_BEFORE 0xf030
#define POP_DONE 0xf040
#define RESTORING 0xf050
#define JUMPING 0xf060
#define LANDING 0xf090
#define LANDED 0xf0b0

struct fixture {
	struct decode_space as; /* first */
	struct decode_module maps[3];
	struct encoding_table exe, lib;
	void *exe_data, *lib_data;
};

void fixture_init(struct fixture *f);
void fixture_free(struct fixture *f);

static inline uint64_t exe(uint64_t vaddr)
{
	return EXE_BASE + vaddr;
}

static inline uint64_t lib(uint64_t vaddr)
{
	return LIB_BASE + vaddr;
}

/* The one fixture of a test program. */
extern struct fixture fx;

const struct encoding_table *table_of(uint32_t module);
const struct pcce_table_site *exe_site(uint32_t site);

/*
 * A context as text, innermost first: names of CALL frames, "t1~" for a tail call, "[libc]"
 * for foreign code, "?" for a gap, "!" for a signal, "name*3/2" for a group of 2 frames that
 * stands 3 times. The result is in text[].
 */
extern char text[1 << 20];
const char *render(const struct decode_context *ctx);

/* Writes at to[at], or aborts where there is no room. The number of characters. */
size_t append(char *to, size_t size, size_t at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A sample that is being put together. */
extern struct pcce_sample sample;
/* As decode_sample() takes them: sample.n_entries are known, and sample.n_below segments below them
 * are not. */
#define FIXTURE_ENTRIES 1024
extern struct pcce_entry entries[FIXTURE_ENTRIES];

void begin(uint64_t ip, uint64_t id);
void push(uint64_t id, uint64_t address, uint64_t count);
void push_exe(uint64_t id, uint32_t site, uint64_t count);

#endif
