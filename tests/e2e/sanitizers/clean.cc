/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A C++ program without mistakes: exceptions that leave arrays which the address sanitizer watches,
 * and come from threads.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <map>
#include <memory>

#define NOINLINE __attribute__((noinline, noclone))

static thread_local volatile unsigned int burnt;

static NOINLINE void burn(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		burnt = burnt + i;
}

struct Guard {
	std::string &out;
	char array[40];
	explicit Guard(std::string &o) : out(o)
	{
		memset(array, 'g', sizeof(array));
	}
	~Guard()
	{
		out += array[7];
		burn(30);
	}
};

struct Error : std::runtime_error {
	std::shared_ptr<int> value;
	Error(const std::string &s, int v) : std::runtime_error(s), value(std::make_shared<int>(v))
	{
	}
};

static NOINLINE int deep(int n, std::string &out)
{
	Guard g(out);
	char array[64];

	memset(array, n, sizeof(array));
	burn(30);
	if (n == 0)
		throw Error("bottom", array[3] + 5);
	return deep(n - 1, out) + array[9];
}

static NOINLINE int rethrow(int n, std::string &out)
{
	try {
		return deep(n, out);
	} catch (const std::logic_error &) {
		return -1;
	} catch (const Error &e) {
		out += e.what();
		if (n % 2)
			throw;
		return *e.value;
	}
}

static NOINLINE int caught(int n)
{
	std::string out;

	try {
		rethrow(n, out);
	} catch (const std::exception &e) {
		out += e.what()[0];
	}
	burn(20);
	return (int)out.size();
}

static NOINLINE int words(int n)
{
	std::map<std::string, std::vector<int>> m;

	for (int i = 0; i < n; i++)
		m["key" + std::to_string(i % 7)].push_back(i);
	int sum = 0;
	for (auto &p : m) {
		sum = sum * 3 + (int)p.second.size();
		burn(20);
	}
	return sum;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int r = 0; r < rounds; r++) {
		int sum = 0, of_threads[4] = {};

		for (int i = 0; i < 8; i++)
			sum += caught(i);
		std::vector<std::thread> threads;
		for (int t = 0; t < 4; t++)
			threads.emplace_back([t, &of_threads] {
				for (int i = 0; i < 10; i++)
					of_threads[t] += caught(t + i % 3);
			});
		for (auto &t : threads)
			t.join();
		printf("%d %d %d %d\n", sum, words(50), of_threads[0], of_threads[3]);
	}
	return 0;
}
