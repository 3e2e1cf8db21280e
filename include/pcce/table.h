/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the encoding table: what pcce-encode leaves in a module for the decoder.
 *
 * pcce-encode writes it to the non-allocated section .pcce, which strip keeps. pcce.data holds a
 * copy for each module. One table describes one ELF file. All numbers are little-endian, all arrays
 * are aligned to 8 bytes, and addresses are link-time virtual addresses of that file. The same
 * input (a file, and a recording if the file is encoded by one) always gives the same table, byte
 * for byte.
 *
 * Layout: struct pcce_table, then at the offsets that it gives: functions, parts, sites, in-edges,
 * tail edges, helper ranges, landings, strings.
 */
#ifndef PCCE_TABLE_H
#define PCCE_TABLE_H

#include <linux/types.h>
#include <pcce/assert.h>

#define PCCE_TABLE_SECTION ".pcce"
#define PCCE_TABLE_MAGIC 0x3142415445434350ULL /* "PCCETAB1" */
#define PCCE_TABLE_VERSION 5
#define PCCE_NONE 0xffffffffu

/* pcce_table.flags */
#define PCCE_TABLE_EXEC 1u /* the module defines pcce_page: slots have the %fs:disp32 forms */
/* With PCCE_TABLE_EXEC: a dynamic executable whose runtime its shared libraries do not find, since
 * its names are not exported or have a version. The libraries use another page, or their jumps,
 * threads and signal handlers pass the runtime by. So no context of its processes is known. */
#define PCCE_TABLE_HIDDEN 2u
/* Only in recordings: the module is instrumented, and has no table. This table, which is empty,
 * takes its place. Calls in the module are not on the encoding stack. */
#define PCCE_TABLE_MISSING 4u
/*
 * Hybrid encoding (Sumner et al., ICSE 2010, section 6). pcce_page.id has two halves. The upper one
 * is the id; values and numbers of contexts are multiples of 2^32. The lower one is the base: the
 * stack pointer with which the segment's first function was entered, modulo 2^32. With
 * PCCE_SITE_OFFSET the base is replaced by its distance from the stack pointer. struct
 * pcce_table_hybrid follows the header.
 */
#define PCCE_TABLE_HYBRID 8u

/* The version that the linker wrapper gives to the runtime's exported names if a version script has
 * named versions. pcce-encode takes it away again. */
#define PCCE_EXPORT_VERSION "PCCE_RUNTIME"

struct pcce_table_array {
	__u64 offset; /* from the start of the table */
	__u64 count;  /* elements; for strings: bytes */
};

struct pcce_table {
	__u64 magic;
	__u32 version;
	__u32 header_size;
	__u64 size;  /* bytes of the whole table */
	__u32 crc;   /* zlib crc32 of the table with this field 0 */
	__u32 flags; /* PCCE_TABLE_* */
	/* Address of the first PT_LOAD, rounded down to its alignment: run-time address = address
	 * in the table - base + load address. */
	__u64 base;
	__u64 largest_id;
	__s64 tpoff; /* PCCE_TABLE_EXEC: offset of pcce_page from %fs; else 0 */
	/* Without PCCE_TABLE_EXEC: address of the GOT slot that holds that offset at run time; else
	 * 0. */
	__u64 got;
	struct pcce_table_array funcs;	 /* pcce_table_func, sorted by addr */
	struct pcce_table_array parts;	 /* pcce_table_part, sorted by addr, disjoint */
	struct pcce_table_array sites;	 /* pcce_table_site, sorted by key, unique */
	struct pcce_table_array edges;	 /* pcce_table_edge, grouped by callee, sorted by value */
	struct pcce_table_array tails;	 /* pcce_table_tail, sorted by (from, to) */
	struct pcce_table_array helpers; /* pcce_table_helper, sorted by addr, disjoint */
	struct pcce_table_array strings; /* NUL-terminated; offset 0 is "" */
	__u32 n_back_edges;
	__u32 n_cut_edges;
	__u32 n_push_sites;
	__u32 reserved;
	struct pcce_table_array landings; /* pcce_table_landing, sorted by site, unique */
};

/* After the header with PCCE_TABLE_HYBRID; header_size includes it. */
struct pcce_table_hybrid {
	struct pcce_table_array frames;	  /* pcce_table_frame, sorted by addr */
	struct pcce_table_array implicit; /* pcce_table_implicit, sorted by (func, depth), unique */
};

/* From this address on, up to the next one: the distance from the stack pointer up to the stack
 * pointer before the call of the function. PCCE_NONE: not fixed, or not known. */
struct pcce_table_frame {
	__u32 addr; /* from pcce_table.base */
	__u32 size; /* bytes */
};

