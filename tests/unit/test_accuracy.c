/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tests lib/diff/accuracy and lib/diff/tree_file: all metrics of a small tree, computed by hand,
 * and files that are damaged. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "diff/accuracy.h"
#include "diff/tree_file.h"
#include "tests/unit/tap.h"

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static void test_metrics(void)
{
	/* N = 200 in both. With phi = 0.1, 20 are hot. */
	static const struct accuracy_node nodes[] = {
		{0, 0, 0},   {0, 1, 0},	  {1, 100, 110}, {1, 30, 15},
		{2, 19, 25}, {2, 40, 40}, {3, 10, 10},
	};
	struct accuracy a;

	accuracy_measure(nodes, 7, 0.1, 0, 0, &a);
	tap_ok(a.exact_n == 200 && a.approximate_n == 200, "sums", "%llu, %llu",
	       (unsigned long long)a.exact_n, (unsigned long long)a.approximate_n);
	tap_ok(a.exact_hot == 3 && a.approximate_hot == 3 && a.nodes == 4, "sizes", "%zu, %zu, %zu",
	       a.exact_hot, a.approximate_hot, a.nodes);
	tap_ok(a.false_positives == 1 && a.false_negatives == 1, "false ones", "%zu, %zu",
	       a.false_positives, a.false_negatives);
	tap_ok(near(a.overlap, 80), "degree of overlap", "%g", a.overlap);
	/* At least 50, 10, 1 and 0.1: 1 of 1, 3 of 5, 4 of 6, 4 of 6 are covered. */
	tap_ok(near(a.cover[0], 100) && near(a.cover[1], 60) && near(a.cover[2], 400. / 6) &&
		       near(a.cover[3], 400. / 6),
	       "hot edge coverage", "%g, %g, %g, %g", a.cover[0], a.cover[1], a.cover[2],
	       a.cover[3]);
	tap_ok(a.uncovered == 2 && near(a.max_uncovered, 30) && near(a.mean_uncovered, 20),
	       "uncovered contexts", "%zu, %g, %g", a.uncovered, a.max_uncovered, a.mean_uncovered);
	tap_ok(near(a.max_error, 600. / 19) && near(a.mean_error, (10 + 600. / 19) / 3),
	       "errors of counts", "%g, %g", a.max_error, a.mean_error);
	accuracy_measure(nodes, 7, 0.1, 200, 400, &a);
	tap_ok(a.approximate_hot == 2 && near(a.mean_error, (45 + 50) / 2.),
	       "counts of a longer run are scaled", "%zu, %g", a.approximate_hot, a.mean_error);
}

static int read_text(const char *text, struct cct *t, bool second, uint64_t *n, struct error *why)
{
	FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
	int r = tree_file_read(f, t, second, n, why);

	fclose(f);
	return r;
}

static void test_files(void)
{
	static const char exact[] = "c cct \nc ./x 12 /tmp\nv a0 0 1 0 0\nv a1 a0 5 401000 401100\n"
				    "v a2 a1 7 401200 401010\nv a3 a0 2 401300 401100\np 4 14\n";
	static const char small[] = "c lss-hcct 0.1\nc ./x 13 /tmp\nv b0 0 1 0 0\n"
				    "v b1 b0 5 401000 401100\nv b2 b1 8 401200 401010\np 3 14\n";
	static const char *const damaged[] = {
		"",
		"c cct \n",
		"v a0 0 1 0 0\n",
		"v a0 0 1 0 0\nv a1 a9 5 401000 401100\np 2 5\n",
		"v a0 0 1 0 0\nv a1 a0 5 401000\np 2 5\n",
		"v a0 0 1 0 0\nv a1 a0 5 401000 401100\np 3 5\n",
		"v a0 0 1 0 0\nhello\np 1 0\n",
	};
	size_t refused = 0, count = sizeof(damaged) / sizeof(damaged[0]);
	struct error why;
	struct cct t;
	uint64_t n;
	int r;

	cct_init(&t);
	r = read_text(exact, &t, false, &n, &why);
	tap_ok(!r && n == 14 && t.n == 4 && t.nodes[1].self == 5 && t.nodes[2].parent == 1 &&
		       t.nodes[2].self == 7 && !t.nodes[3].parent && t.nodes[3].self == 2,
	       "a file of an exact tree", "%d, %zu nodes", r, t.n);
	r = read_text(small, &t, true, &n, &why);
	tap_ok(!r && t.n == 4 && t.nodes[2].samples == 8 && t.nodes[2].self == 7 &&
		       !t.nodes[3].samples,
	       "equal contexts of another file are found", "%d, %zu nodes", r, t.n);
	for (size_t i = 0; i < count; i++)
		refused += read_text(damaged[i][0] ? damaged[i] : "\n", &t, false, &n, &why) ==
			   -EINVAL;
	tap_ok(refused == count, "damaged files are refused", "%zu of %zu", refused, count);
	cct_free(&t);
}

int main(void)
{
	test_metrics();
	test_files();
	return tap_done();
}
