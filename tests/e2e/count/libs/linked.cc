/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The linked library.  It calls its own functions, and back into its caller. */
#include "linked.h"

static NOINLINE unsigned int linked_leaf(unsigned int n)
{
	return n * 3 + 1;
}

static NOINLINE unsigned int linked_static(unsigned int n)
{
	ENTERED;
	unsigned int r = 0;

	for (unsigned int i = 0; i < n % 4; i++) {
		table_leaf("linked_leaf");
		r += linked_leaf(i);
	}
	return r;
}

unsigned int linked_helper(unsigned int n)
{
	ENTERED;
	return linked_static(n) + linked_static(n + 1);
}

unsigned int linked_recursion(unsigned int n, callback *f)
{
	ENTERED;
	if (!n)
		return f(1);
	return linked_recursion(n - 1, f) + (n % 8 ? 0 : linked_helper(n));
}

void linked_throw(unsigned int n)
{
	ENTERED;
	if (n)
		linked_throw(n - 1);
	else
		throw 7;
}

unsigned int linked_catch(unsigned int n, callback *f)
{
	ENTERED;
	unsigned int r = 0;

	try {
		r += f(n);
		linked_throw(n);
	} catch (int) {
		r += linked_helper(n);
	}
	return r + linked_static(n);
}

void linked_jump(jmp_buf *to)
{
	ENTERED;
	linked_helper(1);
	longjmp(*to, 1);
}

unsigned int linked_all(unsigned int n, callback *f)
{
	ENTERED;
	return linked_helper(n) + f(n) + table_through(f, n) + table_through(linked_helper, n) +
	       linked_recursion(n % 40, f);
}

__attribute__((constructor)) static void linked_begin()
{
	ENTERED;
	linked_helper(2);
}

__attribute__((destructor)) static void linked_end()
{
	ENTERED;
	linked_helper(3);
}