/* An implicit context: its id is 0, and no other one of the function with the id 0 has its depth:
 * the distance between the stack pointers before the calls of the segment's first function and of
 * this one. */
struct pcce_table_implicit {
	__u32 func;
	__u32 depth; /* bytes */
	__u32 site;  /* that calls it, or PCCE_NONE: the segment begins here, with depth 0 */
	__u32 reserved;
};

/* pcce_table_func.flags */
/* With id 0 a segment can begin here, or arrive here by tail calls. */
#define PCCE_FUNC_ROOT 1u
/* It tail-calls through a pointer or out of the module, directly or transitively. */
#define PCCE_FUNC_TAIL_OUT 2u
#define PCCE_FUNC_RESTORES 4u /* restores the state after non-local entries */
/* A segment can begin here with an id that the function sets itself; there is an edge for it. */
#define PCCE_FUNC_ENTERED 8u
/* No function of the source: it tail-calls an exported function of this library, or calls what
 * replaces it (docs/slots.md). Contexts omit it as the caller of a tail call. */
#define PCCE_FUNC_GATE 16u
/*
 * No function: a type of functions. A call through a pointer, with PCCE_SITE_GUARD, calls it. It
 * calls each function of the type in a site without code, whose key is the address of the
 * function's entry slot. Contexts omit it. Its address is none: it is beyond all code.
 */
#define PCCE_FUNC_TYPE 32u
/* With hybrid encoding: its depth is known. Without the flag, a segment begins with it and with
 * each of its calls, and nothing depends on the stack pointer. */
#define PCCE_FUNC_DEPTH 64u

struct pcce_table_func {
	__u64 addr;
	__u64 num_cc; /* contexts: ids run from 0 to num_cc - 1 */
	__u32 name;   /* assembler name: offset in strings */
	__u32 flags;
	__u32 first_edge; /* index into edges */
	__u32 n_edges;
	/* The first `entry` bytes set the id with which a segment begins here. While ip is in them,
	 * the id is not set yet, and a segment begins here in any case. Calls that have a value go
	 * behind them. 0: the function sets no id. */
	__u32 entry;
	__u32 reserved;
};

struct pcce_table_part {
	__u64 addr;
	__u32 length;
	__u32 func;
};

/* pcce_table_site.kind */
enum pcce_site_kind {
	PCCE_KIND_NONE = 0, /* acyclic edge of value 0 */
	PCCE_KIND_ADD = 1,
	PCCE_KIND_EXT = 2, /* of a leaf outside the module, or of callee, which calls nothing */
	PCCE_KIND_PUSH = 3,
	PCCE_KIND_TAIL = 4, /* a jump: no slots, no value */
	/*
	 * Not a call of the program. In [key, key + ret) the state is stale: a non-local jump has
	 * just ended there, and __pcce_restore has not run yet. All other fields are 0. If ext
	 * names a site of this function that returns twice, the state is right, or is in the record
	 * on top of the stack. See PCCE_COUNT_JUMP in abi.h. After an exception the state is that
	 * of the call into the unwinder. The call of __pcce_restore has the key in r11.
	 */
	PCCE_KIND_RESTORE = 5
};

/*
 * A site. before-slot: [before, key + restore_len); call instructions: up to ret; after-slot: [ret,
 * ret + after_len).
 *
 * The meaning of an instruction pointer ip in a slot (offset d = ip - start of the slot):
 *
 *   before-slot, d < claim             nothing is done yet: the state is the caller's own
 *   before-slot, claim <= d < applied  push: the top entry is claimed but not filled: drop it, the
 *                                      id is the caller's
 *   before-slot, applied <= d;         the site's effect is in force: undo it (add: id -= value;
 *   the call;                          push: id = entry.id, and drop one repetition; ext: nothing
 *   after-slot, d < undone             to undo)
 *   after-slot, undone <= d            the state is the caller's own
 *
 * For a kind other than push, claim == applied. "applied" is the offset of the first instruction
 * after the one that applies the effect; "undone" is the same for the undo.
 */
struct pcce_table_site {
	__u64 key;	   /* what entries and ext name: see docs/slots.md */
	__u64 value;	   /* add: added to the id */
	__u32 func;	   /* the caller: index into funcs */
	__u32 callee;	   /* direct callee inside the module, else PCCE_NONE */
	__u32 callee_name; /* direct callee outside it: name in strings, else 0 */
	__u32 before;	   /* key - start of the before-slot */
	__u32 ret;	   /* return address - key */
	__u16 flags;	   /* PCCE_SITE_* of the record */
	__u8 kind;	   /* enum pcce_site_kind */
	__u8 restore_len;  /* bytes between key and the call instruction: 0 or 10 */
	__u8 claim;
	__u8 applied;
	__u8 undone;
	__u8 after_len;
	__u32 line; /* source line, 0 if unknown */
};

