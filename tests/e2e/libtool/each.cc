/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A library of C++: libtool links it with -nostdlib, and names all libraries itself. */
#include <stdexcept>
#include <vector>

static int checked(const std::vector<int> &list, size_t i)
{
	return list.at(i);
}

extern "C" int last_of(const int *numbers, size_t n)
{
	try {
		return checked(std::vector<int>(numbers, numbers + n), n - 1);
	} catch (const std::out_of_range &) {
		return 0;
	}
}
