// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls spin() in all ways in which a call can begin and end, and prints how many executions it
 * knows of each: those that return to instrumented code, those that uninstrumented code has called,
 * and those that never return. Also the time that passes in spin(), and between two moments around
 * its calls: the true durations are between them.
 */
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static uint64_t inside, around; /* ns, of measured calls */
static unsigned long ended, no_end, left, running;
static thread_local sigjmp_buf jump;

static uint64_t now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

enum how { RETURN, THROW, JUMP, EXIT_THREAD, SIGNAL_JUMP };

extern "C" {

/* Takes `us` microseconds, and ends in this way. */
NOINLINE int spin(int us, int how)
{
	uint64_t start = now(), end;

	do
		end = now();
	while (end - start < us * 1000ULL);
	__atomic_add_fetch(&inside, us >= 100 ? end - start : 0, __ATOMIC_RELAXED);
	if (how == THROW)
		throw us;
	if (how == JUMP)
		siglongjmp(jump, 1);
	if (how == EXIT_THREAD)
		pthread_exit(nullptr);
	return us;
}

NOINLINE int other(int us, int how)
{
	return us + how;
}

/* Ends with a jump to spin(). */
NOINLINE int tail(int us, int how)
{
	return spin(us + 1, how);
}

NOINLINE int recursive(int n)
{
	return n ? recursive(n - 1) + spin(1, RETURN) : 0;
}
}

struct base {
	virtual ~base()
	{
	}
	virtual int call(int us) = 0;
};

struct derived : base {
	NOINLINE int call(int us) override
	{
		return spin(us, RETURN) + 1;
	}
};

static int (*volatile pointer)(int, int) = spin;

static void measured(int us)
{
	uint64_t start = now();

	spin(us, RETURN);
	around += now() - start;
	ended++;
}

NOINLINE static void directly()
{
	for (int i = 0; i < 40; i++)
		measured(i % 4 ? 100 : 900);
}

NOINLINE static void through_pointers()
{
	derived d;
	base *volatile b = &d;

	for (int i = 0; i < 100; i++) {
		pointer = i % 3 ? spin : other;
		pointer(0, RETURN);
		ended += i % 3 != 0;
		pointer = tail;
		pointer(0, RETURN);
		b->call(0);
		ended += 2;
	}
	recursive(100);
	ended += 100;
}

/* What jumps away is not timed, and what is called later at the same place is not taken for it. */
NOINLINE static void left_by_jumps()
{
	for (volatile int i = 0; i < 50; i++) {
		if (!sigsetjmp(jump, 0)) {
			pointer = spin;
			pointer(0, JUMP);
		}
		pointer = other;
		pointer(0, RETURN);
		left++;
	}
}

NOINLINE static void left_by_exceptions()
{
	for (volatile int i = 0; i < 50; i++) {
		try {
			pointer = i % 2 ? spin : tail;
			pointer(0, THROW);
		} catch (int) {
			pointer = other;
			pointer(0, RETURN);
			left++;
		}
	}
}

static int compare(const void *a, const void *b)
{
	spin(0, RETURN);
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static void *thread(void *argument)
{
	for (int i = 0; i < 100; i++) {
		spin(0, RETURN);
		__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	}
	if (argument) {
		__atomic_add_fetch(&running, 1, __ATOMIC_RELAXED);
		spin(0, EXIT_THREAD);
	}
	return nullptr;
}

NOINLINE static void in_threads()
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], nullptr, thread, i % 2 ? &threads : nullptr);
	for (pthread_t t : threads)
		pthread_join(t, nullptr);
}

static volatile sig_atomic_t signals;

static void handle(int signal)
{
	spin(0, RETURN);
	ended++;
	signals++;
	if (signal == SIGUSR2)
		siglongjmp(jump, 1);
}

static void as_callback(int)
{
	spin(0, RETURN);
	signals++;
}

NOINLINE static void in_handlers()
{
	struct sigaction action = {};
	stack_t stack = {};

	stack.ss_size = 65536;
	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, nullptr);
	action.sa_handler = handle;
	action.sa_flags = SA_ONSTACK | SA_NODEFER;
	sigaction(SIGUSR1, &action, nullptr);
	sigaction(SIGUSR2, &action, nullptr);
	for (volatile int i = 0; i < 20; i++) {
		raise(SIGUSR1);
		if (!sigsetjmp(jump, 1))
			raise(SIGUSR2);
		spin(0, RETURN);
		ended++;
	}
}

static ucontext_t contexts[2];

static void coroutine()
{
	spin(0, RETURN);
	swapcontext(&contexts[1], &contexts[0]);
	spin(0, RETURN);
	ended += 2;
}

NOINLINE static void in_coroutines()
{
	static char stack[65536];

	getcontext(&contexts[1]);
	contexts[1].uc_stack.ss_sp = stack;
	contexts[1].uc_stack.ss_size = sizeof(stack);
	contexts[1].uc_link = &contexts[0];
	makecontext(&contexts[1], coroutine, 0);
	swapcontext(&contexts[0], &contexts[1]);
	spin(0, RETURN);
	ended++;
	swapcontext(&contexts[0], &contexts[1]);
	spin(0, RETURN);
	ended++;
}

/* The child's executions count, too. One that was begun by the parent ends in both. */
NOINLINE static void in_children()
{
	int status;
	pid_t child = fork();

	if (!child) {
		for (int i = 0; i < 10; i++)
			spin(0, RETURN);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ended += 10;
}

int main()
{
	int numbers[32];

	directly();
	through_pointers();
	left_by_jumps();
	left_by_exceptions();
	for (int i = 0; i < 32; i++)
		numbers[i] = i * 7 % 32;
	qsort(numbers, 32, sizeof(numbers[0]), compare);
	in_threads();
	in_handlers();
	in_coroutines();
	in_children();
	/* The C library calls spin(): its return is not seen. */
	signal(SIGALRM, as_callback);
	signal(SIGWINCH, reinterpret_cast<void (*)(int)>(spin));
	raise(SIGALRM);
	ended++;
	raise(SIGWINCH);
	no_end++;
	printf("ended %lu\nno_end %lu\nleft %lu\nrunning %lu\n", ended, no_end, left, running);
	fprintf(stderr, "inside %llu\naround %llu\n", static_cast<unsigned long long>(inside),
		static_cast<unsigned long long>(around));
	return 3;
}
