/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cxx: a thread waits for each kind of lock of the C++ library that another thread has. */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

#define NOINLINE __attribute__((noinline, noclone))

namespace
{
const int rounds = 100;
std::counting_semaphore<1000> taken(0);
std::atomic<unsigned long> sum;

void work()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

template <class Lock> struct contention {
	Lock lock;

	NOINLINE void give()
	{
		std::lock_guard<Lock> held(lock);
		taken.release();
		work();
	}
	NOINLINE void want()
	{
		taken.acquire();
		std::lock_guard<Lock> held(lock);
		sum++;
	}
};

struct reading {
	std::shared_mutex lock;

	NOINLINE void give()
	{
		std::unique_lock<std::shared_mutex> held(lock);
		taken.release();
		work();
	}
	NOINLINE void want()
	{
		taken.acquire();
		std::shared_lock<std::shared_mutex> held(lock);
		sum++;
	}
};

struct signalling {
	std::mutex lock;
	std::condition_variable changed;
	int ready = 0;

	NOINLINE void give()
	{
		work();
		{
			std::lock_guard<std::mutex> held(lock);
			ready++;
		}
		changed.notify_one();
		sum++;
	}
	NOINLINE void want()
	{
		std::unique_lock<std::mutex> held(lock);

		changed.wait(held, [this] { return ready > 0; });
		ready--;
	}
};

struct atomic_wait {
	std::atomic<int> value = 0;

	NOINLINE void give()
	{
		work();
		value++;
		value.notify_one();
		sum++;
	}
	NOINLINE void want()
	{
		value.wait(0);
		value--;
	}
};

template <class Kind> void run()
{
	Kind k;
	std::thread waiter([&k] {
		for (int i = 0; i < rounds; i++)
			k.want();
	});
	std::thread holder([&k] {
		for (int i = 0; i < rounds; i++) {
			k.give();
			std::this_thread::sleep_for(std::chrono::microseconds(500));
		}
	});

	waiter.join();
	holder.join();
}
} // namespace

int main()
{
	run<contention<std::mutex>>();
	run<contention<std::recursive_mutex>>();
	run<reading>();
	run<signalling>();
	run<atomic_wait>();
}
