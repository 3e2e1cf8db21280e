/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Throws an exception that leaves a signal handler and lands in a library without slots.  The
 * interrupted context cannot be found, so all samples are marked until a landing pad or a return in
 * instrumented code corrects the state.
 *
 * sampled: no
 * flags: -fnon-call-exceptions
 */
#include <csignal>
#include <stdexcept>
#include "burn.h"

extern "C" unsigned int foreign_catch(unsigned int (*f)(unsigned int), unsigned int n);

static volatile unsigned int sum, times;

static NOINLINE void count(unsigned int n)
{
	burn(n);
	sum = sum + n;
}

static void on_signal(int)
{
	count(1);
	throw std::runtime_error("signal");
}

static NOINLINE unsigned int raises(unsigned int n)
{
	count(n);
	if (times++ == 0)
		raise(SIGUSR1);
	count(n);
	return n;
}

static NOINLINE unsigned int middle(unsigned int n)
{
	count(n);
	n = foreign_catch(raises, n);
	count(n);
	return n;
}

static NOINLINE unsigned int outer(unsigned int n)
{
	try {
		n = middle(n);
		count(n);
		if (n == 4)
			throw 4;
	} catch (int) {
		count(5);
	}
	count(3);
	return n;
}

int main()
{
	struct sigaction action = {};

	action.sa_handler = on_signal;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned int i = 2; i < 5; i++)
		outer(i);
	count(2);
	printf("%u\n", sum);
	return 0;
}
