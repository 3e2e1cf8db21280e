// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Allocates in threads, in a forked child while others allocate, in deep recursion and in
// containers; throws; and ends while threads still allocate if it has an argument.
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

static int rounds = 300;

__attribute__((noipa)) static int deep(int depth)
{
	std::string text(depth % 50 + 20, 'x');
	int (*volatile next)(int) = deep;

	return depth ? next(depth - 1) + (int)text.size() : 0;
}

__attribute__((noipa)) static void fill(int seed)
{
	std::map<int, std::string> map;
	std::vector<int> numbers;

	for (int i = 0; i < 40; i++) {
		map[i * seed % 37] = std::string(i + 20, 'y');
		numbers.push_back(i);
	}
}

__attribute__((noipa)) static void fail(int seed)
{
	if (seed % 2)
		throw std::string(100, 'z');
	new int[1000000000000ull / (seed + 1)];
}

__attribute__((noipa)) static void work(int seed)
{
	for (int i = 0; i < rounds; i++) {
		fill(seed + i);
		if (i % 10 == 0)
			deep(100 + i % 7);
		try {
			fail(i);
		} catch (std::string &) {
		} catch (std::bad_alloc &) {
		}
	}
}

static void forever()
{
	for (;;)
		work(3);
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;
	int status;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "exit")) {
		for (int i = 0; i < 4; i++)
			std::thread(forever).detach();
		work(1);
		exit(0);
	}
	for (int i = 0; i < 4; i++)
		threads.emplace_back(work, i + 1);
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (pid == 0) {
			work(i);
			exit(0);
		}
		waitpid(pid, &status, 0);
		if (status)
			return 1;
	}
	for (auto &t : threads)
		t.join();
	return 0;
}
