/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * limited default|ignore|handle|pending: names contexts while no file may grow, and prints what it
 * has seen of SIGXFSZ. With "pending", one is pending before.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <pcce.h>

static volatile sig_atomic_t n_handled;

static void count(int sig)
{
	(void)sig;
	n_handled++;
}

static __attribute__((noinline, noclone)) void name_some(void)
{
	for (int i = 0; i < 3; i++)
		pcce_context_id();
}

int main(int argc, char **argv)
{
	const struct rlimit none = {0, 0};
	const char *kind = argc > 1 ? argv[1] : "";
	sigset_t set, before, after;
	int was_pending;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	if (!strcmp(kind, "ignore"))
		signal(SIGXFSZ, SIG_IGN);
	else if (strcmp(kind, "default") != 0)
		signal(SIGXFSZ, count);
	if (!strcmp(kind, "pending")) {
		sigprocmask(SIG_BLOCK, &set, NULL);
		raise(SIGXFSZ);
	}
	sigprocmask(SIG_BLOCK, NULL, &before);
	if (setrlimit(RLIMIT_FSIZE, &none))
		return 1;
	name_some();
	sigprocmask(SIG_BLOCK, NULL, &after);
	sigpending(&set);
	was_pending = sigismember(&set, SIGXFSZ);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	printf("pending %d, handled %d, mask %s\n", was_pending, n_handled,
	       memcmp(&before, &after, 8) ? "changed" : "as before");
	return 0;
}
