/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs out of memory in operator new and std::string, which count as leaves.  They then call the
 * program's handler.  The handler calls functions, frees something and returns.  When it is called
 * again it gives up, so that an exception leaves the leaves.
 *
 * sampled: no
 * flags: -O2
 */
#include <new>
#include <string>
#include <vector>
#include "burn.h"

static volatile unsigned int sum;
static unsigned int asked;

static NOINLINE unsigned int give_back(unsigned int n)
{
	burn(3);
	return n ? give_back(n - 1) + 1 : 1;
}

static void handler()
{
	sum = sum + give_back(asked % 3);
	if (++asked % 4 == 0)
		std::set_new_handler(nullptr);
}

static NOINLINE unsigned int too_much(std::size_t size)
{
	try {
		char *p = new char[size];

		p[0] = 1;
		delete[] p;
		return 1;
	} catch (std::bad_alloc &) {
		return give_back(2);
	}
}

static NOINLINE unsigned int too_long(std::size_t size)
{
	std::string s("short");

	try {
		s.reserve(size);
	} catch (std::bad_alloc &) {
		return give_back(1) + static_cast<unsigned int>(s.size());
	}
	return static_cast<unsigned int>(s.compare("short"));
}

static NOINLINE unsigned int nothrow(std::size_t size)
{
	char *p = new (std::nothrow) char[size];
	unsigned int n = give_back(1);

	delete[] p;
	return p ? n : n + 1;
}

static NOINLINE unsigned int all(std::size_t size)
{
	unsigned int n = 0;

	std::set_new_handler(handler);
	n += too_much(size);
	std::set_new_handler(handler);
	n += too_long(size);
	std::set_new_handler(handler);
	n += nothrow(size);
	return n + give_back(2);
}

int main()
{
	volatile std::size_t enough = 100, never = std::size_t(1) << 60;

	for (int i = 0; i < ROUNDS(1000, 3); i++)
		sum = sum + all(enough) + all(never);
	printf("%u %u\n", sum, asked);
	return 0;
}
