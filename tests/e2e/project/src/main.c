/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdio.h>
#include "../lib/shape/shape.h"
#include "../lib/util/util.h"

static void one(unsigned int i, void *arg)
{
	unsigned int *sum = arg;

	*sum = *sum * 31 + shape_tree(6 + i % 10, i);
}

int main(void)
{
	unsigned int sum = 1;

	util_each(60000, one, &sum);
	printf("%u\n", sum);
	return 0;
}
