/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * check_sites FILE
 *
 * Checks the section .pcce_sites of a linked, not yet encoded ELF file against its code.  Every
 * block and record must be well formed, every slot must consist of nops, and one call must be the
 * only code between two slots.
 *
 * Prints lines for a script that compares them with a disassembly (addresses have 16 hexadecimal
 * digits):
 *
 *	part START END NAME FLAGS
 *	call ADDRESS        each call instruction between two slots
 *	range START END     calls in there belong to a thunk
 *	tail ADDRESS        each jump of a tail call
 *	stale START END     code in which the state is stale
 *	site NAME LINE FLAGS BEFORE_LEN AFTER_LEN FREQ COPY CODE
 *
 * Prints one line on standard error for each mistake, and exits with status 1 if there was any.
 */
#include <err.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcce/sites.h>

#define HEX "%016" PRIx64

static Elf *elf;
static bool failed;
static bool thunks; /* CHECK_THUNKS is set in the environment: calls may go through thunks */

static void __attribute__((format(printf, 1, 2))) bad(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	failed = true;
}

/* Returns the bytes at a virtual address, or NULL. */
static const uint8_t *code_at(uint64_t address, uint64_t length)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf_Data *data;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR) ||
		    shdr.sh_type != SHT_PROGBITS)
			continue;
		if (address < shdr.sh_addr || address + length > shdr.sh_addr + shdr.sh_size)
			continue;
		data = elf_getdata(scn, NULL);
		return data ? (const uint8_t *)data->d_buf + (address - shdr.sh_addr) : NULL;
	}
	return NULL;
}

/* Returns the length of the nop at p, or 0. */
static unsigned int nop_length(const uint8_t *p, unsigned int room)
{
	unsigned int prefix = 0, length;

	while (prefix < room && (p[prefix] == 0x66 || p[prefix] == 0x2e))
		prefix++;
	if (prefix < room && p[prefix] == 0x90)
		return prefix + 1;
	if (prefix + 3 > room || p[prefix] != 0x0f || p[prefix + 1] != 0x1f)
		return 0;
	length = prefix + 3;
	switch (p[prefix + 2]) {
	case 0x00:
		break;
	case 0x40:
		length += 1;
		break;
	case 0x44:
		length += 2;
		break;
	case 0x80:
		length += 4;
		break;
	case 0x84:
		length += 5;
		break;
	default:
		return 0;
	}
	return length <= room ? length : 0;
}

static bool all_nops(const uint8_t *p, unsigned int length)
{
	while (length) {
		unsigned int n = nop_length(p, length);

		if (!n)
			return false;
		p += n;
		length -= n;
	}
	return true;
}

/* Returns the length of the ModRM operand (with ModRM itself) of an ff /n instruction. */
static unsigned int modrm_length(const uint8_t *p, unsigned int room)
{
	unsigned int mod, rm, length = 1;

	if (!room)
		return 0;
	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod == 3)
		return 1;
	if (rm == 4) {
		if (room < 2)
			return 0;
		if (mod == 0 && (p[1] & 7) == 5)
			length += 4;
		length++;
	} else if (mod == 0 && rm == 5) {
		length += 4;
	}
	return length + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Returns the length of a call (or jump) instruction at p, or 0.  Sets *indirect if it goes through
 * a register or memory. */
static unsigned int branch_length(const uint8_t *p, unsigned int room, bool jump, bool *indirect)
{
	unsigned int i = 0;

	while (i < room && (p[i] == 0x3e || p[i] == 0x67 || p[i] == 0x66 || p[i] == 0xf2 ||
			    (p[i] & 0xf0) == 0x40))
		i++;
	if (i + 2 <= room && p[i] == 0xd5) /* REX2, for r16 to r31 */
		i += 2;
	*indirect = false;
	if (i + 5 <= room && p[i] == (jump ? 0xe9 : 0xe8))
		return i + 5;
	if (jump && i + 2 <= room && p[i] == 0xeb)
		return i + 2;
	if (i + 2 > room || p[i] != 0xff || ((p[i + 1] >> 3) & 7) != (jump ? 4 : 2))
		return 0;
	*indirect = true;
	return i + 1 + modrm_length(p + i + 1, room - i - 1);
}

static bool is_endbr(const uint8_t *p)
{
	return !memcmp(p, "\xf3\x0f\x1e\xfa", 4);
}

