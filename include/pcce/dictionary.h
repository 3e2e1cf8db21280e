/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines names of contexts: the note that names a module's encoding, the hash that names a
 * context, and the dictionary that says what the names mean.  The runtime writes all of it, and
 * libpcce-decode reads it.
 *
 * The name of a module is a hash of its build id and of its encoding table.  The table is part of
 * it, since a module can be encoded again without a new build id.  The name of a context is a hash
 * of module names, link-time addresses and saved ids.  So it is the same in every process and on
 * every machine.
 *
 * A context is a list of elements, outermost first.  An element has two words and a kind.  A word
 * is a number, an address in a module, or an address in no known module.  The elements are
 *
 *   - the entries of the thread's own encoding stack.  The kind is the entry's count, with the
 *     values of abi.h for special entries;
 *   - PCCE_ELEMENT_GAP (0, 0) below them if older entries are not known;
 *   - PCCE_ELEMENT_CALL (id, ext) if ext is set, or (PCCE_ID_LOST, 0) if the id is lost;
 *   - PCCE_ELEMENT_CODE (0, return address) if uninstrumented code asked for the name.
 *
 * All ids that are lost count as PCCE_ID_LOST.  In a signal's entries, r11 counts only while the
 * interrupted ip is in a helper, and the id not while it is in a module that is not encoded and ext
 * is 0: both are 0 then.
 *
 * Fill entries are no elements.  Equal calls that follow each other are one element, whether the
 * runtime has counted them in one entry or not, up to a count of PCCE_COUNT_MAX.
 *
 * The name of a list is pcce_name_step() of all its elements, from PCCE_NAME_SEED on; the name of a
 * context is pcce_name_end() of that.  All up to the end of a complete segment of the encoding
 * stack is a list, too, apart from its newest calls, which may go on in the next segment.  So a
 * deep context shares all but its newest elements with others.
 *
 * A context with a signal can have several names: the id may be anything in an entry slot, between
 * push and pop, and in uninstrumented code of an encoded module without ext.  An entry that the
 * interrupted push has claimed may have any content.  The record of a longjmp that is under way
 * says where to.  Where an exception has landed, calls that it has left count, until the function
 * has restored its state.  The runtime changes id, ext and entries one after the other.
 *
 * A dictionary is a text file.  All lines are independent of the file's other contents, so two
 * dictionaries are joined by joining the files.  Numbers are hexadecimal:
 *
 *   pcce1 m BUILD-ID ENCODING PATH      a module; "-" for a build id that it does not have
 *   pcce1 s NAME PARENT ELEMENT...      a complete segment on top of the list PARENT
 *   pcce1 c NAME PARENT ELEMENT...      a context
 *
 * NAME and PARENT have 32 digits: bytes in the order of memory.  PARENT is "-" if there is none.
 * ENCODING is 32 digits of the note.  An element is WORD,WORD,KIND.  A word is
 *
 *   1f           a number
 *   +401136      an address in the module of the previous address in the line
 *   @MODULE+1136 an address in the module whose name begins with these 16 digits (pcce_name.a)
 *   ?7f001136    a run-time address in code without a name
 *
 * A reader computes the name of each line, and ignores a line whose name is another one.
 */
#ifndef PCCE_DICTIONARY_H
#define PCCE_DICTIONARY_H

#include <linux/types.h>
#include <pcce/assert.h>

/* The note of an encoded module, in a section of its own.  pcce-encode writes `encoding`. */
#define PCCE_NOTE_SECTION ".note.pcce"
#define PCCE_NOTE_NAME "pcce"
#define PCCE_NOTE_TYPE 1

struct pcce_note {
	__u32 name_size; /* 5 */
	__u32 desc_size; /* 24 */
	__u32 type;	 /* PCCE_NOTE_TYPE */
	char name[8];
	__u8 encoding[16]; /* XXH3-128 of the encoding table, low half first; 0: not encoded */
	/* The runtime's code in this module that keeps an address in r11 (enum pcce_helper_state of
	 * table.h), as distances from these very fields. */
	__s32 helpers;
	__s32 helpers_end;
};

PCCE_ASSERT_SIZE(pcce_note, 44);
PCCE_ASSERT_OFFSET(pcce_note, encoding, 20);

/* Build ids are cut to this. */
#define PCCE_BUILD_ID_MAX 32

#define PCCE_ELEMENT_GAP 0xfffcULL
#define PCCE_ELEMENT_CODE 0xfffdULL
#define PCCE_ELEMENT_CALL 0xfffeULL

struct pcce_name {
	__u64 a, b;
};

#define PCCE_NAME_SEED                                       \
	{                                                    \
		0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL \
	}
/* Combined with a word that is an address in no known module. */
#define PCCE_NAME_UNKNOWN 0xa4093822299f31d0ULL

static inline __u64 pcce_name_rotate(__u64 x, int n)
{
	return x << n | x >> (64 - n);
}

/* Adds an element.  A word that is an address in a module is combined (xor) with the module's
 * pcce_name.a. */
static inline struct pcce_name pcce_name_step(struct pcce_name h, __u64 first, __u64 second,
					      __u64 kind)
{
	__u64 x = first * 0x9e3779b97f4a7c15ULL, y = second * 0xc2b2ae3d27d4eb4fULL;

	y += kind * 0xd6e8feb86659fd93ULL;
	h.a = pcce_name_rotate(h.a ^ x ^ pcce_name_rotate(y, 29), 27) * 0x9fb21c651e98df25ULL;
	h.b = pcce_name_rotate(h.b + y + pcce_name_rotate(x, 32), 31) * 0xa0761d6478bd642fULL;
	return h;
}

static inline __u64 pcce_name_mix(__u64 x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

/* Never all zeros, which is the name of no context. */
static inline struct pcce_name pcce_name_end(struct pcce_name h)
{
	h.a = pcce_name_mix(h.a + pcce_name_rotate(h.b, 17));
	h.b = pcce_name_mix(h.b ^ h.a) | 1;
	return h;
}

static inline struct pcce_name pcce_name_of_module(const __u8 *build_id, __u32 size,
						   const __u8 encoding[16])
{
	struct pcce_name h = PCCE_NAME_SEED;
	__u8 bytes[PCCE_BUILD_ID_MAX + 16] = {0};

	if (size > PCCE_BUILD_ID_MAX)
		size = PCCE_BUILD_ID_MAX;
	__builtin_memcpy(bytes, build_id, size);
	__builtin_memcpy(bytes + PCCE_BUILD_ID_MAX, encoding, 16);
	for (unsigned int i = 0; i < sizeof(bytes); i += 16) {
		__u64 first, second;

		__builtin_memcpy(&first, bytes + i, 8);
		__builtin_memcpy(&second, bytes + i + 8, 8);
		h = pcce_name_step(h, first, second, size);
	}
	return pcce_name_end(h);
}

#endif
