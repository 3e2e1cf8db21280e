/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names the calling context in messages of spdlog. */
#include <pcce/pcce.h>
#include <spdlog/spdlog.h>

/* A macro, so that the context is that of the function that logs. */
#define LOG(level, format, ...)                                                 \
	do {                                                                    \
		char text_[PCCE_TEXT_SIZE];                                     \
                                                                                \
		spdlog::level(format " [{}]", __VA_ARGS__,                      \
			      pcce_context_text(pcce_context_id(), text_));     \
	} while (0)

class cache {
    public:
	__attribute__((noinline)) void drop(const char *key)
	{
		LOG(warn, "{} is not here", key);
	}

	__attribute__((noinline)) void clear(int size)
	{
		drop("first");
		LOG(info, "{} entries are gone", size);
	}
};

int main()
{
	cache c;

	spdlog::set_pattern("%l: %v");
	c.clear(1);
	return 0;
}