struct block {
	struct pcce_site_block head;
	const struct pcce_site_record *records;
	const char *name;
};

/* Accepts data16 lea x@tlsgd(%rip), %rdi and a call of __tls_get_addr.  The linker may have
 * replaced it by a load of the thread pointer, with prefixes, and an addition. */
static void check_tls_sequence(const struct block *b, uint64_t call, unsigned int length)
{
	const uint8_t *p = code_at(call, length);
	unsigned int lea = p[0] == 0x66 ? 8 : 7, i = 0, n = 0;
	bool indirect;

	while (i < length && p[i] == 0x66)
		i++;
	if (length - i >= 9 && !memcmp(p + i, "\x64\x48\x8b\x04\x25\0\0\0\0", 9))
		return;
	if (length > lea && !memcmp(p + lea - 7, "\x48\x8d\x3d", 3))
		n = branch_length(p + lea, length - lea, false, &indirect);
	if (!n || n + lea != length)
		bad("%s: no __tls_get_addr sequence between %#" PRIx64 " and %#" PRIx64, b->name,
		    call, call + length);
	/* A disassembler shows the call after its prefixes or with them. */
	for (i = lea; i < length; i++)
		printf("call " HEX "\n", call + i);
}

/* Checks the code between the two slots of a record that is no tail call. */
static void check_call(const struct block *b, const struct pcce_site_record *r, uint64_t call,
		       unsigned int length)
{
	const uint8_t *p = code_at(call, length);
	bool indirect;
	unsigned int n;

	if (r->flags & PCCE_SITE_TLS) {
		check_tls_sequence(b, call, length);
		return;
	}
	n = branch_length(p, length, false, &indirect);
	if (n && n + 4 == length && is_endbr(p + n))
		n += 4;
	if (n && n == length) {
		printf("call " HEX "\n", call);
		if (indirect && !(r->flags & PCCE_SITE_INDIRECT) && p[1] != 0x15)
			bad("%s: call at %#" PRIx64 " is indirect and its record does not say so",
			    b->name, call);
		if (!indirect && r->flags & PCCE_SITE_INDIRECT && !thunks)
			bad("%s: call at %#" PRIx64 " is direct and its record says indirect",
			    b->name, call);
		return;
	}
	if (thunks && r->flags & PCCE_SITE_INDIRECT)
		printf("range " HEX " " HEX "\n", call, call + length);
	else
		bad("%s: no single call between %#" PRIx64 " and %#" PRIx64, b->name, call,
		    call + length);
}

/* Checks a jump, which the linker or -mharden-sls may have followed with padding. */
static void check_tail(const struct block *b, uint64_t jump, unsigned int length)
{
	const uint8_t *p = code_at(jump, length);
	bool indirect;
	unsigned int n = p ? branch_length(p, length, true, &indirect) : 0;

	printf("tail " HEX "\n", jump);
	if (n && n + 1 == length && (p[n] == 0x90 || p[n] == 0xcc))
		n++;
	if (thunks)
		printf("range " HEX " " HEX "\n", jump, jump + length);
	else if (!n || n != length)
		bad("%s: no jump between %#" PRIx64 " and %#" PRIx64, b->name, jump, jump + length);
}

