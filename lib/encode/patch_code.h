/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Builds the code of slots, instruction by instruction, in a small buffer. */
#ifndef PCCE_ENCODE_PATCH_CODE_H
#define PCCE_ENCODE_PATCH_CODE_H

#include <string.h>
#include <pcce/abi.h>
#include "encode/patch.h"

#define PAGE_ID ((int)__builtin_offsetof(struct pcce_page, id))
#define PAGE_EXT ((int)__builtin_offsetof(struct pcce_page, ext))
#define PAGE_OFF ((int)__builtin_offsetof(struct pcce_page, off))
#define PAGE_ENTRY ((int)__builtin_offsetof(struct pcce_page, entry))
#define TOP (PAGE_ENTRY - 16) /* the top entry, relative to off */
#define RESTORE_LEN 10
#define PREFIX_FS 0x64
#define PREFIX_CS 0x2e /* without effect */
#define INSN_MAX 15    /* bytes */
#define NOPS_MAX 45    /* bytes of three nops; a jump is cheaper than four */
#define REX 0x40       /* without effect: makes the instruction longer */
#define REX_W 0x48

/* Code under construction. */
struct code {
	uint8_t bytes[160];
	size_t n;
	size_t claim, applied; /* offsets where the effect begins and is complete */
	uint8_t start[24];     /* of each instruction: its offset */
	unsigned int n_insns;
};

/* Begins an instruction with these bytes. code_put32() and code_put_target() continue it. */
#define PUT(c, ...)                                                  \
	do {                                                         \
		const uint8_t bytes_[] = {__VA_ARGS__};              \
		(c)->start[(c)->n_insns++] = (c)->n;                 \
		memcpy((c)->bytes + (c)->n, bytes_, sizeof(bytes_)); \
		(c)->n += sizeof(bytes_);                            \
	} while (0)

/* Continue an instruction. */
void code_put8(struct code *c, uint8_t v);
void code_put32(struct code *c, uint32_t v);

/* A displacement to an address. The code's own address is not known yet, since it depends on the
 * code's length: the position is kept, and the address put in at the end. */
struct fixups {
	struct {
		size_t at;
		uint64_t target;
		bool to_key; /* to the site's key or the slot's end instead */
	} item[12];
	int n;
};

void code_put_target(struct code *c, struct fixups *f, uint64_t target, bool to_key);
/* Fills the displacements. start: address of the first byte; key: the target of to_key. */
int code_apply_fixups(struct code *c, const struct fixups *f, uint64_t start, uint64_t key);
/*
 * Makes the code up to `room` bytes long by prefixes without effect, if there is no need for nops
 * then. The prefixes are spread over the instructions.
 */
void code_stretch(struct code *c, struct fixups *f, size_t room);
/* Fills bytes that do nothing. */
void code_fill(uint8_t *code, size_t n);

/*
 * The forms. code_put_arith() adds value, or subtracts it: sub is 0x28 for the modrm's reg field,
 * or 0 to add. Constants and prefixes are longer than necessary, since the slot has the room and
 * each saved nop is one instruction less.
 */
void code_put_arith(struct code *c, struct fixups *f, const struct patch_page *page, uint64_t value,
		    uint8_t sub);
void code_put_ext_before(struct code *c, struct fixups *f, const struct patch_page *page,
			 uint64_t key);
void code_put_ext_after(struct code *c, struct fixups *f, const struct patch_page *page);
void code_put_set_id(struct code *c, struct fixups *f, const struct patch_page *page, uint32_t id);
/* With hybrid encoding. A comparison of the id and a jump over the addition that follows; the base
 * becomes its distance from the stack pointer, or the reverse; a segment begins. */
void code_put_if_explicit(struct code *c, const struct patch_page *page);
void code_put_offset(struct code *c, const struct patch_page *page, bool back);
void code_put_base(struct code *c, const struct patch_page *page);
#define CODE_OFFSET_BYTES 8 /* of code_put_offset() */
#define CODE_BASE_BYTES 12  /* of code_put_base() */
/* where: what the helper gets in r11; 0: the site's key or the slot's end. */
void code_put_helper(struct code *c, struct fixups *f, uint64_t where, uint64_t helper);
/* In an executable. Sets claim. */
void code_put_inline_push(struct code *c, struct fixups *f, const struct patch_page *page,
			  const struct callgraph_site *s);

#endif
