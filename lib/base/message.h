/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints messages for people on stderr. Names in messages come from other users' files, so each
 * message is cleaned (text.h). */
#ifndef PCCE_BASE_MESSAGE_H
#define PCCE_BASE_MESSAGE_H

#include <argp.h>

/* Prints "PROGRAM: TEXT" as one line, after the end of the progress line. program: NULL is the name
 * of the running program, and so is every name when pcce runs a command ("pcce record"). */
void message(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Like argp_error(). */
void message_usage(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Ends with a message if an option's argument cannot be used, and returns 0 otherwise. r: 0, or a
 * negative errno. -EINVAL: the argument is wrong, as `why` says. Other errors: status 1. */
error_t message_option(const struct argp_state *state, const char *option, int r, const char *why);

#endif
