/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Replaces a function of the linked library, by LD_PRELOAD. */
#include "linked.h"

static NOINLINE unsigned int over_static(unsigned int n)
{
	ENTERED;
	return n + 5;
}

unsigned int linked_helper(unsigned int n)
{
	const Entered entered("linked_helper");

	return over_static(n);
}
