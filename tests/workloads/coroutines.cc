/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs C++20 coroutines: generators that are resumed from different places, nested, with symmetric
 * transfer, left by exceptions, destroyed while suspended.
 *
 * sampled: no
 * flags: -O2 -std=c++20 -fcoroutines
 */
#include <coroutine>
#include <exception>
#include "burn.h"

static volatile unsigned int sum;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum = sum + n;
	return n + 1;
}

struct guard {
	~guard()
	{
		count(1);
	}
};

struct generator {
	struct promise_type {
		unsigned int value = 0;
		std::exception_ptr error;
		generator get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend()
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(unsigned int n)
		{
			value = count(n);
			return {};
		}
		void return_void()
		{
			count(2);
		}
		void unhandled_exception()
		{
			error = std::current_exception();
		}
	};
	std::coroutine_handle<promise_type> handle;
	~generator()
	{
		handle.destroy();
	}
	NOINLINE bool next()
	{
		handle.resume();
		if (handle.promise().error)
			std::rethrow_exception(handle.promise().error);
		return !handle.done();
	}
};

static generator numbers(unsigned int n)
{
	guard g;

	for (unsigned int i = 0; i < n; i++)
		co_yield i;
	if (n == 3)
		throw n;
}

static generator pairs(unsigned int n)
{
	generator inner = numbers(n);

	while (inner.next()) {
		co_yield inner.handle.promise().value * 2;
		count(3);
	}
}

static NOINLINE unsigned int drain(unsigned int n)
{
	generator g = pairs(n);
	unsigned int r = 0;

	try {
		while (g.next())
			r += g.handle.promise().value;
	} catch (unsigned int e) {
		r += count(e);
	}
	return r;
}

static NOINLINE void leave_suspended()
{
	generator g = numbers(5);

	g.next();
	count(4);
	g.next();
}

struct task {
	struct promise_type {
		std::coroutine_handle<> then = std::noop_coroutine();
		task get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend()
		{
			return {};
		}
		struct on {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				count(5);
				return h.promise().then;
			}
			void await_resume() noexcept
			{
			}
		};
		on final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
	std::coroutine_handle<promise_type> handle;
	~task()
	{
		handle.destroy();
	}
	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h)
	{
		handle.promise().then = h;
		return handle;
	}
	void await_resume()
	{
		count(6);
	}
};

static task ladder(unsigned int depth)
{
	if (depth)
		co_await ladder(depth - 1);
	count(depth);
}

static NOINLINE void transfers()
{
	task t = ladder(4);

	t.handle.resume();
}

int main()
{
	sum = sum + drain(4) + drain(3);
	leave_suspended();
	transfers();
	printf("%u\n", sum);
	return 0;
}
