/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A dictionary of libpcce-decode: the inside, for the tools that add symbols to it. */
#ifndef PCCE_API_DICTIONARY_H
#define PCCE_API_DICTIONARY_H

#include <pcce/decode.h>
#include "api/context.h"
#include "api/dictionary_lines.h"

/* The low bits of a run-time address are the link-time address. */
#define DICTIONARY_RANGE_BITS 36

const struct dictionary_lines *dictionary_content(const struct pcce_decode_dictionary *d);

/* A frame of the last context that was decoded, as the decoder gives it, is in the dictionary's
 * module of this index; SIZE_MAX: in none. */
size_t dictionary_module_of(const struct pcce_decode_dictionary *d, const struct decode_frame *f);
/* The file of a module; NULL: not found. */
const char *dictionary_module_file(const struct pcce_decode_dictionary *d, size_t module);
/* The symbols of the frames; numbers of modules in it are those of the frames. */
struct symbol_table *dictionary_names(struct pcce_decode_dictionary *d);

#endif
