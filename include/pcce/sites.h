/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the site records: what the plugin tells pcce-encode, in the section .pcce_sites.
 *
 * The section is not allocated, so it costs nothing at run time. SHF_LINK_ORDER and the COMDAT
 * group ("o?") tie it to its function, so the linker keeps or removes both together. It is a
 * sequence of blocks, each aligned to 8 bytes: one for each contiguous part of a function. A
 * function has one part, or a hot and a cold one. A linker may leave zero padding between blocks.
 * pcce-encode only reads the section.
 *
 * A block is struct pcce_site_block, then n_sites times struct pcce_site_record, then the
 * function's assembler name, NUL-terminated, and zeros up to a multiple of 8. Numbers are
 * little-endian.
 */
#ifndef PCCE_SITES_H
#define PCCE_SITES_H

#include <linux/types.h>
#include <pcce/assert.h>

#define PCCE_SITES_SECTION ".pcce_sites"
#define PCCE_BLOCK_MAGIC 0x42454343504cULL /* reads "LPCCEB" */
#define PCCE_BLOCK_VERSION 7

/* pcce_site_block.flags */
#define PCCE_BLOCK_COLD 1u     /* the cold part of a function; main is the hot part's start */
#define PCCE_BLOCK_RESTORES 2u /* the function restores its state after non-local entries */
#define PCCE_BLOCK_PUBLIC 4u   /* TREE_PUBLIC and default visibility: other modules may call it */
/* Other code at the entry must not be skipped, so calls must not go behind the slot. */
#define PCCE_BLOCK_FIXED 8u
/* Others may call it as a leaf: with ext set, and with an id that it must not change. */
#define PCCE_BLOCK_LEAF 16u
/* It reads its caller's frame (arguments, return address), so no frame may come between them. */
#define PCCE_BLOCK_STACK 32u
/* It is the gate of an exported function of a shared library, see below. It is no function of the
 * source. Its name is the function's with "@plt". */
#define PCCE_BLOCK_GATE 64u
/* It has inline assembly, which may move the stack pointer without a word in the unwind
 * information. */
#define PCCE_BLOCK_ASM 128u

struct pcce_site_block {
	__u64 magic; /* PCCE_BLOCK_MAGIC | (u64)PCCE_BLOCK_VERSION << 48 */
	/* R_X86_64_64: the part's first instruction. For the hot part it is the function's own
	 * label; endbr64 and patchable nops may come between the symbol and the first
	 * instruction. */
	__u64 start;
	__u64 main;   /* R_X86_64_64: start of the hot part; equals start unless COLD */
	__u32 size;   /* bytes of the whole block, a multiple of 8 */
	__u32 length; /* bytes of code from start to the end of the part's last instruction */
	__u32 n_sites;
	__u32 flags; /* PCCE_BLOCK_* */
	/* The entry slot: an offset from start. Only endbr64 may come before it, or, with FIXED,
	 * code that no call may skip. */
	__u32 entry;
	__u32 entry_len; /* bytes; 0: no entry slot, always so in a cold part */
	/* 1 + how often the function was entered in the run of a profile (-fprofile-use). 0: not
	 * known, always so in a cold part. */
	__u64 entry_count;
	/* A hash of the function's type (plugin/types.c); 0: not known, always so in a cold part.
	 * Functions of one type can have different hashes, and the reverse. */
	__u32 type;
	__u32 reserved; /* 0 */
};

/* pcce_site_record.flags */
/* A call through a register or memory that is not the GOT slot of a named function. */
#define PCCE_SITE_INDIRECT 1u
#define PCCE_SITE_LEAF 2u     /* the callee cannot call back (ECF_LEAF, known library routine) */
#define PCCE_SITE_NORETURN 4u /* no after-slot */
#define PCCE_SITE_RETURNS_TWICE 8u /* setjmp and similar */
/* A tail call: a jump. It may have a slot if it goes through a pointer, see below. */
#define PCCE_SITE_TAIL 16u
/* The call uses r10 or r11, so the push must save both in the red zone. */
#define PCCE_SITE_SPILL_REGS 32u
/* Compiled with -fPIC: slots have room for the forms that a shared library needs. */
#define PCCE_SITE_PIC 64u
/* Not a site: in [before, after) the state is stale, up to the return from __pcce_restore or to the
 * entry slot. It has no slots. */
