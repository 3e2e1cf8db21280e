/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What addresses and functions are called: the MODULE and SYMBOL records and the
 * tables of a recording, demangled.  Strings are numbered; equal strings have equal
 * numbers, and 0 is "".
 */
#ifndef PCCE_SYMBOLS_SYMBOL_TABLE_H
#define PCCE_SYMBOLS_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "elf/table.h"

struct names;

/* One level of inlining at an address. */
struct symbol {
	uint64_t vaddr;
	uint32_t module, depth;	 /* innermost: 0 */
	uint32_t function, file; /* strings */
	uint32_t line;
	uint32_t flags;
};

/* How C++ names are shown. */
enum names_style {
	NAMES_FULL,   /* with parameters */
	NAMES_SIMPLE, /* without */
	NAMES_RAW,    /* as the linker knows them */
};

struct names *names_new(enum names_style style);
void names_free(struct names *n);

/* All return 0 or -ENOMEM; the table and its data must outlive the names. */
int names_add_module(struct names *n, const struct pcce_rec_module *rec, const char *path);
int names_add_map(struct names *n, const struct pcce_rec_map *rec);
int names_add_symbol(struct names *n, const struct pcce_rec_symbol *rec, const char *function, const char *file);
int names_set_table(struct names *n, uint32_t module, const struct table *t);
/* After the last symbol, before the first lookup. */
int names_finish(struct names *n);

uint32_t names_intern(struct names *n, const char *string); /* UINT32_MAX: no memory */
const char *names_string(const struct names *n, uint32_t string);
size_t names_count(const struct names *n); /* of strings */
uint32_t names_modules(const struct names *n);
uint32_t names_module(const struct names *n, const char *path); /* UINT32_MAX: none */
const char *names_path(const struct names *n, uint32_t module); /* "" if unknown */
/* Its build id: the size, 0 if it has none. */
size_t names_build_id(const struct names *n, uint32_t module, const uint8_t **id);
const char *names_base(const struct names *n, uint32_t module); /* its last component */
/* In hexadecimal; "" if it has none. Returns text. */
#define NAMES_BUILD_ID 65
const char *names_build_id_text(const struct names *n, uint32_t module, char text[NAMES_BUILD_ID]);
/* Link-time addresses of its code that was mapped; false: none was. */
bool names_code(const struct names *n, uint32_t module, uint64_t *low, uint64_t *high);
const struct table *names_table(const struct names *n, uint32_t module);

/* The inline chain at an address, innermost first: its length, 0 if nothing is known. */
size_t names_at(const struct names *n, uint32_t module, uint64_t vaddr, const struct symbol **chain);
size_t names_symbols(const struct names *n); /* how many there are */
/* How many addresses of a module have a name, and how many of them a line. */
size_t names_known(const struct names *n, uint32_t module, size_t *with_line);
/* Forgets the symbols of a module: others will be added, and then names_finish() is called again. */
void names_drop_symbols(struct names *n, uint32_t module);
/* An instrumented function's own name. */
uint32_t names_function(struct names *n, uint32_t module, uint32_t func);
uint32_t names_demangled(struct names *n, const char *mangled);

#endif
