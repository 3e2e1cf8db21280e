/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Looks up kernel addresses in one pass over /proc/kallsyms. The file has about 100,000 lines in no
 * reliable order, and few addresses are looked up. So each address keeps the nearest symbol below
 * it that the pass has met.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/array.h"
#include "symbols/kallsyms.h"

#define FARTHEST (1u << 20) /* no function is larger */

struct nearest {
	uint64_t symbol;
	char *function;
};

static size_t first_kernel_address_from(const uint64_t *addresses, size_t n, uint64_t from)
{
	return SORTED_COUNT(i, n, addresses[i] < from);
}

/* Is a the plainer of two names at one address? For example open, not __x64_open. */
static bool is_plainer_name(const char *a, const char *b)
{
	size_t x = strspn(a, "_"), y = strspn(b, "_");

	return x != y ? x < y : strcmp(a, b) < 0;
}

static int offer_kernel_symbol(const uint64_t *addresses, size_t n, struct nearest *nearest,
			       uint64_t symbol, const char *function)
{
	for (size_t i = first_kernel_address_from(addresses, n, symbol);
	     i < n && addresses[i] - symbol < FARTHEST; i++) {
		struct nearest *x = &nearest[i];
		char *copy;

		if (x->function &&
		    (x->symbol > symbol ||
		     (x->symbol == symbol && !is_plainer_name(function, x->function))))
			continue;
		copy = strdup(function);
		if (!copy)
			return -ENOMEM;
		free(x->function);
		*x = (struct nearest){symbol, copy};
	}
	return 0;
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

static int read_kallsyms(FILE *f, const uint64_t *addresses, size_t n, struct nearest *nearest,
			 bool *any)
{
	char *line = NULL;
	size_t capacity = 0;
	int err = 0;

	while (!err && getline(&line, &capacity, f) > 0) {
		uint64_t symbol;
		char type, *function = parse_kallsyms_line(line, &symbol, &type);

		if (!function)
			continue;
		*any = true;
		if (strchr("tTwW", type))
			err = offer_kernel_symbol(addresses, n, nearest, symbol, function);
	}
	free(line);
	return err;
}

int kallsyms_lookup(const uint64_t *addresses, size_t n,
		    int (*name)(void *ctx, uint64_t address, uint64_t symbol, const char *function),
		    void *ctx, struct error *why)
{
	struct nearest *nearest = calloc(n + 1, sizeof(*nearest));
	FILE *f = fopen("/proc/kallsyms", "re");
	bool any = false;
	int err = 0;

	if (!f) {
		err = -errno;
		error_set(why, 0, "cannot be read from /proc/kallsyms");
	} else if (!nearest) {
		err = -ENOMEM;
		error_set(why, 0, "need more memory than is available");
	} else {
		err = read_kallsyms(f, addresses, n, nearest, &any);
		if (err) {
			error_set(why, 0, "need more memory than is available");
		} else if (!any) {
			err = -EPERM;
			error_set(why, 0,
				  "are hidden; become root, or set kernel.kptr_restrict to 0");
		}
	}
	for (size_t i = 0; i < n && !err; i++)
		if (nearest[i].function)
			err = name(ctx, addresses[i], nearest[i].symbol, nearest[i].function);
	for (size_t i = 0; nearest && i < n; i++)
		free(nearest[i].function);
	free(nearest);
	if (f)
		fclose(f);
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

/* ---- all symbols ----------------------------------------------------------------- */

struct kernel_symbol {
	uint64_t address;
	char *function;
};

struct kernel_symbols {
	struct kernel_symbol *all;
	size_t n, capacity;
};

static int add_kernel_function(struct kernel_symbols *k, uint64_t address, const char *function)
{
	char *copy;

	if (array_grow_from(&k->all, k->n, &k->capacity, 65536, sizeof(*k->all)))
		return -ENOMEM;
	copy = strdup(function);
	if (!copy)
		return -ENOMEM;
	k->all[k->n++] = (struct kernel_symbol){address, copy};
	return 0;
}

/* The plainest name of an address comes first. */
static int compare_kernel_symbols(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return is_plainer_name(x->function, y->function)   ? -1
	       : is_plainer_name(y->function, x->function) ? 1
							   : 0;
}

struct kernel_symbols *kernel_symbols_read(void)
{
	struct kernel_symbols *k = calloc(1, sizeof(*k));
	FILE *f = fopen("/proc/kallsyms", "re");
	char *line = NULL;
	size_t capacity = 0;
	int err = k ? 0 : -ENOMEM;

	while (f && !err && getline(&line, &capacity, f) > 0) {
		uint64_t symbol;
		char type, *function = parse_kallsyms_line(line, &symbol, &type);

		if (function && strchr("tTwW", type))
			err = add_kernel_function(k, symbol, function);
	}
	free(line);
	if (f)
		fclose(f);
	if (err) {
		kernel_symbols_free(k);
		return NULL;
	}
	if (k->n)
		qsort(k->all, k->n, sizeof(*k->all), compare_kernel_symbols);
	return k;
}

const char *kernel_symbols_at(const struct kernel_symbols *k, uint64_t address, uint64_t *symbol)
{
	size_t at = SORTED_COUNT(i, k->n, k->all[i].address <= address);

	if (!at || address - k->all[at - 1].address >= FARTHEST)
		return NULL;
	*symbol = k->all[--at].address;
	while (at && k->all[at - 1].address == *symbol)
		at--;
	return k->all[at].function;
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	for (size_t i = 0; k && i < k->n; i++)
		free(k->all[i].function);
	if (k)
		free(k->all);
	free(k);
}
