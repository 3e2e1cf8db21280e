/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * C++: static initialisers and function-local statics, virtual calls through multiple and virtual
 * inheritance (thunks), pointers to members, lambdas and std::function, templates that several
 * units would share, thread_local with a destructor, std::sort and containers, operator new.
 *
 * sampled: no
 */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "burn.h"

static volatile unsigned int sum;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum = sum + n;
	return n + 1;
}

struct at_start {
	unsigned int n;
	explicit at_start(unsigned int n) : n(count(n))
	{
	}
	~at_start()
	{
		count(n);
	}
};
static at_start first(1), second(2);
static thread_local at_start per_thread(3);

struct a {
	virtual ~a()
	{
		count(1);
	}
	virtual unsigned int f(unsigned int n)
	{
		return count(n);
	}
};
struct b {
	virtual ~b()
	{
		count(2);
	}
	virtual unsigned int g(unsigned int n)
	{
		return count(n + 1);
	}
	unsigned int pad = 0;
};
struct v : virtual b {
	unsigned int g(unsigned int n) override
	{
		return count(n + pad) + b::g(n);
	}
};
struct c : a, v {
	unsigned int f(unsigned int n) override
	{
		return count(n) + a::f(n);
	}
	unsigned int g(unsigned int n) override
	{
		return f(n) + v::g(n);
	}
};

template <typename T> __attribute__((noinline)) T twice(T n)
{
	return n < 4 ? twice<T>(n + 1) + static_cast<T>(count(static_cast<unsigned int>(n))) : n;
}

static NOINLINE unsigned int through(a *x, b *y, unsigned int (a::*m)(unsigned int),
				     unsigned int (b::*n)(unsigned int))
{
	return (x->*m)(1) + (y->*n)(2) + x->f(1) + y->g(2);
}

static NOINLINE unsigned int call(const std::function<unsigned int(unsigned int)> &f)
{
	return f(2) + f(1);
}

static NOINLINE at_start &local_static()
{
	static at_start local(4);

	return local;
}

int main()
{
	std::unique_ptr<c> object(new c);
	std::vector<unsigned int> values{5, 2, 8, 1};
	std::map<std::string, unsigned int> names;
	unsigned int captured = 1;

	sum = sum + through(object.get(), object.get(), &a::f, &b::g) + local_static().n +
	      local_static().n + per_thread.n;
	sum = sum + twice<unsigned int>(1) + twice<unsigned short>(2);
	sum = sum + call([&captured](unsigned int n) { return captured += count(n); });
	std::sort(values.begin(), values.end(),
		  [](unsigned int x, unsigned int y) { return count(x) < count(y); });
	for (unsigned int x : values)
		names["a rather long name, " + std::to_string(x)] = count(x);
	std::for_each(names.begin(), names.end(), [](const auto &p) { count(p.second); });
	printf("%u %u %zu\n", sum, values[0], names.size());
	return 0;
}
