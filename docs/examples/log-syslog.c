/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names the calling context in messages of syslog(3). */
#include <pcce/pcce.h>
#include <syslog.h>

/* A macro, so that the context is that of the function that logs. */
#define log_message(priority, format, ...)                           \
	do {                                                         \
		char text_[PCCE_TEXT_SIZE];                          \
                                                                     \
		syslog(priority, format " [%s]", __VA_ARGS__,        \
		       pcce_context_text(pcce_context_id(), text_)); \
	} while (0)

__attribute__((noinline)) static void connect_to(const char *host)
{
	log_message(LOG_WARNING, "cannot connect to %s", host);
}

__attribute__((noinline)) static void synchronise(const char *host)
{
	connect_to(host);
	log_message(LOG_ERR, "%d hosts answered", 0);
}

int main(int argc, char **argv)
{
	openlog("log-syslog", LOG_PERROR, LOG_USER);
	synchronise(argc > 1 ? argv[1] : "example.org");
	closelog();
	return 0;
}
