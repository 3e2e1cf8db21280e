/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares how modules are named in this process (modules.c). */
#ifndef PCCE_USERLIB_CONTEXT_MODULES_H
#define PCCE_USERLIB_CONTEXT_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/dictionary.h>

#pragma GCC visibility push(hidden)

struct named_module {
	uint64_t start, size; /* run-time addresses; size 0: no module */
	uint64_t bias;	      /* run-time address - link-time address */
	struct pcce_name name;
	uint64_t helpers, helpers_end; /* the runtime's helpers in it: pcce_note */
	uint8_t build_id[PCCE_BUILD_ID_MAX];
	uint32_t build_id_size;
	uint8_t encoding[16];
	bool encoded;
	const char *path; /* "": the program */
};

/* The executable. Its size is 0 if it has no name. */
extern struct named_module main_module;
/* Whether context_modules_begin() is done: before, a word of a name cannot be told. */
extern bool modules_known;

void context_modules_begin(void);
/* Fills *m with the module that holds the address. False: no module with a name does. */
bool context_module_at(uint64_t address, struct named_module *m);

static inline bool is_in_module(const struct named_module *m, uint64_t address)
{
	return address - m->start < m->size;
}

/* Is pc the return address of the call that ext names? */
static inline bool is_call_of_ext(uint64_t ext, uint64_t pc)
{
	uint64_t site = ext >> 32 ? ext : ext + main_module.bias;

	return ext && pc - site - 1 < 64;
}

#pragma GCC visibility pop

#endif
