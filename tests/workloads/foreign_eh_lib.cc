/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A library that is built without the plugin: see foreign_eh.cc. */
#include <stdexcept>

struct foreign_guard {
	void (*f)(unsigned int);
	~foreign_guard()
	{
		f(3);
	}
};

extern "C" unsigned int foreign_pass(unsigned int (*f)(unsigned int), void (*clean)(unsigned int),
				     unsigned int n)
{
	foreign_guard g{clean};

	return n > 5 ? foreign_pass(f, clean, n - 5) + 1 : f(n);
}

extern "C" unsigned int foreign_catch(unsigned int (*f)(unsigned int), unsigned int n)
{
	try {
		return f(n);
	} catch (const std::exception &) {
		return f(n + 1);
	}
}

extern "C" void foreign_throw(unsigned int n)
{
	if (n & 1)
		throw std::out_of_range("foreign");
}

/* Caught, thrown again and caught. */
extern "C" unsigned int foreign_again(unsigned int (*f)(unsigned int), unsigned int n)
{
	try {
		try {
			return f(n | 1);
		} catch (const std::runtime_error &) {
			f(0);
			throw;
		}
	} catch (...) {
		return f(n & ~1u);
	}
}
