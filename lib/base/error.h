/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Why something failed, in one sentence for the user, without the program's name in front. */
#ifndef PCCE_BASE_ERROR_H
#define PCCE_BASE_ERROR_H

struct error {
	char text[1024];
};

/* Writes the sentence; returns code, so that a function can end with it. */
int error_set(struct error *f, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int error_memory(struct error *f);

#endif
