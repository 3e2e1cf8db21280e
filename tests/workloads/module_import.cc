/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls, inlines and instantiates functions of a C++20 module (module_shapes.cc). */
#include "burn.h"
import shapes;

static NOINLINE unsigned int enter(unsigned int n)
{
	guard g;

	if (n % 3 == 2)
		throw n;
	return twice(n) + apply([](unsigned int k) { return count(k) + twice(k); }, n);
}

int main()
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 9; i++)
		try {
			sum += enter(i);
		} catch (unsigned int e) {
			sum += count(e);
		}
	printf("%u\n", sum + total());
	return 0;
}
