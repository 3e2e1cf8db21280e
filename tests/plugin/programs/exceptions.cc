// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Uses C++: exceptions, virtual calls, thunks, lambdas, guards, templates.  Each landing
// pad must find the state that its function was entered with.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include "page.h"

#define noinline __attribute__((noinline, noclone))

static unsigned long cleanups;
static unsigned long expected_id;
static unsigned int expected_off;

struct guard {
	const char *where;
	~guard()
	{
		cleanups++;
		page_expect(expected_id, expected_off, where);
	}
};

noinline static void thrower(int n)
{
	page_damage();
	if (n > 0)
		thrower(n - 1);
	if (n % 2)
		throw std::runtime_error("odd");
	throw n;
}

noinline static int cleanup_only(int n)
{
	guard g{"cleanup"};

	thrower(n);
	return 0;
}

noinline static int catches(int n)
{
	guard outer{"outer"};
	try {
		guard g{"inner"};
		cleanup_only(n);
	} catch (const std::exception &e) {
		page_expect(expected_id, expected_off, "catch exception");
		return 1;
	} catch (int v) {
		page_expect(expected_id, expected_off, "catch int");
		return 2;
	}
	return 0;
}

noinline static int rethrows(int n)
{
	try {
		catches(n);
		cleanup_only(n);
	} catch (...) {
		page_expect(expected_id, expected_off, "catch all");
		try {
			throw;
		} catch (int) {
			page_expect(expected_id, expected_off, "rethrown int");
			return 3;
		} catch (std::runtime_error &) {
			page_expect(expected_id, expected_off, "rethrown error");
			return 4;
		}
	}
	return 0;
}

struct base1 {
	virtual ~base1()
	{
	}
	virtual int one(int x)
	{
		return x + 1;
	}
	long pad = 1;
};
struct base2 {
	virtual ~base2()
	{
	}
	virtual base2 *self()
	{
		return this;
	}
	virtual int two(int x) = 0;
	long pad = 2;
};
struct derived : base1, virtual base2 {
	derived *self() override
	{
		return this;
	}
	int one(int x) override
	{
		return x * 2;
	}
	int two(int x) override
	{
		return one(x) + x;
	}
};

noinline static int virtuals(base1 *a, base2 *b, int x)
{
	return a->one(x) + b->two(x) + b->self()->two(x + 1);
}

template <typename T> noinline static T most(const std::vector<T> &v)
{
	return *std::max_element(v.begin(), v.end(), [](const T &a, const T &b) { return a < b; });
}

static const std::string &guarded()
{
	static std::string text = std::string("gu") + "arded";
	return text;
}

static std::string global = std::string(100, 'g');
thread_local std::string per_thread = "per thread";

int main()
{
	std::map<std::string, int> m;
	std::vector<int> v;
	derived d;
	long total = 0;

	for (int i = 0; i < 20; i++) {
		v.push_back(i * 7 % 13);
		m[std::to_string(i)] = i;
	}
	std::sort(v.begin(), v.end(), std::greater<int>());
	std::function<int(int)> f = [&](int x) { return v[x] + most(v); };
	total += f(3) + virtuals(&d, &d, 5) + m["7"] + guarded().size() + global.size() +
		 per_thread.size();
	std::unique_ptr<base2> p(new derived);
	total += p->two(3);
	for (int i = 0; i < 6; i++) {
		expected_id = i * 100;
		expected_off = i * 16;
		page_set(expected_id, expected_off);
		total += catches(i) + rethrows(i);
		page_expect(expected_id, expected_off, "after all");
	}
	try {
		total += m.at("absent");
	} catch (const std::out_of_range &) {
		total += 1000;
	}
	if (!page_restores || cleanups < 30)
		return 1;
	std::printf("%ld %lu\n", total, cleanups);
	return 0;
}
