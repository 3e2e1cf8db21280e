/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Computes the significance of a change from numbers of samples. Each sample contains the function
 * or does not, so the shares are binomial. The interval of the difference is Newcombe's, from
 * Wilson's score intervals, which also holds for few samples. p comes from Fisher's exact test for
 * small counts, and from the two-proportion z-test where both tests agree.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "diff/diff.h"

#define Z95 1.959963984540054

/* Computes Wilson's score interval. */
static void wilson_interval(double k, double n, double *low, double *high)
{
	double p = n ? k / n : 0, z2 = Z95 * Z95, middle, half;

	if (!n) {
		*low = 0;
		*high = 1;
		return;
	}
	middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	half = Z95 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
	*low = middle - half;
	*high = middle + half;
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Fisher's exact test, two-sided: the probability of all tables with these margins that are not
 * more likely. */
static double fisher_p(uint64_t a, uint64_t n, uint64_t b, uint64_t m)
{
	uint64_t k = a + b, least = k > m ? k - m : 0, most = k < n ? k : n;
	double all = log_choose(n + m, k), seen = log_choose(n, a) + log_choose(m, b) - all, p = 0;

	for (uint64_t x = least; x <= most; x++) {
		double one = log_choose(n, x) + log_choose(m, k - x) - all;

		if (one <= seen + 1e-9)
			p += exp(one);
	}
	return p < 1 ? p : 1;
}

#define EXACT 200 /* up to this number of samples, Fisher's test is used */

static double change_p(uint64_t a, uint64_t n, uint64_t b, uint64_t m)
{
	double k = a + b, all = n + m, z;

	if (!n || !m || !k || k >= all)
		return 1;
	if (k <= EXACT || all - k <= EXACT)
		return fisher_p(a, n, b, m);
	z = ((double)a / n - (double)b / m) / sqrt(k / all * (1 - k / all) * (1.0 / n + 1.0 / m));
	return erfc(fabs(z) / sqrt(2));
}

struct diff_change diff_change(uint64_t was, uint64_t of_was, uint64_t is, uint64_t of_is)
{
	double a = of_was ? (double)was / of_was : 0, b = of_is ? (double)is / of_is : 0, la, ha,
	       lb, hb;
	struct diff_change c = {
		.was = was, .is = is, .share_was = 100 * a, .share_is = 100 * b, .q = 1};

	wilson_interval(was, of_was, &la, &ha);
	wilson_interval(is, of_is, &lb, &hb);
	c.change = 100 * (b - a);
	c.low = 100 * (b - a - sqrt((b - lb) * (b - lb) + (ha - a) * (ha - a)));
	c.high = 100 * (b - a + sqrt((hb - b) * (hb - b) + (a - la) * (a - la)));
	c.p = change_p(was, of_was, is, of_is);
	return c;
}

/* Computes Byar's approximation of the exact interval of a Poisson mean. */
static void poisson_interval(double k, double *low, double *high)
{
	double up = k + 1;

	*low = k > 0 ? k * pow(1 - 1 / (9 * k) - Z95 / (3 * sqrt(k)), 3) : 0;
	*high = up * pow(1 - 1 / (9 * up) + Z95 / (3 * sqrt(up)), 3);
}

/* The exact test of two Poisson rates, two-sided: of n samples, each is of the second recording
 * with probability p. */
static double binomial_p(uint64_t k, uint64_t n, double p)
{
	double seen = log_choose(n, k) + k * log(p) + (n - k) * log1p(-p), sum = 0;

	for (uint64_t x = 0; x <= n; x++) {
		double one = log_choose(n, x) + x * log(p) + (n - x) * log1p(-p);

		if (one <= seen + 1e-9)
			sum += exp(one);
	}
	return sum < 1 ? sum : 1;
}

static double absolute_p(uint64_t was, double value_was, uint64_t is, double value_is)
{
	double a = was * value_was, b = is * value_is;

	if (!(was + is) || !(value_was > 0) || !(value_is > 0))
		return 1;
	if (was + is <= EXACT)
		return binomial_p(is, was + is, value_was / (value_was + value_is));
	return erfc(fabs(b - a) / sqrt(2 * (a * value_was + b * value_is)));
}

struct diff_change diff_absolute(uint64_t was, double value_was, uint64_t is, double value_is)
{
	double a = was * value_was, b = is * value_is, la, ha, lb, hb;
	struct diff_change c = {
		.was = was, .is = is, .share_was = a, .share_is = b, .change = b - a, .q = 1};

	poisson_interval(was, &la, &ha);
	poisson_interval(is, &lb, &hb);
	c.low = b - a - hypot(b - lb * value_is, ha * value_was - a);
	c.high = b - a + hypot(hb * value_is - b, a - la * value_was);
	c.p = absolute_p(was, value_was, is, value_is);
	return c;
}

static int compare_p(const void *a, const void *b)
{
	const struct diff_change *x = *(struct diff_change *const *)a,
				 *y = *(struct diff_change *const *)b;

	return x->p < y->p ? -1 : x->p > y->p;
}

int diff_judge(struct diff_change *changes, size_t n)
{
	struct diff_change **order = malloc((n + 1) * sizeof(struct diff_change *));
	double least = 1;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = &changes[i];
	qsort(order, n, sizeof(struct diff_change *), compare_p);
	for (size_t i = n; i-- > 0;) {
		double q = order[i]->p * n / (i + 1);

		if (q < least)
			least = q;
		order[i]->q = least;
	}
	free(order);
	return 0;
}
