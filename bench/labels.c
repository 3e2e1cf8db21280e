/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Measures the functions of labels (pcce.h): `labels`. Or works under labels, for the price of
 * samples: `labels burn N LABELS`.
 */
#include <pcce.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 2000000

static volatile unsigned long sink;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The best of several runs. */
#define MEASURE(what, expression)                                       \
	do {                                                            \
		double best = 1e9;                                      \
		for (int run = 0; run < 7; run++) {                     \
			double begin = now_ns(), each;                  \
			for (int i = 0; i < ROUNDS; i++) {              \
				expression;                             \
			}                                               \
			each = (now_ns() - begin) / ROUNDS;             \
			best = each < best ? each : best;               \
		}                                                       \
		printf("%d labels: %s: %.1f ns\n", labels, what, best); \
	} while (0)

static void span(void)
{
	struct pcce_labels before;

	pcce_span_begin(&before, "parse");
	pcce_span_end(&before);
}

static void add_labels(int n)
{
	char key[16];

	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		pcce_label_set(key, "a value of 20 bytes.");
	}
}

int main(int argc, char **argv)
{
	const int counts[] = {0, 3, 8};
	struct pcce_labels copy;
	int labels;

	if (argc > 3) {
		unsigned long n = strtoul(argv[2], NULL, 10);

		add_labels(atoi(argv[3]));
		for (unsigned long i = 0; i < n; i++)
			sink += i;
		return 0;
	}
	for (int k = 0; k < 3; k++) {
		labels = counts[k];
		add_labels(labels);
		MEASURE("pcce_label_set", pcce_label_set("tenant", "alpha"));
		MEASURE("a span", span());
		MEASURE("pcce_labels_get", pcce_labels_get(&copy));
		MEASURE("pcce_labels_apply", pcce_labels_apply(&copy));
		pcce_label_set("tenant", NULL);
	}
	return 0;
}
