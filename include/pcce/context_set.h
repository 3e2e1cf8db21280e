/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines a set of contexts: what libpcce-decode computes from an expression over functions, and
 * what the runtime compares the state of a thread with (pcce_on_context of pcce.h).
 *
 * An expression is a chain of parts, innermost function first. It is an automaton that reads the
 * frames of a context outwards. State q means that q parts have been found. A frame is an 8x8 bit
 * matrix: bit t of byte q says that it leads from state q to state t. A sequence of frames is the
 * product of their matrices. State 0 always remains, so a chain can begin at any frame. The last
 * state remains, too.
 *
 * The ids of a function are cut into ranges. All contexts in a range have the same matrix, or the
 * range leads on to the caller. So one comparison with the bounds of a range replaces the decoding
 * of a whole segment of a context.
 *
 * Between a call that pushed and the function where the next segment begins, other frames can be:
 * uninstrumented code and tail calls. They matter only to few functions, the special ones. For
 * these the glue says what lies between. Elsewhere only persistent states are alive, which no
 * frame changes.
 *
 * All numbers are little-endian. The arrays follow the head in the order of their counts.
 */
#ifndef PCCE_CONTEXT_SET_H
#define PCCE_CONTEXT_SET_H

#include <linux/types.h>
#include <pcce/assert.h>

#define PCCE_SET_MAGIC 0x3154455345434350ULL /* "PCCESET1" */
#define PCCE_SET_SIZE_MAX (1ULL << 30)
#define PCCE_SET_STATES 8
#define PCCE_SET_NONE 0xffffffffu
#define PCCE_SET_IDENTITY 0x8040201008040201ULL
#define PCCE_SET_UNKNOWN 0ULL /* a matrix: any number of unknown frames */

struct pcce_set {
	__u64 magic;
	__u64 size;    /* bytes of all */
	__u64 check_a; /* pcce_name of all that follows the head, in words of 16 bytes */
	__u64 check_b;
	__u64 persistent; /* the matrix of a frame that is in no part */
	__u32 last;	  /* state in which all parts are found */
	__u32 n_modules;
	__u32 n_funcs;
	__u32 n_ranges;
	__u32 n_places;
	__u32 n_glue;
};

struct pcce_set_module {
	__u64 name_a; /* struct pcce_name of dictionary.h */
	__u64 name_b;
	__u32 first_place;
	__u32 n_places; /* a power of two, at least 2 */
	__u32 program;	/* 1: only an executable can be this */
	__u32 reserved;
};

/* Ranges are sorted and disjoint. An id in none of them has no meaning. */
struct pcce_set_func {
	__u32 first;
	__u32 n;
	__u64 reserved;
};

struct pcce_set_range {
	__u64 start; /* ids [start, end) */
	__u64 end;
	__u64 step;   /* matrix of the frames, from the function outwards */
	__u32 caller; /* function in which it goes on with id - start; NONE: the segment begins */
	__u32 root;   /* the special function, + 1, in which it begins; 0: another one */
};

/* A call, in a hash table of its module: linear probing from pcce_set_slot(). */
struct pcce_set_place {
	__u64 key;    /* of the site, link-time; 0: free */
	__u32 func;   /* the caller */
	__u32 callee; /* PCCE_SET_ANY, or a function + 1, or with NAMED the number of a name */
};

#define PCCE_SET_ANY 0u		       /* through a pointer */
#define PCCE_SET_NAMED 0x80000000u     /* of a function outside the module */
#define PCCE_SET_LEAVES 0x40000000u    /* it leaves its module by tail calls */
#define PCCE_SET_EXT 0x20000000u       /* NAMED, of a leaf */
#define PCCE_SET_FUNCS_MAX 0x1fffffffu /* highest number */

/* Sorted by callee, then root. What is not here: uninstrumented code if NAMED, else unknown. */
struct pcce_set_glue {
	__u32 callee;
	__u32 root;
	__u64 step;
};

PCCE_ASSERT_SIZE(pcce_set, 64);
PCCE_ASSERT_SIZE(pcce_set_module, 32);
PCCE_ASSERT_SIZE(pcce_set_func, 16);
PCCE_ASSERT_SIZE(pcce_set_range, 32);
PCCE_ASSERT_SIZE(pcce_set_place, 16);
PCCE_ASSERT_SIZE(pcce_set_glue, 16);

/* The place where the search for a key begins, in a table of n places. */
static inline __u32 pcce_set_slot(__u64 key, __u32 n)
{
	return (__u32)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (n - 1);
}

/* The product of two matrices: first a, then b. */
static inline __u64 pcce_set_product(__u64 a, __u64 b)
{
	__u64 r = 0;

	for (int q = 0; q < PCCE_SET_STATES; q++)
		r |= ((a >> q) & 0x0101010101010101ULL) * ((b >> 8 * q) & 0xff);
	return r;
}

#endif
