// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sorts names by their short texts. Where several are equal, it opens the first fold whose text
 * differs among them, in all of them, and sorts these names again. If no such fold is left, the
 * names stay as they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "symbols/short_name.h"
#include "symbols/short_names.h"

#define MOST_STEPS 64 /* afterwards, names are shown in full */

struct choice {
	uint32_t string;
	const char *full;
	char *text;	      /* NULL: the full name */
	struct short_name *s; /* while there are others with its text */
};

static const char *choice_text(const struct choice *c)
{
	return c->text ? c->text : c->full;
}

static int compare_texts(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;
	int c = strcmp(choice_text(x), choice_text(y));

	return c ? c : x->string < y->string ? -1 : x->string > y->string;
}

/* Returns how many choices from the first one on have its text. */
static size_t run_length(const struct choice *c, size_t n)
{
	size_t k = 1;

	while (k < n && !strcmp(choice_text(c), choice_text(&c[k])))
		k++;
	return k;
}

static void show_full(struct choice *c)
{
	free(c->text);
	c->text = NULL;
}

static int make_choice_text(struct choice *c)
{
	show_full(c);
	c->text = short_name_text(c->s);
	if (!c->text)
		return -ENOMEM;
	if (!strcmp(c->text, c->full))
		show_full(c);
	return 0;
}

/* ---- opening folds --------------------------------------------------------------- */

struct fold {
	struct short_name_fold f;
	struct choice *of;
};

static int compare_folds(const void *a, const void *b)
{
	const struct fold *x = a, *y = b;

	return x->f.place < y->f.place ? -1 : x->f.place > y->f.place;
}

static int list_folds(struct choice *c, size_t n, struct fold **list, size_t *n_list)
{
	*list = NULL;
	*n_list = 0;
	for (size_t i = 0; i < n; i++) {
		size_t n_folds;
		const struct short_name_fold *folds = short_name_folds(c[i].s, &n_folds);

		for (size_t k = 0; k < n_folds; k++) {
			if (array_grow(list, *n_list, sizeof(**list)))
				return -ENOMEM;
			(*list)[(*n_list)++] = (struct fold){folds[k], &c[i]};
		}
	}
	if (*n_list)
		qsort(*list, *n_list, sizeof(**list), compare_folds);
	return 0;
}

/* Opens the first fold that differs among names with equal texts. *opened: there was one. */
static int open_difference(struct choice *c, size_t n, bool *opened)
{
	struct fold *list;
	size_t n_list, to;
	int r = list_folds(c, n, &list, &n_list);

	*opened = false;
	for (size_t i = 0; !r && !*opened && i < n_list; i = to) {
		const struct short_name_fold *f = &list[i].f;
		bool same = true;

		for (to = i; to < n_list && list[to].f.place == f->place; to++)
			same &= list[to].f.size == f->size &&
				!memcmp(list[to].f.text, f->text, f->size);
		if (same && to - i == n)
			continue;
		*opened = true;
		for (size_t k = i; k < to; k++)
			short_name_open(list[k].of->s, list[k].f.piece);
	}
	free(list);
	for (size_t i = 0; !r && i < n; i++) {
		if (*opened)
			r = make_choice_text(&c[i]);
		else
			show_full(&c[i]);
	}
	return r;
}

/* Tells names with equal texts apart. */
static int tell_apart(struct choice *c, size_t n, unsigned int steps)
{
	bool opened = steps < MOST_STEPS;
	int r = 0;

	if (n < 2)
		return 0;
	if (opened)
		r = open_difference(c, n, &opened);
	else
		for (size_t i = 0; i < n; i++)
			show_full(&c[i]);
	if (r || !opened)
		return r;
	qsort(c, n, sizeof(*c), compare_texts);
	for (size_t i = 0, k; !r && i < n; i += k) {
		k = run_length(&c[i], n - i);
		r = tell_apart(&c[i], k, steps + 1);
	}
	return r;
}

/* ---- the whole ------------------------------------------------------------------- */

static int begin_choice(struct choice *c)
{
	c->s = short_name_new(c->full);
	return c->s ? make_choice_text(c) : -ENOMEM;
}

static void end_parsing(struct choice *c)
{
	short_name_free(c->s);
	c->s = NULL;
}

static int tell_run_apart(struct choice *c, size_t n)
{
	int r = 0;

	for (size_t i = 0; !r && i < n && n > 1; i++)
		r = begin_choice(&c[i]);
	r = r ? r : tell_apart(c, n, 0);
	for (size_t i = 0; i < n; i++)
		end_parsing(&c[i]);
	return r;
}

/* A text with open folds could be the whole name of another function. Such names are shown in full,
 * which no two functions share. */
static void end_doubts(struct choice *c, size_t n)
{
	bool any;

	do {
		any = false;
		qsort(c, n, sizeof(*c), compare_texts);
		for (size_t i = 0, k; i < n; i += k) {
			k = run_length(&c[i], n - i);
			for (size_t j = i; k > 1 && j < i + k; j++) {
				any |= c[j].text != NULL;
				show_full(&c[j]);
			}
		}
	} while (any);
}

static int choose_all(struct choice *c, size_t n)
{
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		r = begin_choice(&c[i]);
		end_parsing(&c[i]);
	}
	if (r || !n)
		return r;
	qsort(c, n, sizeof(*c), compare_texts);
	for (size_t i = 0, k; !r && i < n; i += k) {
		k = run_length(&c[i], n - i);
		r = tell_run_apart(&c[i], k);
	}
	if (!r)
		end_doubts(c, n);
	return r;
}

int short_names_choose(struct symbol_table *names, const uint32_t *strings, size_t n)
{
	struct choice *c = calloc(n + 1, sizeof(*c));
	size_t n_choices = 0;
	bool *listed = calloc(symbol_table_count(names) + 1, sizeof(*listed));
	int r = c && listed ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < n; i++) {
		if (listed[strings[i]])
			continue;
		listed[strings[i]] = true;
		c[n_choices++] = (struct choice){.string = strings[i],
						 .full = symbol_table_string(names, strings[i])};
	}
	if (!r)
		r = choose_all(c, n_choices);
	for (size_t i = 0; c && i < n_choices; i++) {
		if (!r)
			r = symbol_table_set_short(names, c[i].string, c[i].text);
		free(c[i].text);
	}
	free(c);
	free(listed);
	return r;
}
