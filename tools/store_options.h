/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of commands that read from a store. */
#ifndef PCCE_STORE_OPTIONS_H
#define PCCE_STORE_OPTIONS_H

#include <argp.h>
#include <stdint.h>

struct store_options {
	const char *from;		   /* NULL: not from a store */
	const char *since, *until, *where; /* as given; NULL: not given */
	uint64_t since_time, until_time;   /* seconds since 1970; until_time 0: now */
};

/* A child parser whose input is struct store_options. */
extern const struct argp store_argp;

#endif