/* An acyclic edge into a function: contexts [value, value + num_cc(caller)) come through it, and
 * the caller is sites[site].func. With site PCCE_NONE: a segment begins with the one id `value`. */
struct pcce_table_edge {
	__u64 value;
	__u32 site;
	/* 1: the site calls another function, which tail-calls this one. With site PCCE_NONE: index
	 * into funcs of the function where the segment begins; it is this one, or tail-calls this
	 * one. */
	__u32 tail;
};

/* A direct tail call inside the module. */
struct pcce_table_tail {
	__u32 from; /* index into funcs */
	__u32 to;
};

/*
 * A pair of restore site and landing pad. An exception that leaves a call lands in a restore site;
 * each landing pad with a call of __pcce_restore is one. If `site` is itself a restore site,
 * control reaches it only from that landing pad, which may be the site itself.
 */
struct pcce_table_landing {
	__u32 site; /* index into sites */
	__u32 pad;  /* index into sites, of the same function */
};

/* pcce_table_helper.state. While ip is in this part of a push or pop helper, or of its slow-path
 * stub, r11 holds an address. It is the key (push) or the slot's end (pop). The current function is
 * the one that contains r11. The decoder gets that function's state by: */
enum pcce_helper_state {
	PCCE_HELPER_NOTHING = 0, /* nothing: the push has not begun, or the pop is finished */
	PCCE_HELPER_CLAIMED = 1, /* dropping the top entry; the id is the caller's */
	PCCE_HELPER_PUSHED = 2,	 /* id = the top entry's id, dropping one repetition */
	/* __pcce_restore is restoring the state. Not decodable, unless ext says that a
	 * setjmp has returned for the first time or by a recorded jump. */
	PCCE_HELPER_RESTORING = 3,
	/* Two entries are claimed and not filled: drop them, then as other code without slots. r11
	 * has no meaning. */
	PCCE_HELPER_JUMPING = 4,
	/* A signal handler begins or ends: not decodable, whatever ext says. */
	PCCE_HELPER_HANDLER = 5,
	/* __pcce_restore has restored nothing yet that a decoder would see. r11 is the key
	 * of the restore site that called it, and the state is as in that site. */
	PCCE_HELPER_LANDING = 6,
	/* __pcce_restore is done: the state is that of the function that contains r11. */
	PCCE_HELPER_LANDED = 7,
	PCCE_HELPER_LAST = PCCE_HELPER_LANDED
};

struct pcce_table_helper {
	__u64 addr;
	__u32 length;
	__u32 state;
};

PCCE_ASSERT_SIZE(pcce_table, 208);
PCCE_ASSERT_SIZE(pcce_table_hybrid, 32);
PCCE_ASSERT_SIZE(pcce_table_frame, 8);
PCCE_ASSERT_SIZE(pcce_table_implicit, 16);
PCCE_ASSERT_SIZE(pcce_table_func, 40);
PCCE_ASSERT_SIZE(pcce_table_part, 16);
PCCE_ASSERT_SIZE(pcce_table_site, 48);
PCCE_ASSERT_SIZE(pcce_table_edge, 16);
PCCE_ASSERT_SIZE(pcce_table_tail, 8);
PCCE_ASSERT_SIZE(pcce_table_landing, 8);
PCCE_ASSERT_SIZE(pcce_table_helper, 16);

/*
 * How the helpers describe themselves to pcce-encode. The section .pcce_helpers, not allocated, in
 * the object that defines them, is an array of pcce_table_helper (addr by R_X86_64_64). The section
 * .pcce_entries holds one struct pcce_helper_entries with the helpers' entry points, in the same
 * way. So pcce-encode needs no symbol table, and programs may be linked with -s.
 */
#define PCCE_HELPERS_SECTION ".pcce_helpers"
#define PCCE_ENTRIES_SECTION ".pcce_entries"
#define PCCE_ENTRIES_MAGIC 0x33544e4545434350ULL /* "PCCEENT3" */

struct pcce_helper_entries {
	__u64 magic;
	__u64 push; /* __pcce_push */
	__u64 pop;
	__u64 push_slow;
	__u64 pop_slow;
	/* A `mov pcce_page@gottpoff(%rip), %r11`, as the linker left it. As 4c 8b 1d disp32 it
	 * names the GOT slot that slots of a shared library load. Relaxed to `mov $imm32, %r11` (49
	 * c7 c3 imm32) it gives the offset of an executable's page from %fs, a constant. */
	__u64 tls_insn;
	__u64 leaf; /* __pcce_leaf: entered by functions that are called as leaves */
	__u64 text; /* the runtime's own code in this module: [text, text_end) */
	__u64 text_end;
};

PCCE_ASSERT_SIZE(pcce_helper_entries, 72);

#endif
