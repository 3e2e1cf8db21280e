/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Arguments of options that pcce-record and pcce-top share. Both end the program with a message if
 * the argument is wrong. */
#ifndef PCCE_SAMPLE_OPTIONS_H
#define PCCE_SAMPLE_OPTIONS_H

#include <argp.h>
#include "record/record.h"

/* Reads a number from 1 to max. */
unsigned long long sample_option_number(struct argp_state *state, const char *option,
					const char *arg, unsigned long long max);
/* Adds an argument of -p to o->targets. */
void sample_option_target(struct argp_state *state, struct record_options *o, const char *arg);

#endif
