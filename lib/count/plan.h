/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Plans how entries into the functions of a module are counted: which bytes of its code change, and
 * the stubs that they lead to.
 *
 * A *place* is an address where functions are entered: behind the entry slot, or at the start if
 * there is no slot that sets the id. Each place has a stub, which calls the counting engine and
 * goes on at the place.
 *
 *  - An entry slot that sets the id is replaced by a jump to the stub, which sets the id first.
 *  - Direct calls and jumps that lead to a place lead to its stub instead. A short jump reaches it
 *    by a long jump in the padding between two functions.
 *  - Calls of a gate remain: it is no function of the source. Its jump to the function leads to the
 *    stub, and so does its pointer.
 *
 * So each entry is counted once, when the id and the stack are the function's own. Short jumps
 * without padding nearby remain: the tail calls that they make are not counted.
 */
#ifndef PCCE_COUNT_PLAN_H
#define PCCE_COUNT_PLAN_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/counting.h>
#include "base/error.h"
#include "count/ends.h"
#include "elf/encoding_table.h"
#include "elf/module.h"

#define COUNT_STUB 40	    /* bytes */
#define COUNT_BURST_STUB 64 /* of one that counts in bursts only */

struct count_place {
	uint64_t vaddr;
	uint32_t start; /* that the slot sets */
	/* Bytes from the slot's instructions that set the id to the place. 0: there are none. */
	uint8_t slot;
	/* The slot keeps the id and skips that instruction if the function was called as a leaf. */
	bool keeps;
};

/* A distance at vaddr, to the stub of a place. */
struct count_distance {
	uint64_t vaddr;
	uint64_t relay; /* of a short jump: where the long one is; else 0 */
	uint32_t place;
};

struct count_plan {
	struct count_place *places; /* sorted by address */
	size_t n_places, places_capacity;
	struct count_distance *distances;
	size_t n_distances, distances_capacity;
	uint64_t text, text_end; /* executable segments */
	int64_t tpoff;		 /* as in struct pcce_table: of an executable */
	uint64_t got;		 /* the same: of a library; else 0 */
	uint32_t n_left;	 /* short jumps that remain */
	/* If calls are timed; module is NULL otherwise. */
	const struct elf_module *module;
	struct count_ends ends;
};

/* timed: NULL, or by number of a function of the table, whether it is timed; others are not
 * counted then. m must remain then. Returns 0, or -errno with a fragment that continues the file's
 * name. */
int count_plan_make(const struct elf_module *m, const struct encoding_table *t, const bool *timed,
		    struct count_plan *out, struct error *why);
void count_plan_free(struct count_plan *p);

/* Where things are in the process. */
struct count_layout {
	uint64_t bias;	    /* run-time address - link-time address */
	uint64_t stubs;	    /* the first one */
	uint64_t engine;    /* the function that stubs call */
	uint64_t engine_at; /* not 0: it may be far away, and its address is here */
	uint64_t end, jump; /* others, if calls are timed */
	uint64_t burst;	    /* pcce_count_area.burst; 0: the engine is always called */
	uint32_t first;	    /* number of the first place */
};

/* Bytes of a stub. */
size_t count_plan_stub_size(bool bursts);

/*
 * Finds the place of an instruction of a stub, offset bytes behind the first stub. size: of a stub.
 * Returns the address in the function that has the same state, or 0 if there is none.
 */
uint64_t count_plan_place_of(const struct count_plan *p, uint64_t offset, size_t size);

/* Bytes of the stubs of places. Behind them are those of after-slots, if calls are timed. */
size_t count_plan_ends_at(const struct count_plan *p, bool bursts);
/* Bytes of all stubs. */
size_t count_plan_stubs_size(const struct count_plan *p, bool bursts);

/* Makes the stubs. */
void count_plan_stubs(const struct count_plan *p, const struct count_layout *l, uint8_t *out);

/* Calls write for each change of the code, with run-time addresses. Stops at the first error. */
int count_plan_patch(const struct count_plan *p, const struct count_layout *l,
		     int (*write)(void *ctx, uint64_t address, const void *bytes, size_t n),
		     void *ctx);

#endif
