/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Says what samples in the code that pcce-record --count adds to a program mean. */
#ifndef PCCE_COUNT_COUNT_H
#define PCCE_COUNT_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include "sampler/sampler.h"

enum count_code {
	COUNT_CODE_OTHER,   /* the address is in no added code */
	COUNT_CODE_ENTRY,   /* a function is being entered there, and counted */
	COUNT_CODE_UNKNOWN, /* the same, but it is not known which one */
};

/*
 * Looks up an address in a process that contains the engine. s: of sampler_count. If a function is
 * being entered, *address becomes one in that function with the same state. r11: at that address.
 */
enum count_code count_code_at(const struct sampler *s, uint64_t *address, uint64_t r11);

/* Were calls counted at this time (CLOCK_MONOTONIC)? Not between two bursts. */
bool count_was_on(const struct sampler *s, uint64_t time);

#endif