#define PCCE_SITE_RESTORE 128u
/* A call of __tls_get_addr, with the instructions that belong to it. The linker may have rewritten
 * them to a sequence without a call. It is always a leaf. */
#define PCCE_SITE_TLS 256u
/* Not a site: an exception in the site with this `before` lands at `after`, where a stretch with
 * PCCE_SITE_RESTORE begins. Together with PCCE_SITE_RESTORE: control reaches the stretch with this
 * `before` only from that landing pad, which is itself such a stretch. It has no slots. */
#define PCCE_SITE_LANDING 512u
#define PCCE_SITE_HAS_PAD 1024u /* exceptions in the call may land in its function */
/* All exceptions in the call land there: for clean-up, or in a catch of everything. */
#define PCCE_SITE_LANDS 2048u
/* A call into the unwinder, or of a function that only calls the unwinder. It returns to a landing
 * pad or not at all, and meanwhile runs no function of the program. */
#define PCCE_SITE_THROWS 4096u
/* Only in the encoding table: the call is a guard's, of the function that the pointer of a call
 * with PCCE_SITE_INDIRECT is expected to hold, or, with PCCE_SITE_INDIRECT, of a function of the
 * expected type (docs/slots.md). With PCCE_SITE_TAIL it is a jump. */
#define PCCE_SITE_GUARD 8192u
/* Only in the encoding table, with hybrid encoding: the site adds only to an id that is not 0. */
#define PCCE_SITE_IF_EXPLICIT 16384u
/* The same: from the start of the before-slot to the end of the after-slot, that address included,
 * the thread page holds the caller's stack offset in place of the segment's base. */
#define PCCE_SITE_OFFSET 32768u

/* Offsets are from pcce_site_block.start. The call instructions lie between before + before_len and
 * after. Thunk-expanded calls have more than one, and inline assembly is the whole statement. */
struct pcce_site_record {
	__u32 before;	 /* the before-slot, or the jump of a tail call */
	__u32 after;	 /* end of the call instruction = return address = the after-slot */
	__u8 before_len; /* bytes */
	__u8 after_len;
	__u16 flags; /* PCCE_SITE_* */
	__u32 freq;  /* estimated executions per 1,024 entries of the function; saturates */
	__u32 line;  /* source line of the call, 0 if unknown */
	__u32 copy;  /* equal, non-zero: copies of one source call, in one block */
	__u32 type;  /* of a call through a pointer, as in the block; 0: not known */
};

/*
 * Slot sizes in bytes. The plugin reserves them. pcce-encode writes what it needs (docs/slots.md
 * has the sequences) and pads with nops.
 *
 *                     before  after
 *   direct              13     13   the longest is addq $imm32,%fs:disp32; 12 for a helper call
 *   direct, -fPIC       16     16   mov gottpoff(%rip),%r11; addq $imm32,%fs:16(%r11)
 *   leaf, -fPIC         19     16   only with PCCE_SITE_LEAF
 *   indirect            63     58   inline push and pop
 *   indirect, a type   120     58   the same, behind the guard of a type
 *   direct, a push      76     58   the same, and the id is cleared
 *   direct, a push, -fPIC
 *                       65     62   inline push and pop; the id is not cleared
 *   indirect, -fPIC     71     62   the same, or a guard that uses ext
 *   tail                 -    114   a guard, a call for other functions, and the jump
 *   PCCE_SITE_SPILL_REGS adds 20 to the before-slot.
 *   -fplugin-arg-pcce_plugin-hybrid adds 11 to both slots, for pcce-encode --hybrid. Then each
 *   function has an entry slot.
 *
 * A direct call has room for an inline push in two cases. Either the compiler knows that it must be
 * a push: the callee tail-calls through a pointer. Or it expects a push: the call closes a cycle of
 * this unit's call graph.
 *
 * A call through a pointer has the second form if its type is known and its freq is PCCE_FREQ_LOOP
 * or more. Others save less than the contexts cost that they add (bench/README.md).
 *
 * A tail call through a pointer has a slot if a frame may come between its function's caller and
 * the callee. Other tail calls have none.
 *
 * A call that does not return has the slots of a direct one. So does a call that the compiler has
 * put into a function's cold part. So does a call of a library function that is no leaf: it is a
 * push, but the callee takes so long that a helper does not matter. Every direct slot, before and
 * after, has room for a helper call, so pcce-encode may choose a push for any site.
 *
 * The entry slot has 16 or 48 bytes, so what follows it has the alignment of the function. Every
 * function has one that may be entered other than by calls that the compiler knows.
 */
