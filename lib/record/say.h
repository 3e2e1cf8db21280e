/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints messages of pcce-record. */
#ifndef PCCE_RECORD_SAY_H
#define PCCE_RECORD_SAY_H

/* Prints "pcce-record: TEXT" to standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
