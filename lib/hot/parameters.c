/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses phi and epsilon, and computes what follows from them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "hot/parameters.h"

/* Counters have 32-bit indices, and tables of them twice as many slots. */
#define MOST_COUNTERS (1u << 30)

static int not_parameters(struct error *why, const char *text, const char *what)
{
	return error_set(why, -EINVAL, "'%s' %s", text, what);
}

int hot_parameters_parse(const char *text, struct hot_parameters *p, struct error *why)
{
	char *end;

	p->phi = strtod(text, &end);
	if (end == text || (*end && *end != ','))
		return not_parameters(why, text, "is not PHI or PHI,EPSILON, such as 0.0001");
	if (!(p->phi > 0 && p->phi <= 1))
		return not_parameters(why, text, "has a PHI that is not above 0 and at most 1");
	p->epsilon = p->phi / HOT_PHI_PER_EPSILON;
	if (*end) {
		const char *from = end + 1;

		p->epsilon = strtod(from, &end);
		if (end == from || *end)
			return not_parameters(why, text, "has an EPSILON that is not a number");
		if (!(p->epsilon > 0 && p->epsilon < p->phi))
			return not_parameters(why, text,
					      "has an EPSILON that is not above 0 and below PHI");
	}
	if (!hot_counters(p->epsilon))
		return not_parameters(why, text, "needs more than 1073741824 counters");
	return 0;
}

uint64_t hot_threshold(double phi, uint64_t n)
{
	uint64_t least = floorl((long double)phi * n);

	return least ? least : 1;
}

size_t hot_counters(double epsilon)
{
	double n = ceil(1 / epsilon);

	return n >= 1 && n <= MOST_COUNTERS ? n : 0;
}
