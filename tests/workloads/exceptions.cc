/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Throws exceptions through frames with and without destructors, rethrows them, and catches them
 * at different depths; makes virtual calls; has a catch-all in a recursion.
 *
 * marked: 2
 * no-verify: while the C++ unwinder loads registers, libunwind finds parts of two stacks
 * expect: main;.*attempt.*;.*descend.*burn\(unsigned int\)( |;)
 * expect: main;.*cleanup.*;burn\(unsigned int\)( |;)
 */
#include <stdexcept>
#include "burn.h"

static NOINLINE void cleanup(unsigned int n)
{
	burn(n);
	burnt++;
}

struct guard {
	unsigned int n;
	~guard()
	{
		cleanup(n);
	}
};

struct node {
	virtual ~node() = default;
	virtual unsigned int descend(unsigned int depth, unsigned int *state) = 0;
};

struct thrower : node {
	NOINLINE unsigned int descend(unsigned int depth, unsigned int *state) override;
};

struct passer : node {
	NOINLINE unsigned int descend(unsigned int depth, unsigned int *state) override;
};

static thrower the_thrower;
static passer the_passer;
static node *volatile nodes[] = {&the_thrower, &the_passer};

unsigned int thrower::descend(unsigned int depth, unsigned int *state)
{
	unsigned int r = next_random(state);

	burn(100);
	if (depth == 0) {
		if (r & 1)
			throw std::runtime_error("end");
		return 5;
	}
	r = nodes[r & 1]->descend(depth - 1, state);
	burn(10);
	return r + 1;
}

unsigned int passer::descend(unsigned int depth, unsigned int *state)
{
	guard g{60};

	burn(50);
	try {
		return nodes[next_random(state) & 1]->descend(depth ? depth - 1 : 0, state) + 2;
	} catch (...) {
		burn(30);
		if (next_random(state) % 3 == 0)
			return 9;
		throw;
	}
}

static NOINLINE unsigned int attempt(unsigned int depth, unsigned int *state)
{
	try {
		return nodes[depth & 1]->descend(depth, state);
	} catch (const std::exception &e) {
		cleanup(100);
		return (unsigned int)e.what()[0];
	}
}

int main()
{
	unsigned int state = 9, sum = 0;

	for (unsigned int i = 0; i < ROUNDS(160000, 12); i++)
		sum = sum * 3 + attempt(i % 16, &state);
	printf("%u\n", sum);
	return 0;
}
