/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ratio: how much more user CPU time does command B take than command A?
 *
 *   ratio BLOCKS 'COMMAND A' 'COMMAND B'
 *
 * Two builds of one program differ by a few percent, and one program differs from itself by
 * more than that from minute to minute.  So A and B run interleaved, in blocks of A B B A
 * (odd blocks B A A B), which cancels a drift that is linear within a block; each
 * block gives one ratio; the result is their median, with a 95% interval from 2,000
 * bootstrap samples.  Prints: ratio low high seconds-of-A
 *
 * Commands are run by /bin/sh with output to a temporary file. Time is that of the child and what it
 * waited for (getrusage), so the shell's own start, about a millisecond, is in both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOOTSTRAPS 2000

/* Not to /dev/null: grep and tar look for that, and do less. */
static FILE *output;

static double seconds_of(const char *command)
{
	struct rusage usage;
	int status;
	pid_t pid;

	rewind(output);
	if (ftruncate(fileno(output), 0))
		exit(1);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(output), STDOUT_FILENO);
		dup2(fileno(output), STDERR_FILENO);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
		fprintf(stderr, "ratio: failed: %s\n", command);
		exit(1);
	}
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	static double medians[BOOTSTRAPS];
	double *ratio, *draw, a_total = 0;
	int blocks = argc == 4 ? atoi(argv[1]) : 0;

	if (blocks < 3) {
		fprintf(stderr, "usage: ratio BLOCKS 'COMMAND A' 'COMMAND B'   (at least 3 blocks)\n");
		return 2;
	}
	ratio = calloc((size_t)blocks, sizeof(*ratio));
	draw = calloc((size_t)blocks, sizeof(*draw));
	output = tmpfile();
	if (!ratio || !draw || !output)
		return 1;

	seconds_of(argv[2]); /* caches and frequency warm up */
	seconds_of(argv[3]);
	for (int i = 0; i < blocks; i++) {
		const char *first = argv[i % 2 ? 3 : 2], *second = argv[i % 2 ? 2 : 3];
		double outer, inner, a, b;

		outer = seconds_of(first);
		inner = seconds_of(second);
		inner += seconds_of(second);
		outer += seconds_of(first);
		a = i % 2 ? inner : outer;
		b = i % 2 ? outer : inner;
		ratio[i] = b / a;
		a_total += a;
	}

	srandom(1);
	for (int i = 0; i < BOOTSTRAPS; i++) {
		for (int j = 0; j < blocks; j++)
			draw[j] = ratio[random() % blocks];
		medians[i] = median(draw, blocks);
	}
	qsort(medians, BOOTSTRAPS, sizeof(medians[0]), compare);
	printf("%.4f %.4f %.4f %.2f\n", median(ratio, blocks), medians[BOOTSTRAPS / 40],
	       medians[BOOTSTRAPS - 1 - BOOTSTRAPS / 40], a_total / blocks / 2);
	return 0;
}
