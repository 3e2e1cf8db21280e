/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How far long work has come: a line on a terminal that appears after a second and is
 * wiped off when the work is done.  Without progress_enable() nothing is ever shown, nor
 * if standard error is not a terminal.
 */
#ifndef PCCE_BASE_PROGRESS_H
#define PCCE_BASE_PROGRESS_H

#include <stdint.h>

void progress_enable(const char *program);

/* Cheap: ask as often as you like. all: 0 if it is not known. */
void progress(const char *what, uint64_t done, uint64_t all);

/* Work of which nobody knows how far it is: shown from now on, if a second has passed already. */
void progress_phase(const char *what);

/* Before anything else is printed. */
void progress_end(void);

#endif
