/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Says why a function failed. All of lib/ uses this one convention:
 *
 *   int thing_do(..., struct error *why);	0, or -errno with a text in why->text
 *
 * The text is one sentence for the user, without the program's name in front and without a
 * newline. It names the object ("cannot read FILE: ..."), unless only the caller knows that. The
 * function's comment then calls the text a fragment: it continues a name ("is not an ELF file").
 */
#ifndef PCCE_BASE_ERROR_H
#define PCCE_BASE_ERROR_H

struct error {
	char text[1024]; /* NUL-terminated; longer texts are cut off */
};

/* Writes the text, and returns code so that a function can end with this call. why may be NULL. */
int error_set(struct error *why, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes "out of memory" and returns -ENOMEM. */
int error_memory(struct error *why);

#endif