static void check_sizes(const struct block *b, const struct pcce_site_record *r, uint64_t address)
{
	bool pic = r->flags & PCCE_SITE_PIC,
	     rare = r->flags & PCCE_SITE_NORETURN || b->head.flags & PCCE_BLOCK_COLD;
	unsigned int before = pic ? PCCE_SLOT_DIRECT_PIC : PCCE_SLOT_DIRECT, after = before;
	unsigned int found =
		r->before_len - (r->flags & PCCE_SITE_SPILL_REGS ? PCCE_SLOT_SPILL_REGS : 0);

	if (b->head.flags & PCCE_BLOCK_GATE) {
		before = after = PCCE_SLOT_DIRECT;
	} else if (!rare && r->flags & PCCE_SITE_INDIRECT) {
		before = pic					? PCCE_SLOT_INDIRECT_PIC
			 : r->type && r->freq >= PCCE_FREQ_LOOP ? PCCE_SLOT_TYPED
								: PCCE_SLOT_PUSH;
		after = pic ? PCCE_SLOT_POP_PIC : PCCE_SLOT_POP;
	} else if (!rare && !(r->flags & PCCE_SITE_LEAF) &&
		   found == (pic ? PCCE_SLOT_PUSH_PIC : PCCE_SLOT_PUSH_CLEAR)) {
		/* The compiler expects a push. */
		before = found;
		after = pic ? PCCE_SLOT_POP_PIC : PCCE_SLOT_POP;
	} else if (pic && r->flags & PCCE_SITE_LEAF) {
		before = PCCE_SLOT_LEAF_PIC_BEFORE;
	}
	if (r->flags & PCCE_SITE_SPILL_REGS)
		before += PCCE_SLOT_SPILL_REGS;
	if (r->flags & PCCE_SITE_NORETURN)
		after = 0;
	if (r->flags & (PCCE_SITE_TAIL | PCCE_SITE_RESTORE))
		before = after = 0;
	if (r->flags & PCCE_SITE_TAIL && r->flags & PCCE_SITE_INDIRECT && r->after_len)
		after = PCCE_SLOT_TAIL;
	if (r->before_len != before || r->after_len != after)
		bad("%s: slots at %#" PRIx64 " have %u and %u bytes, not %u and %u", b->name,
		    address, r->before_len, r->after_len, before, after);
}

static void print_site(const struct block *b, const struct pcce_site_record *r)
{
	const uint8_t *p = code_at(b->head.start + r->before + r->before_len, 1);

	printf("site %s %u %#x %u %u %u %u %02x\n", b->name, r->line, r->flags, r->before_len,
	       r->after_len, r->freq, r->copy, p ? *p : 0);
}

/* From a site or a stretch of this block to a stretch of this block. */
static void check_landing(const struct block *b, const struct pcce_site_record *r)
{
	bool from = false, to = false;

	for (unsigned int i = 0; i < b->head.n_sites; i++) {
		const struct pcce_site_record *other = b->records + i;

		if (other->flags & PCCE_SITE_LANDING)
			continue;
		from |= other->before == r->before &&
			!((other->flags ^ r->flags) & PCCE_SITE_RESTORE);
		to |= other->before == r->after && other->flags & PCCE_SITE_RESTORE;
	}
	if (!from || !to || r->before_len || r->after_len ||
	    r->flags & ~(PCCE_SITE_LANDING | PCCE_SITE_RESTORE))
		bad("%s: a landing from %#" PRIx64 " to %#" PRIx64 " that are no sites", b->name,
		    (uint64_t)b->head.start + r->before, (uint64_t)b->head.start + r->after);
	printf("landing " HEX " " HEX " %s\n", (uint64_t)b->head.start + r->before,
	       (uint64_t)b->head.start + r->after,
	       r->flags & PCCE_SITE_RESTORE ? "stretch" : "site");
}

static void check_record(const struct block *b, const struct pcce_site_record *r)
{
	uint64_t before = b->head.start + r->before, call = before + r->before_len,
		 after = b->head.start + r->after;
	const uint8_t *p;
	bool indirect;

	if (r->flags & PCCE_SITE_LANDING) {
		check_landing(b, r);
		return;
	}
	if (r->after + r->after_len > b->head.length || call >= after) {
		bad("%s: record for %#" PRIx64 " leaves its part or is empty", b->name, before);
		return;
	}
	print_site(b, r);
	check_sizes(b, r, before);
	if (r->flags & PCCE_SITE_RESTORE) {
		printf("stale " HEX " " HEX "\n", before, after);
		/* Where its address is in a register, nothing else tells that it is the call of
		 * __pcce_restore. */
		for (unsigned int n = 2; n < 8 && n < after - before; n++)
			if (branch_length(code_at(after - n, n), n, false, &indirect) == n)
				printf("call " HEX "\n", after - n);
		return;
	}
	p = code_at(before, after + r->after_len - before);
	if (!p) {
		bad("%s: no code at %#" PRIx64, b->name, before);
		return;
	}
	if (!all_nops(p, r->before_len) || !all_nops(p + (after - before), r->after_len))
		bad("%s: a slot at %#" PRIx64 " is not all nops", b->name, before);
	if (r->flags & PCCE_SITE_TAIL) {
		check_tail(b, call, after - call);
		return;
	}
	/* pcce-encode writes the call of a gate. */
	if (!(b->head.flags & PCCE_BLOCK_GATE))
		check_call(b, r, call, after - call);
	else if (r->before + r->before_len != PCCE_GATE_CALL ||
		 after - call != PCCE_GATE_CALL_BYTES ||
		 !all_nops(code_at(call, after - call), after - call))
		bad("%s: no room for the call of a gate at %#" PRIx64, b->name, call);
}

