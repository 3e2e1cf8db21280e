// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Compares the choice of samples by bytes (userlib/malloc/poisson.h) with the C library's functions
 * and with its theory. Means have a tolerance of ten standard deviations. */
#include <math.h>
#include <stdio.h>
#include "malloc/poisson.h"

static int compare_weights(void)
{
	static const uint64_t periods[] = {2, 100, 4096, 524288, 1ULL << 40};

	for (size_t k = 0; k < sizeof(periods) / sizeof(periods[0]); k++)
		for (uint64_t n = 1; n < 1ULL << 50; n = n * 3 / 2 + 1) {
			double want = (double)n / -expm1(-(double)n / (double)periods[k]),
			       got = (double)poisson_weight(n, periods[k]);

			if (fabs(got - want) > 0.51 + want * 1e-9) {
				printf("%lu of %lu: %f, not %f\n", n, periods[k], got, want);
				return 1;
			}
		}
	return 0;
}

static int compare_means(void)
{
	struct poisson p = {0};
	const int n = 1000000;
	double sum = 0, squares = 0;

	for (int i = 0; i < n; i++) {
		double x = (double)poisson_next(&p, 1 << 20) / (1 << 20);

		sum += x / n;
		squares += x * x / n;
	}
	if (fabs(sum - 1) > 0.01 || fabs(squares - 2) > 0.05)
		printf("mean %f, mean square %f\n", sum, squares);
	return fabs(sum - 1) > 0.01 || fabs(squares - 2) > 0.05;
}

/* Small and large allocations that take turns have their bytes each. */
static int compare_sums(void)
{
	static const uint64_t sizes[] = {16, 3000, 100, 100000};
	struct poisson p = {0};
	double got[4] = {0};

	for (int i = 0; i < 4000000; i++)
		if (poisson_take(&p, sizes[i % 4], 10000))
			got[i % 4] += (double)poisson_weight(sizes[i % 4], 10000);
	for (int k = 0; k < 4; k++) {
		double want = (double)sizes[k] * 1e6, chance = -expm1(-(double)sizes[k] / 10000),
		       deviation = sqrt((1 - chance) / chance / 1e6);

		if (fabs(got[k] / want - 1) > 10 * deviation + 1e-4) {
			printf("size %lu: %f of its bytes\n", sizes[k], got[k] / want);
			return 1;
		}
	}
	return 0;
}

int main(void)
{
	return compare_weights() || compare_means() || compare_sums();
}
