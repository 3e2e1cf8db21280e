/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names addresses and functions: from the MODULE and SYMBOL records and the encoding tables of a
 * recording, demangled. Strings have numbers: equal strings have equal numbers, and 0 is "".
 */
#ifndef PCCE_SYMBOLS_SYMBOL_TABLE_H
#define PCCE_SYMBOLS_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "elf/encoding_table.h"

struct symbol_table;

/* One level of inlining at an address. */
struct symbol_table_entry {
	uint64_t vaddr;
	uint64_t symbol;	 /* start of the function's symbol; 0: unknown */
	uint32_t module, depth;	 /* innermost: 0 */
	uint32_t function, file; /* strings */
	uint32_t line;
	uint32_t flags;
};

/* How C++ names are shown. */
enum symbol_table_style {
	SYMBOL_NAMES_FULL,   /* with parameters */
	SYMBOL_NAMES_SIMPLE, /* without */
	SYMBOL_NAMES_RAW,    /* mangled, as the linker knows them */
};

struct symbol_table *symbol_table_new(enum symbol_table_style style);
void symbol_table_free(struct symbol_table *n);

/*
 * These functions return 0 or -ENOMEM. The encoding tables and their data must outlive the symbol
 * table.
 */
int symbol_table_add_module(struct symbol_table *n, const struct pcce_rec_module *rec,
			    const char *path);
int symbol_table_add_map(struct symbol_table *n, const struct pcce_rec_map *rec);
int symbol_table_add_symbol(struct symbol_table *n, const struct pcce_rec_symbol *rec,
			    const char *function, const char *file);
int symbol_table_set_table(struct symbol_table *n, uint32_t module, const struct encoding_table *t);
/* Call this after the last symbol and before the first lookup. */
int symbol_table_finish(struct symbol_table *n);

uint32_t symbol_table_intern(struct symbol_table *n,
			     const char *string); /* UINT32_MAX: no memory */
const char *symbol_table_string(const struct symbol_table *n, uint32_t string);
size_t symbol_table_count(const struct symbol_table *n); /* of strings */
/* Gives a string a short form for people (short_names.h); NULL: none. 0 or -ENOMEM. */
int symbol_table_set_short(struct symbol_table *n, uint32_t string, const char *text);
/* Returns the short form; the string itself if it has none. */
const char *symbol_table_short(const struct symbol_table *n, uint32_t string);
/* Returns what people see: the short form, or the string itself after symbol_table_show_full(). */
const char *symbol_table_shown(const struct symbol_table *n, uint32_t string);
void symbol_table_show_full(struct symbol_table *n, bool full);
bool symbol_table_shows_full(const struct symbol_table *n);
uint32_t symbol_table_modules(const struct symbol_table *n);
uint32_t symbol_table_module(const struct symbol_table *n, const char *path); /* UINT32_MAX: none */
const char *symbol_table_path(const struct symbol_table *n, uint32_t module); /* "" if unknown */
/* Returns the size of the module's build id; 0 if it has none. */
size_t symbol_table_build_id(const struct symbol_table *n, uint32_t module, const uint8_t **id);
const char *symbol_table_base(const struct symbol_table *n,
			      uint32_t module); /* its last component */
/* Writes the build id in hexadecimal, "" if the module has none. Returns text. */
#define SYMBOL_TABLE_BUILD_ID 65
const char *symbol_table_build_id_text(const struct symbol_table *n, uint32_t module,
				       char text[SYMBOL_TABLE_BUILD_ID]);
/* The range of link-time addresses of the module's mapped code. False: none was mapped. */
bool symbol_table_code(const struct symbol_table *n, uint32_t module, uint64_t *low,
		       uint64_t *high);
const struct encoding_table *symbol_table_table(const struct symbol_table *n, uint32_t module);

/*
 * Finds the inline chain at an address, innermost first. Returns its length; 0: nothing is known.
 */
size_t symbol_table_at(const struct symbol_table *n, uint32_t module, uint64_t vaddr,
		       const struct symbol_table_entry **chain);
size_t symbol_table_symbols(const struct symbol_table *n); /* how many there are */
/* Counts the addresses of a module that have a name, and those of them with a line. */
size_t symbol_table_known(const struct symbol_table *n, uint32_t module, size_t *with_line);
/*
 * Drops the symbols of a module. Afterwards new ones can be added before another
 * symbol_table_finish().
 */
void symbol_table_drop_symbols(struct symbol_table *n, uint32_t module);
/* Returns the name of an instrumented function. */
uint32_t symbol_table_function(struct symbol_table *n, uint32_t module, uint32_t func);
uint32_t symbol_table_demangled(struct symbol_table *n, const char *mangled);

#endif