/* The jump through the pointer and the frame are there, and the test is still nops. */
static void check_gate(const struct block *b)
{
	const uint8_t *p = code_at(b->head.start, b->head.length);
	bool copies = b->head.length != PCCE_GATE_SIZE;

	if (b->head.n_sites != 2 || b->head.length < PCCE_GATE_SIZE || !p ||
	    memcmp(p, "\x3e\xff\x25", 3) || !all_nops(p + PCCE_GATE_TEST, PCCE_GATE_TEST_BYTES) ||
	    (copies ? p[PCCE_GATE_JUMP + 5] != 0xeb
		    : memcmp(p + PCCE_GATE_JUMP + 5, "\x41\x53", 2)) ||
	    memcmp(p + PCCE_GATE_SIZE - 3, copies ? "\x48\x83\xc4" : "\x41\x5b\xc3", 3))
		bad("%s: no gate at %#" PRIx64, b->name, (uint64_t)b->head.start);
}

static void check_block(const struct block *b)
{
	const struct pcce_site_block *h = &b->head;

	if (!h->start)
		bad("%s: no start", b->name);
	if (!(h->flags & PCCE_BLOCK_COLD) && h->main != h->start)
		bad("%s: main is not start", b->name);
	if (!code_at(h->start, h->length))
		bad("%s: no code at %#" PRIx64 ", %u bytes", b->name, (uint64_t)h->start,
		    h->length);
	else if (h->entry_len &&
		 !all_nops(code_at(h->start + h->entry, h->entry_len), h->entry_len))
		bad("%s: the entry slot is not all nops", b->name);
	printf("part " HEX " " HEX " %s %#x\n", (uint64_t)h->start, (uint64_t)h->start + h->length,
	       b->name, h->flags);
	if (h->flags & PCCE_BLOCK_GATE)
		check_gate(b);
	for (unsigned int i = 0; i < h->n_sites; i++)
		check_record(b, b->records + i);
}

static void check_section(const char *data, size_t size)
{
	size_t at = 0;

	while (at + sizeof(struct pcce_site_block) <= size) {
		struct block b;
		size_t fixed;

		memcpy(&b.head, data + at, sizeof(b.head));
		if (!b.head.magic) { /* padding */
			at += 8;
			continue;
		}
		if (b.head.magic != (PCCE_BLOCK_MAGIC | (uint64_t)PCCE_BLOCK_VERSION << 48)) {
			bad("offset %#zx: no block", at);
			return;
		}
		fixed = sizeof(b.head) + b.head.n_sites * sizeof(struct pcce_site_record);
		if (b.head.size % 8 || at + b.head.size > size || fixed >= b.head.size) {
			bad("offset %#zx: block with size %u", at, b.head.size);
			return;
		}
		b.records = (const void *)(data + at + sizeof(b.head));
		b.name = data + at + fixed;
		if (!memchr(b.name, 0, b.head.size - fixed) ||
		    strlen(b.name) + 1 + 7 < b.head.size - fixed)
			bad("offset %#zx: the name is not where the size says", at);
		else
			check_block(&b);
		at += b.head.size;
	}
}

int main(int argc, char **argv)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf_Data *data;
	size_t names;
	bool found = false;
	int fd;

	if (argc != 2)
		errx(2, "usage: check_sites FILE");
	thunks = getenv("CHECK_THUNKS");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		err(2, "%s", argv[1]);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_getshdrstrndx(elf, &names))
		errx(2, "%s: %s", argv[1], elf_errmsg(-1));
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) ||
		    strcmp(elf_strptr(elf, names, shdr.sh_name), PCCE_SITES_SECTION))
			continue;
		if (shdr.sh_flags & SHF_ALLOC)
			bad("the section is allocated");
		data = elf_getdata(scn, NULL);
		if (data)
			check_section(data->d_buf, data->d_size);
		found = true;
	}
	if (!found)
		bad("there is no section %s", PCCE_SITES_SECTION);
	elf_end(elf);
	close(fd);
	return failed;
}
