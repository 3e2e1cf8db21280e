/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ratios BASE <MEASURED
 *
 * Computes the ratios of all columns to the column BASE, with bootstrap intervals.  Input lines are
 * `program,column,layout,block,own,all`.
 *
 * A block gives one ratio for each column.  A layout's ratio is the median of its blocks.  A
 * program's ratio is the geometric mean over its layouts, a column's that over the programs.
 * The 95% intervals come from 2,000 bootstrap samples, which resample layouts, and blocks within
 * a layout.  A block without the base is an error.
 *
 * Prints lines `program,column,own,own_low,own_high,all,all_low,all_high`.  For each column the
 * program "(geometric mean)" follows the programs.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOTSTRAPS 2000
#define MAX_NAMES 256

struct row {
	int program, column, layout, block;
	double own, all;
};

struct names {
	char *list[MAX_NAMES];
	int n;
};

/* The block ratios of one program and column, by layout. */
struct cell {
	double *ratio;
	int *layout;
	int n, n_layouts;
};

static struct row *rows;
static size_t n_rows;
static struct names programs, columns;

static int number_of(struct names *names, const char *name)
{
	int i;

	for (i = 0; i < names->n && strcmp(names->list[i], name); i++)
		;
	if (i == MAX_NAMES)
		exit(1);
	if (i == names->n)
		names->list[names->n++] = strdup(name);
	return i;
}

static void read_rows(void)
{
	char program[64], column[64];
	size_t room = 0;
	struct row r;
	int got;

	while ((got = scanf(" %63[^,],%63[^,],%d,%d,%lf,%lf", program, column, &r.layout, &r.block,
			    &r.own, &r.all)) == 6) {
		if (n_rows == room)
			rows = realloc(rows, (room = room ? 2 * room : 1024) * sizeof(*rows));
		if (!rows)
			exit(1);
		r.program = number_of(&programs, program);
		r.column = number_of(&columns, column);
		rows[n_rows++] = r;
	}
	if (got != EOF) {
		fprintf(stderr, "ratios: cannot read line %zu: it does not have six values\n",
			n_rows + 1);
		exit(1);
	}
}

/* Finds the base of a row's block, among the adjacent rows of that block.  Each group of columns
 * has separate blocks, each with the base.
 */
static const struct row *base_of(size_t at, int base)
{
	const struct row *r = &rows[at];

	for (size_t i = at + 1;
	     i-- > 0 && rows[i].program == r->program && rows[i].block == r->block;)
		if (rows[i].column == base)
			return &rows[i];
	for (size_t i = at;
	     i < n_rows && rows[i].program == r->program && rows[i].block == r->block; i++)
		if (rows[i].column == base)
			return &rows[i];
	fprintf(stderr, "ratios: cannot compare block %d of %s: it has no column '%s'\n", r->block,
		programs.list[r->program], columns.list[base]);
	exit(1);
}

static bool fill_cell(struct cell *c, int program, int column, int base, bool own)
{
	memset(c, 0, sizeof(*c));
	c->ratio = calloc(n_rows, sizeof(double));
	c->layout = calloc(n_rows, sizeof(int));
	if (!c->ratio || !c->layout)
		exit(1);
	for (size_t i = 0; i < n_rows; i++) {
		const struct row *b;

		if (rows[i].program != program || rows[i].column != column)
			continue;
		b = base_of(i, base);
		c->ratio[c->n] = own ? rows[i].own / b->own : rows[i].all / b->all;
		c->layout[c->n++] = rows[i].layout;
		if (rows[i].layout > c->n_layouts)
			c->n_layouts = rows[i].layout;
	}
	return c->n;
}

static int compare_ratios(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare_ratios);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Returns the logarithm of the cell's ratio, or of a bootstrap sample of it if drawn is set. */
static double value_of(const struct cell *c, bool drawn)
{
	double sum = 0, list[c->n], pick[c->n];
	int used = 0;

	for (int k = 1; k <= c->n_layouts; k++) {
		int layout = drawn ? 1 + (int)(random() % c->n_layouts) : k, n = 0;

		for (int i = 0; i < c->n; i++)
			if (c->layout[i] == layout)
				list[n++] = c->ratio[i];
		if (!n)
			continue;
		for (int i = 0; i < n; i++)
			pick[i] = list[drawn ? random() % n : i];
		sum += log(median_of(pick, n));
		used++;
	}
	return used ? sum / used : drawn ? value_of(c, false) : 0;
}

static void bootstrap_interval(double *samples, double *low, double *high)
{
	qsort(samples, BOOTSTRAPS, sizeof(*samples), compare_ratios);
	*low = exp(samples[BOOTSTRAPS / 40]);
	*high = exp(samples[BOOTSTRAPS - 1 - BOOTSTRAPS / 40]);
}

/* Computes value, low and high of a column for each program; the mean follows the programs. */
static void column_results(int column, int base, bool own, double (*out)[3])
{
	static double samples[BOOTSTRAPS], mean_samples[BOOTSTRAPS];
	double mean = 0;
	int n = 0;

	memset(mean_samples, 0, sizeof(mean_samples));
	for (int p = 0; p < programs.n; p++) {
		struct cell c;

		out[p][0] = NAN;
		if (fill_cell(&c, p, column, base, own)) {
			double v = value_of(&c, false);

			for (int i = 0; i < BOOTSTRAPS; i++) {
				samples[i] = value_of(&c, true);
				mean_samples[i] += samples[i];
			}
			out[p][0] = exp(v);
			bootstrap_interval(samples, &out[p][1], &out[p][2]);
			mean += v;
			n++;
		}
		free(c.ratio);
		free(c.layout);
	}
	for (int i = 0; i < BOOTSTRAPS && n; i++)
		mean_samples[i] /= n;
	out[programs.n][0] = n ? exp(mean / n) : NAN;
	bootstrap_interval(mean_samples, &out[programs.n][1], &out[programs.n][2]);
}

int main(int argc, char **argv)
{
	static double own[MAX_NAMES + 1][3], all[MAX_NAMES + 1][3];
	int base = -1;

	if (argc != 2) {
		fprintf(stderr, "usage: ratios BASE <MEASURED\n");
		return 2;
	}
	read_rows();
	for (int c = 0; c < columns.n; c++)
		if (!strcmp(columns.list[c], argv[1]))
			base = c;
	if (base < 0) {
		fprintf(stderr, "ratios: cannot compare with '%s': no such column was measured\n",
			argv[1]);
		return 1;
	}
	srandom(1);
	printf("program,column,own,own_low,own_high,all,all_low,all_high\n");
	for (int c = 0; c < columns.n; c++) {
		if (c == base)
			continue;
		column_results(c, base, true, own);
		column_results(c, base, false, all);
		for (int p = 0; p <= programs.n; p++)
			if (!isnan(own[p][0]))
				printf("%s,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n",
				       p < programs.n ? programs.list[p] : "(geometric mean)",
				       columns.list[c], own[p][0], own[p][1], own[p][2], all[p][0],
				       all[p][1], all[p][2]);
	}
	return 0;
}
