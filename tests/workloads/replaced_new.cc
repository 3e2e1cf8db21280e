/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines operators new and delete, which members of std::string and std::map call, although pcce
 * takes these members for functions that cannot call back.  The operators call other functions, and
 * throw: into the program, and into a stream, which catches.
 *
 * sampled: no
 * flags: -O2
 */
#include <cstdlib>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include "burn.h"

static volatile unsigned int sum;
static std::size_t limit = 1000;

static NOINLINE std::size_t rounded(std::size_t size)
{
	burn(2);
	return size > 200 ? rounded(size - 200) + 200 : 200;
}

static NOINLINE void refuse(std::size_t size)
{
	burn(1);
	if (size > limit)
		throw std::bad_alloc();
}

void *operator new(std::size_t size)
{
	void *p;

	refuse(size);
	p = std::malloc(rounded(size));
	if (!p)
		throw std::bad_alloc();
	return p;
}

void operator delete(void *p) noexcept
{
	burn(1);
	std::free(p);
}

void operator delete(void *p, std::size_t) noexcept
{
	operator delete(p);
}

static NOINLINE unsigned int strings(unsigned int n)
{
	std::string s(n, 'x');

	try {
		for (unsigned int i = 0; i < 8; i++)
			s.append(s);
	} catch (std::bad_alloc &) {
		burn(2);
	}
	s.resize(5);
	s.replace(0, 1, "some more than there was");
	return static_cast<unsigned int>(s.size() + s.find("more"));
}

static NOINLINE unsigned int maps(unsigned int n)
{
	std::map<std::string, unsigned int> m;

	for (unsigned int i = 0; i < n; i++)
		m[std::string(20 + i, static_cast<char>('a' + i % 5))] = i;
	m.erase(m.begin());
	return m.begin()->second + static_cast<unsigned int>(m.size());
}

/* A failed allocation makes the stream bad, by a catch in the library. */
static NOINLINE unsigned int streams(unsigned int n)
{
	std::string out;
	std::istringstream in(std::string(n, 'y') + " z");

	limit = 100;
	in >> out;
	limit = 1000;
	return static_cast<unsigned int>(out.size()) + in.bad() * 7 + strings(3);
}

int main()
{
	for (unsigned int i = 0; i < static_cast<unsigned int>(ROUNDS(1000, 3)); i++)
		sum = sum + strings(10 + i) + maps(6 + i) + streams(50) + streams(300);
	printf("%u\n", sum);
	return 0;
}
