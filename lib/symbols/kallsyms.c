/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads all functions of /proc/kallsyms, which has about 100,000 lines in no reliable order, and
 * sorts them. Their names are one text, since an allocation for each takes longer than to read it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "symbols/kallsyms.h"

#define FARTHEST (1u << 20) /* no function is larger */

struct kernel_symbol {
	uint64_t address;
	size_t name; /* where it begins in the text */
};

struct kernel_symbols {
	struct kernel_symbol *all;
	size_t n, capacity;
	char *text;
	size_t length, text_capacity;
};

/* Is a the plainer of two names at one address? For example open, not __x64_open. */
static bool is_plainer_name(const char *a, const char *b)
{
	size_t x = strspn(a, "_"), y = strspn(b, "_");

	return x != y ? x < y : strcmp(a, b) < 0;
}

/* Parses "ADDRESS TYPE NAME[\tMODULE]". Returns the name and cuts what follows it, or NULL. Not by
 * sscanf(), which takes as long as the kernel takes to write the file. */
static char *parse_kallsyms_line(char *line, uint64_t *symbol, char *type)
{
	char *rest;

	*symbol = strtoull(line, &rest, 16);
	if (!*symbol || rest == line || rest[0] != ' ' || !rest[1] || rest[2] != ' ')
		return NULL;
	*type = rest[1];
	rest += 3;
	rest[strcspn(rest, " \t\n")] = 0;
	return *rest ? rest : NULL;
}

static int add_kernel_function(struct kernel_symbols *k, uint64_t address, const char *function)
{
	size_t length = strlen(function) + 1;

	if (array_grow_from(&k->all, k->n, &k->capacity, 65536, sizeof(*k->all)) ||
	    array_reserve(&k->text, &k->text_capacity, k->length + length, 1))
		return -ENOMEM;
	memcpy(k->text + k->length, function, length);
	k->all[k->n++] = (struct kernel_symbol){address, k->length};
	k->length += length;
	return 0;
}

COMPARE_BY1(compare_kernel_symbols, struct kernel_symbol, address);

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	free(k->all);
	free(k->text);
	free(k);
}

int kernel_symbols_read(struct kernel_symbols **out, struct error *why)
{
	struct kernel_symbols *k = calloc(1, sizeof(*k));
	FILE *f = fopen("/proc/kallsyms", "re");
	char *line = NULL;
	size_t capacity = 0;
	int err = f ? 0 : error_set(why, -errno, "cannot be read from /proc/kallsyms");

	if (!k && !err)
		err = error_set(why, -ENOMEM, "need more memory than is available");
	while (!err && getline(&line, &capacity, f) > 0) {
		uint64_t symbol;
		char type, *function = parse_kallsyms_line(line, &symbol, &type);

		if (function && strchr("tTwW", type) && add_kernel_function(k, symbol, function))
			err = error_set(why, -ENOMEM, "need more memory than is available");
	}
	free(line);
	if (f)
		fclose(f);
	if (!err && !k->n)
		err = error_set(why, -EPERM,
				"are hidden; become root, or set kernel.kptr_restrict to 0");
	if (err) {
		kernel_symbols_free(k);
		k = NULL;
	} else {
		qsort(k->all, k->n, sizeof(*k->all), compare_kernel_symbols);
	}
	*out = k;
	return err;
}

const char *kernel_symbols_at(const struct kernel_symbols *k, uint64_t address, uint64_t *symbol)
{
	size_t at = SORTED_COUNT(i, k->n, k->all[i].address <= address);
	const char *best;

	if (!at || address - k->all[at - 1].address >= FARTHEST)
		return NULL;
	*symbol = k->all[--at].address;
	best = k->text + k->all[at].name;
	while (at && k->all[at - 1].address == *symbol) {
		const char *name = k->text + k->all[--at].name;

		if (is_plainer_name(name, best))
			best = name;
	}
	return best;
}

int kallsyms_lookup(const uint64_t *addresses, size_t n,
		    int (*name)(void *ctx, uint64_t address, uint64_t symbol, const char *function),
		    void *ctx, struct error *why)
{
	struct kernel_symbols *k;
	int err = kernel_symbols_read(&k, why);

	for (size_t i = 0; i < n && !err; i++) {
		uint64_t symbol;
		const char *function = kernel_symbols_at(k, addresses[i], &symbol);

		if (function)
			err = name(ctx, addresses[i], symbol, function);
	}
	kernel_symbols_free(k);
	return err;
}

int kallsyms_list(uint64_t **starts, size_t *n)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char *line = NULL;
	size_t capacity = 0;
	int err = f ? 0 : -EPERM;

	*starts = NULL;
	*n = 0;
	while (!err && getline(&line, &capacity, f) > 0) {
		uint64_t symbol;
		char type;

		if (!parse_kallsyms_line(line, &symbol, &type) || !strchr("tTwW", type))
			continue;
		err = array_grow(starts, *n, sizeof(**starts));
		if (!err)
			(*starts)[(*n)++] = symbol;
	}
	free(line);
	if (f)
		fclose(f);
	if (!err && !*n)
		err = -EPERM;
	if (!err)
		qsort(*starts, *n, sizeof(**starts), compare_u64);
	return err;
}
