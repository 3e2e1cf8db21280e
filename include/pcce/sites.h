/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Site records: what the plugin tells pcce-encode, in the section .pcce_sites.
 *
 * The section is not allocated (it costs nothing at run time), is tied to its
 * function by SHF_LINK_ORDER and COMDAT group ("o?"), and so lives and dies with
 * it.  It is a sequence of blocks, one for each contiguous part of a function (one
 * part, or a hot and a cold one), each aligned to 8 bytes.  A linker may leave
 * zero padding between blocks.  pcce-encode removes nothing from it: it is input
 * only.
 *
 * A block: struct pcce_site_block; n_sites struct pcce_site_record; the function's
 * assembler name, NUL-terminated; zeros up to a multiple of 8.
 */
#ifndef PCCE_SITES_H
#define PCCE_SITES_H

#include <linux/types.h>
#include <pcce/assert.h>

#define PCCE_SITES_SECTION ".pcce_sites"
#define PCCE_BLOCK_MAGIC 0x42454343504cULL /* reads "LPCCEB" */
#define PCCE_BLOCK_VERSION 4

/* pcce_site_block.flags */
#define PCCE_BLOCK_COLD 1u     /* the cold part of a function; main is the hot part's start */
#define PCCE_BLOCK_RESTORES 2u /* the function restores id and off after non-local entries */
#define PCCE_BLOCK_PUBLIC 4u   /* TREE_PUBLIC and of default visibility: others may call it */
#define PCCE_BLOCK_FIXED \
	8u /* something else stands at the entry, too: calls must not lead behind the slot */
#define PCCE_BLOCK_LEAF \
	16u /* others may call it as a leaf: with ext, and with an id that it must not change */
#define PCCE_BLOCK_STACK \
	32u /* looks at its caller's frame (arguments, return address): none can be put between */

struct pcce_site_block {
	__u64 magic;  /* PCCE_BLOCK_MAGIC | (u64)PCCE_BLOCK_VERSION << 48 */
	__u64 start;  /* R_X86_64_64: the part's first instruction (the function's own label for
		       * the hot part: endbr64 and patchable nops may come between the symbol
		       * and this address) */
	__u64 main;   /* R_X86_64_64: start of the hot part; == start unless PCCE_BLOCK_COLD */
	__u32 size;   /* bytes of the whole block, a multiple of 8 */
	__u32 length; /* bytes of code from start to the end of the part's last instruction */
	__u32 n_sites;
	__u32 flags;	   /* PCCE_BLOCK_* */
	__u32 entry;	   /* the entry slot: an offset from start; nothing before it but endbr64 */
	__u32 entry_len;   /* 0: there is none; always so in a cold part */
	__u64 entry_count; /* 1 + how often the function was entered in the run of a profile
			    * (-fprofile-use); 0: not known; always so in a cold part */
};

/* pcce_site_record.flags */
#define PCCE_SITE_INDIRECT \
	1u /* call through a register or memory, not a GOT slot of a named function */
#define PCCE_SITE_LEAF 2u     /* the callee cannot call back (ECF_LEAF, known library routine) */
#define PCCE_SITE_NORETURN 4u /* no after-slot */
#define PCCE_SITE_RETURNS_TWICE 8u /* setjmp and the like */
#define PCCE_SITE_TAIL 16u	   /* a tail call: a jump, no slots; before is the jump itself */
#define PCCE_SITE_SPILL_REGS \
	32u /* r10 or r11 is in use at the call: the push must save both in the red zone */
/* Compiled with -fPIC: slots are large enough for the forms that a shared library needs. */
#define PCCE_SITE_PIC 64u
/* Not a site: [before, after) is code in which the state is stale, up to the return of a call of
 * __pcce_restore; no slots. */
#define PCCE_SITE_RESTORE 128u
/* A call of __tls_get_addr with the instructions that belong to it: the linker may have rewritten
 * it all to a sequence without a call. Always a leaf. */
#define PCCE_SITE_TLS 256u
/* Not a site: an exception in the site with this `before` lands at `after`, which begins a stretch
 * with PCCE_SITE_RESTORE. Together with PCCE_SITE_RESTORE: to the stretch with this `before`
 * control comes only from that landing pad, which is itself such a stretch. No slots. */
#define PCCE_SITE_LANDING 512u
#define PCCE_SITE_HAS_PAD 1024u /* exceptions in it may land in its function */
#define PCCE_SITE_LANDS 2048u	/* all of them do: to clean up, or to be caught whatever they are */
/* A call into the unwinder, or to what only calls that: it comes back to a landing pad if at all,
 * and runs no function of the program meanwhile. */
#define PCCE_SITE_THROWS 4096u

/* Offsets are from pcce_site_block.start.  The call instruction(s) lie between
 * before + before_len and after; for thunk-expanded calls that is more than one, and for inline
 * assembly it is all of the statement. */
struct pcce_site_record {
	__u32 before;	 /* the before-slot, or the jump of a tail call */
	__u32 after;	 /* end of the call instruction = return address = the after-slot */
	__u8 before_len; /* bytes */
	__u8 after_len;
	__u16 flags; /* PCCE_SITE_* */
	__u32 freq;  /* estimated executions per 1,024 entries of the function; saturates */
	__u32 line;  /* source line of the call, 0 if unknown */
	__u32 copy; /* sites of one block with equal, non-zero copy are copies of one source call */
};

/*
 * Slot sizes in bytes. The plugin reserves, encode fills what it needs (the
 * sequences are in docs/slots.md) and pads with nops.
 *
 *                     before       after
 *   direct            13           13      addq $imm32,%fs:disp32 is the longest; 12 for a helper
 * call direct, -fPIC     16           16      mov gottpoff(%rip),%r11; addq $imm32,%fs:16(%r11)
 *   leaf, -fPIC       19           16      only with PCCE_SITE_LEAF
 *   indirect          63           58      inline push and pop
 *   direct, a push    76           58      the same, and clearing the id: where the compiler knows
 * that it must be one (what tail-calls through a pointer), or expects it (the call closes a cycle
 * of this unit's call graph) indirect, -fPIC   16           16      helper calls and with
 * PCCE_SITE_SPILL_REGS 20 more before
 *
 * A call that does not return, or that the compiler has put into a function's cold part, has the
 * slots of a direct one. So has one of a library function that is no leaf: it is a push, but takes
 * so long that a helper does not matter. Every direct slot, before and after, is large enough for a
 * helper call, so that encode may choose a push for any site.
 *
 * The entry slot has 16 bytes, or 48, so that what follows is aligned as the function is. Every
 * function has one that may be entered by other ways than calls which the compiler knows.
 */
#define PCCE_SLOT_ENTRY 16
#define PCCE_SLOT_ENTRY_LEAF 48 /* with PCCE_BLOCK_LEAF */
#define PCCE_SLOT_DIRECT 13
#define PCCE_SLOT_DIRECT_PIC 16
#define PCCE_SLOT_LEAF_PIC_BEFORE 19
#define PCCE_SLOT_PUSH 63
#define PCCE_SLOT_PUSH_CLEAR 76
#define PCCE_SLOT_POP 58
#define PCCE_SLOT_SPILL_REGS 20

PCCE_ASSERT_SIZE(pcce_site_block, 56);
PCCE_ASSERT_SIZE(pcce_site_record, 24);

#endif
