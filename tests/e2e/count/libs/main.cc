/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls the libraries in many ways: main PART PLUGIN...
 *
 * Each part is a test of its own. The table prints the counts.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "linked.h"

#ifndef ROUNDS
#define ROUNDS 20
#endif

static NOINLINE unsigned int back(unsigned int n)
{
	ENTERED;
	return n + 1;
}

static NOINLINE unsigned int back_into(unsigned int n)
{
	ENTERED;
	return n > 1 ? linked_helper(n) : back(n);
}

struct plugin {
	void *handle;
	unsigned int (*work)(unsigned int n, callback *f);
	void (*jump)(jmp_buf *to);
};

static NOINLINE struct plugin open_plugin(const char *path)
{
	ENTERED;
	struct plugin p;

	p.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p.handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	*(void **)&p.work = dlsym(p.handle, "plugin_work");
	*(void **)&p.jump = dlsym(p.handle, "plugin_jump");
	return p;
}

static NOINLINE void use(const char *path, unsigned int n)
{
	ENTERED;
	const struct plugin p = open_plugin(path);

	for (unsigned int i = 0; i < n; i++)
		p.work(i, i % 2 ? back : back_into);
	dlclose(p.handle);
}

static NOINLINE void part_linked(char **)
{
	ENTERED;
	for (unsigned int i = 0; i < ROUNDS; i++)
		linked_all(i * 7, back) + linked_all(i, back_into);
}

/* Each library at the place of another one, unless the counting prevents that. */
static NOINLINE void part_open(char **paths)
{
	ENTERED;
	for (unsigned int i = 0; i < ROUNDS; i++)
		use(paths[i % 2], i);
	use(paths[0], 3);
	use(paths[0], 4);
}

/* Again at another address. */
static NOINLINE void part_elsewhere(char **paths)
{
	ENTERED;
	struct plugin p = open_plugin(paths[0]);
	Dl_info info;
	unsigned long start;

	p.work(5, back);
	if (!dladdr((void *)p.work, &info))
		exit(3);
	start = (unsigned long)info.dli_fbase;
	dlclose(p.handle);
	mmap((void *)start, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
	     0);
	use(paths[0], 6);
}

static NOINLINE void part_throw(char **paths)
{
	ENTERED;
	const struct plugin p = open_plugin(paths[0]);

	for (unsigned int i = 0; i < ROUNDS; i++) {
		linked_catch(i, back);
		try {
			linked_throw(i);
		} catch (int) {
			back(i);
		}
		p.work(i, back_into);
	}
	dlclose(p.handle);
}

static NOINLINE void jump_once(const struct plugin *p, unsigned int i)
{
	ENTERED;
	unsigned int depth = table_depth();
	jmp_buf here;

	if (setjmp(here) == 0) {
		if (i % 2)
			p->jump(&here);
		else
			linked_jump(&here);
	}
	table_jumped(depth);
	back(i);
}

static NOINLINE void part_jump(char **paths)
{
	ENTERED;
	const struct plugin p = open_plugin(paths[0]);

	for (unsigned int i = 0; i < ROUNDS; i++) {
		jump_once(&p, i);
		linked_recursion(i, back);
	}
}

static char **thread_paths;

static NOINLINE void *thread(void *arg)
{
	ENTERED;
	unsigned long n = (unsigned long)arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		linked_all(i, back);
		if (n % 2 || i % 5 == 0)
			use(thread_paths[(n + i) % 2], 3);
	}
	return nullptr;
}

static NOINLINE void part_threads(char **paths)
{
	ENTERED;
	pthread_t t[6];

	thread_paths = paths;
	for (unsigned long i = 0; i < 6; i++)
		pthread_create(&t[i], nullptr, thread, (void *)i);
	for (unsigned long i = 0; i < 6; i++)
		pthread_join(t[i], nullptr);
}

/* Children open what the parent has not, and the reverse, so one address is several libraries. */
static NOINLINE void part_fork(char **paths)
{
	ENTERED;
	const struct plugin p = open_plugin(paths[0]);

	for (unsigned int i = 0; i < 6; i++) {
		pid_t pid = fork();

		if (pid < 0)
			exit(4);
		if (pid == 0) {
			p.work(i, back);
			use(paths[1 + i % 2], 4);
			dlclose(p.handle);
			use(paths[1 + (i + 1) % 2], 3);
			if (i % 3 == 0 && fork() == 0) {
				use(paths[1], 2);
				_exit(0);
			}
			if (fork() == 0) {
				linked_all(i, back);
				_exit(0);
			}
			while (wait(nullptr) > 0)
				;
			_exit(0);
		}
		if (i % 2)
			waitpid(pid, nullptr, 0);
		use(paths[2], 3);
	}
	while (wait(nullptr) > 0)
		;
	p.work(5, back_into);
}

static void on_signal(int)
{
	const Entered entered("on_signal");

	linked_helper(2);
}

static NOINLINE unsigned int raise_one(unsigned int n)
{
	ENTERED;
	raise(SIGUSR1);
	return n;
}

static NOINLINE void part_signals(char **paths)
{
	ENTERED;
	const struct plugin p = open_plugin(paths[0]);

	signal(SIGUSR1, on_signal);
	for (unsigned int i = 0; i < 5; i++) {
		p.work(i, raise_one);
		linked_all(i, raise_one);
	}
}

static const struct {
	const char *name;
	void (*run)(char **paths);
} parts[] = {{"linked", part_linked}, {"open", part_open},	{"elsewhere", part_elsewhere},
	     {"throw", part_throw},   {"jump", part_jump},	{"threads", part_threads},
	     {"fork", part_fork},     {"signals", part_signals}};

int main(int argc, char **argv)
{
	ENTERED;
	for (const auto &part : parts)
		if (argc > 2 && !strcmp(argv[1], part.name)) {
			part.run(argv + 2);
			return 0;
		}
	return 1;
}
