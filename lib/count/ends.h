/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Plans how the ends of calls are seen (--latency): the after-slots of all calls that may execute a
 * timed function begin with a jump to a stub. The stub calls the engine, does what the slot did,
 * and goes on behind it. The calls of __pcce_restore lead to stubs, too, which tell the engine that
 * a jump or an exception has landed.
 */
#ifndef PCCE_COUNT_ENDS_H
#define PCCE_COUNT_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/counting.h>
#include "base/error.h"
#include "elf/encoding_table.h"
#include "elf/module.h"

/* An after-slot that changes. */
struct count_end {
	uint64_t slot;
	uint64_t behind; /* where the program goes on */
	uint8_t n;	 /* bytes of instructions that the stub has, too */
	uint8_t far[2];	 /* offsets of distances in them; 0: none */
	bool by_helper;	 /* the last one calls the helper that pops: the stub jumps to pop_slow */
};

struct count_ends {
	struct count_end *list; /* sorted by slot */
	size_t n, capacity;
	uint64_t *restores; /* distances in calls of __pcce_restore */
	size_t n_restores, restores_capacity;
	uint64_t *guards; /* jumps that must always lead past the guard: jne becomes jmp */
	size_t n_guards, guards_capacity;
	uint64_t restore, pop_slow; /* 0: none */
};

/*
 * timed: by number of a function of the table, whether it is timed. Returns 0, or -errno with a
 * fragment that continues the file's name.
 */
int count_ends_make(const struct elf_module *m, const struct encoding_table *t, const bool *timed,
		    struct count_ends *out, struct error *why);
void count_ends_free(struct count_ends *e);

/* Bytes of all stubs: those of the slots, and the one of __pcce_restore. */
size_t count_ends_size(const struct count_ends *e);

/* Where things are in the process. */
struct count_ends_layout {
	uint64_t bias, stubs;
	uint64_t end, jump; /* functions of the engine */
};

/* Makes the stubs. code: the module's. */
void count_ends_stubs(const struct count_ends *e, const struct elf_module *m,
		      const struct count_ends_layout *l, uint8_t *out);

/* As count_plan_patch(). */
int count_ends_patch(const struct count_ends *e, const struct count_ends_layout *l,
		     int (*write)(void *ctx, uint64_t address, const void *bytes, size_t n),
		     void *ctx);

/* The instruction of a slot that has the same state as the one at an offset in the stubs; 0: there
 * is none. */
uint64_t count_ends_slot_of(const struct count_ends *e, uint64_t offset);

#endif
