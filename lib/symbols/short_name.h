/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shortens demangled C++ names for people. The demangler decides what a name is; this only leaves
 * parts of it out:
 *
 *   std::_Rb_tree<int, int, std::_Identity<int> >::_M_insert_(int const&)
 *   std::_Rb_tree::_M_insert_
 *
 * Parts that can be left out are template arguments, parameters with what follows them (const, &&),
 * return types and ABI tags (also std::__cxx11::). Each of them is a *fold*, which can be opened.
 * An opened list shows the items that are opened, and "…" for others: std::map<…, long>::find.
 *
 * A name that does not have the form of a C++ name, such as that of C, Rust or Go, stays as it is.
 */
#ifndef PCCE_SYMBOLS_SHORT_NAME_H
#define PCCE_SYMBOLS_SHORT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct short_name;

/* Reads a name, which must live as long as the result. NULL: no memory. */
struct short_name *short_name_new(const char *full);
void short_name_free(struct short_name *s);

/* A part that is left out of the text that short_name_text() returned last. */
struct short_name_fold {
	uint64_t place; /* equal in two names with equal texts: the same part of both */
	const char *text;
	size_t size;
	uint32_t piece; /* for short_name_open() */
};

/* Returns the name without its closed folds. The caller frees the text. NULL: no memory. */
char *short_name_text(struct short_name *s);
/* Returns the closed folds, valid until the next call of short_name_text(). */
const struct short_name_fold *short_name_folds(const struct short_name *s, size_t *n);
void short_name_open(struct short_name *s, uint32_t piece);

/* Whether `text` is `full` with some folds open and others closed. It is then a name that a user
 * may have copied from a report. Without memory, false. */
bool short_name_matches(const char *text, const char *full);

#endif
