/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Formats numbers for the recorder's messages. Results are cut off at size bytes. */
#ifndef PCCE_RECORD_FORMAT_NUMBER_H
#define PCCE_RECORD_FORMAT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* 1234567 becomes "1,234,567". */
void format_count(char *to, size_t size, uint64_t n);
/* 1234567 becomes "1.2 MB". */
void format_bytes(char *to, size_t size, uint64_t bytes);

#endif
