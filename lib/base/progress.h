/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shows the progress of long work: a line on the terminal, which appears after a second and is
 * erased when the work is done. Nothing is shown before progress_enable(), or if standard error is
 * not a terminal.
 */
#ifndef PCCE_BASE_PROGRESS_H
#define PCCE_BASE_PROGRESS_H

#include <stdint.h>

void progress_enable(const char *program);

/* Cheap enough for inner loops. all: 0 if it is not known. */
void progress(const char *what, uint64_t done, uint64_t all);

/* Shows work whose progress is not known, if a second has passed already. */
void progress_phase(const char *what);

/* Erases the line. Must be called before anything else is printed. */
void progress_end(void);

#endif