#define PCCE_FREQ_LOOP 4096 /* of a call in a loop, by GCC's guess of its rounds */
#define PCCE_SLOT_ENTRY 16
#define PCCE_SLOT_ENTRY_LEAF 48 /* with PCCE_BLOCK_LEAF */
#define PCCE_SLOT_DIRECT 13
#define PCCE_SLOT_DIRECT_PIC 16
#define PCCE_SLOT_LEAF_PIC_BEFORE 19
#define PCCE_SLOT_PUSH 63
#define PCCE_SLOT_PUSH_CLEAR 76
#define PCCE_SLOT_TYPED 120
#define PCCE_SLOT_POP 58
#define PCCE_SLOT_PUSH_PIC 65
#define PCCE_SLOT_POP_PIC 62
#define PCCE_SLOT_INDIRECT_PIC 71
#define PCCE_SLOT_SPILL_REGS 20
#define PCCE_SLOT_TAIL 114
#define PCCE_SLOT_HYBRID 11
/*
 * Offsets in the slot of a tail call: where the guard has ended, where a frame of 8 bytes exists,
 * where the call in it returns, where the frame is gone, and the jump. The unwinder's tables have
 * the second and the fourth.
 */
#define PCCE_TAIL_GUARD 22
#define PCCE_TAIL_FRAME 69
#define PCCE_TAIL_RETURN 89
#define PCCE_TAIL_LEFT 105
#define PCCE_TAIL_JUMP 106

/*
 * A gate, in bytes from its start. It begins with a jump through a pointer, which first leads to
 * the test. Its two records are the jump to the function, a tail call, and the call, which is
 * indirect. pcce-encode writes the test and the call.
 */
#define PCCE_GATE_TEST 7	/* behind the jump through the pointer: notrack jmp *(%rip) */
#define PCCE_GATE_TEST_BYTES 30 /* nops: lea (7), cmp (7), jne (2), lea (7), mov (7) */
#define PCCE_GATE_JUMP (PCCE_GATE_TEST + PCCE_GATE_TEST_BYTES)
#define PCCE_GATE_TARGET (PCCE_GATE_JUMP - 11) /* the jump's target, as a distance in the test */
#define PCCE_GATE_JUMP_BYTES 5
#define PCCE_GATE_FRAME 2 /* the push after it, or a jump to code that copies arguments */
#define PCCE_GATE_CALL (PCCE_GATE_JUMP + PCCE_GATE_JUMP_BYTES + PCCE_GATE_FRAME + PCCE_SLOT_DIRECT)
#define PCCE_GATE_CALL_BYTES 6 /* nops */
/* Behind the call are an after-slot, pop and ret. If arguments may be on the stack, there is more:
 * the code that copies them. */
#define PCCE_GATE_SIZE (PCCE_GATE_CALL + PCCE_GATE_CALL_BYTES + PCCE_SLOT_DIRECT + 3)

PCCE_ASSERT_SIZE(pcce_site_block, 64);
PCCE_ASSERT_SIZE(pcce_site_record, 28);

#endif
