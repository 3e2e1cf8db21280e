/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds names to a linker's version script. */
#ifndef PCCE_ENCODE_VERSION_SCRIPT_H
#define PCCE_ENCODE_VERSION_SCRIPT_H

#include <stddef.h>

/*
 * Makes a copy of a version script that exports n more names, malloc'ed. If the script has named
 * versions, the names get the version PCCE_EXPORT_VERSION. Returns 0, -ENOMEM, or -EINVAL: the text
 * defines no version.
 */
int version_script_export(const char *text, char *const *names, size_t n, char **out);

#endif
