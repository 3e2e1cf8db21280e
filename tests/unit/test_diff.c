/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How sure a change is: against figures from the literature and ones that can be counted by hand,
 * and against chance itself.
 */
#include <math.h>
#include <string.h>
#include "tests/unit/tap.h"
#include "diff/diff.h"

static void near(double got, double wanted, double by, const char *name)
{
	tap_ok(fabs(got - wanted) <= by, name, "got %.6g, wanted %.6g", got, wanted);
}

static void test_figures(void)
{
	/* Newcombe (1998), Statistics in Medicine 17:873, table II: 56/70 and 48/80, 9/10 and 3/10,
	 * 10/10 and 0/20. */
	struct diff_change c = diff_change(48, 80, 56, 70);

	near(c.change, 20, 1e-9, "change of 48/80 to 56/70");
	near(c.low, 5.24, 0.005, "its interval: low");
	near(c.high, 33.39, 0.005, "its interval: high");
	c = diff_change(3, 10, 9, 10);
	near(c.low, 17.05, 0.005, "3/10 to 9/10: low");
	near(c.high, 80.90, 0.005, "3/10 to 9/10: high");
	/* Of the C(20,12) tables with these margins, those with 2 and 3 samples on one side, and
	 * their mirror images.
	 */
	near(c.p, 2.0 * (120 * 10 + 45 * 1) / 125970.0, 1e-9, "3/10 to 9/10: exact p");
	c = diff_change(0, 20, 10, 10);
	near(c.low, 67.91, 0.005, "0/20 to 10/10: low");
	near(c.high, 100, 0.005, "0/20 to 10/10: high");
	c = diff_change(500, 1000, 550, 1000);
	near(c.p, erfc(0.05 / sqrt(0.525 * 0.475 * 0.002) / sqrt(2)), 1e-12,
	     "500/1000 to 550/1000: p of z = 2.239");
}

static void test_limits(void)
{
	struct diff_change c = diff_change(0, 0, 0, 0);

	near(c.p, 1, 0, "no samples at all: p");
	near(c.change, 0, 0, "no samples at all: change");
	c = diff_change(7, 10, 0, 0);
	near(c.p, 1, 0, "no samples now: p");
	c = diff_change(10, 10, 20, 20);
	near(c.p, 1, 0, "all and all: p");
	c = diff_change(3000000000, 6000000000, 3000000000, 6000000000);
	tap_ok(c.p > 0.999 && c.low < 0 && c.high > 0, "billions, unchanged", "p %g, %g to %g", c.p,
	       c.low, c.high);
	/* Where the exact test ends and the other begins, they agree. */
	c = diff_change(80, 10000, 120, 10000);
	near(c.p, diff_change(80, 10000, 121, 10000).p, 0.002, "exact and z agree at the border");
}

static void test_absolute(void)
{
	struct diff_change c = diff_absolute(3, 1, 9, 1);

	near(c.p, 598 / 4096.0, 1e-12, "3 to 9 samples: exact p");
	near(c.change, 6, 1e-12, "3 to 9 samples: change");
	c = diff_absolute(0, 1, 10, 1);
	near(c.low, 3.63, 0.01, "0 to 10 samples: low");
	near(c.high, 18.39, 0.01, "0 to 10 samples: high");
	c = diff_absolute(10, 2, 20, 1);
	near(c.change, 0, 1e-12, "half as many samples of twice the value: change");
	near(c.p, 1, 1e-9, "half as many samples of twice the value: p");
	c = diff_absolute(400, 0.5, 600, 0.5);
	near(c.change, 100, 1e-9, "400 to 600 samples of 0.5 ms: change");
	near(c.p, erfc(200 / sqrt(1000) / sqrt(2)), 1e-12, "400 to 600 samples: p of z = 6.3");
	near(diff_absolute(80, 1, 120, 1).p, diff_absolute(80, 1, 121, 1).p, 0.002,
	     "exact and z agree at the border");
	near(diff_absolute(0, 0, 0, 0).p, 1, 0, "no samples at all: p");
	near(diff_absolute(5, 1, 0, 0).p, 1, 0, "nothing known now: p");
}

/* Benjamini and Hochberg (1995), their example of 15 p-values: 4 are below 0.05. */
static void test_judging(void)
{
	static const double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
				   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
	struct diff_change c[15] = {0};
	size_t sure = 0;

	for (size_t i = 0; i < 15; i++)
		c[(i * 7) % 15].p = p[i];
	tap_ok(!diff_judge(c, 15), "judging", "no memory");
	for (size_t i = 0; i < 15; i++)
		sure += c[i].q <= 0.05;
	tap_ok(sure == 4, "of 15 changes, 4 are sure", "%zu are", sure);
	near(c[0].q, 0.0015, 1e-9, "q of the surest");
	tap_ok(!diff_judge(NULL, 0), "nothing to judge", "no memory");
}

/* Intervals hold what is true in 95 of 100 cases, and chance alone is hardly ever sure. */
static void test_chance(void)
{
	uint64_t state = 88172645463325252ULL;
	unsigned int held = 0, sure = 0;
	const unsigned int cases = 4000, n = 300;

	for (unsigned int i = 0; i < cases; i++) {
		uint64_t a = 0, b = 0;
		struct diff_change c;

		for (unsigned int k = 0; k < n; k++) {
			a += tap_random(&state) % 100 < 10;
			b += tap_random(&state) % 100 < 10;
		}
		c = diff_change(a, n, b, n);
		held += c.low <= 0 && c.high >= 0;
		sure += c.p <= 0.05;
	}
	tap_ok(held > cases * 0.94 && held < cases * 0.98, "intervals hold the truth", "%u of %u",
	       held, cases);
	tap_ok(sure < cases * 0.055, "chance is not taken for a change", "%u of %u", sure, cases);
}

int main(void)
{
	test_figures();
	test_limits();
	test_absolute();
	test_judging();
	test_chance();
	return tap_done();
}
