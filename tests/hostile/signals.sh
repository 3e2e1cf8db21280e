#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Attacks the self sampler with signals: the program takes, ignores, blocks and waits for the signal
# that samples. It must see exactly what it sees without a sampler, and be sampled all the same.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

cat >signals.c <<'END_C'
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include "burn.h"

static volatile sig_atomic_t got;

static void count(int sig)
{
	(void)sig;
	got++;
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* At least half a second of CPU time in calls that can be told apart.  A host may take most of it,
 * so there is a least number of them, too. */
static NOINLINE void work(void)
{
	double end = cpu() + 0.5;

	for (int i = 0; i < 30000 || cpu() < end; i++)
		burn(20000);
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(sig, &action, NULL);
}

static int blocked(int sig)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, sig);
}

static sigset_t set_of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static int looks(int sig)
{
	struct sigaction action;
	sigset_t all;

	sigaction(sig, NULL, &action);
	printf("%s %d", action.sa_handler == SIG_DFL ? "default" : "other", action.sa_flags);
	printf(" %d", signal(sig, SIG_IGN) == SIG_DFL);
	sigaction(sig, NULL, &action);
	printf(" %s", action.sa_handler == SIG_IGN ? "ignored" : "other");
	handle(sig, count, SA_NODEFER);
	sigaction(sig, NULL, &action);
	printf(" %s %d", action.sa_handler == count ? "mine" : "other",
	       (action.sa_flags & (SA_NODEFER | SA_ONSTACK | SA_SIGINFO | SA_RESTART)) ==
		       SA_NODEFER);
	printf(" %d", blocked(sig));
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	printf(" %d", blocked(sig));
	work();
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	printf(" %d\n", blocked(sig));
	return 0;
}

static int daemon_like(void (*handler)(int))
{
	for (int i = 1; i < NSIG; i++)
		signal(i, handler);
	work();
	puts("done");
	return 0;
}

/* Each signal that it sends to itself arrives once, and no other. */
static int takes(int sig)
{
	int sent = 0;

	handle(sig, count, 0);
	for (; sent < 100; sent++) {
		burn(20000);
		if (sent % 3 == 0)
			raise(sig);
		else if (sent % 3 == 1)
			kill(getpid(), sig);
		else
			pthread_kill(pthread_self(), sig);
	}
	work();
	printf("%d of %d\n", (int)got, sent);
	handle(sig, count, (int)SA_RESETHAND);
	raise(sig);
	struct sigaction now;
	sigaction(sig, NULL, &now);
	printf("%d %d\n", (int)got, now.sa_handler == SIG_DFL);
	return 0;
}

/* The functions of System V and 4.2BSD. */
static int sysv(int sig)
{
	int bit = 1 << (sig - 1);
	void (*before)(int) = sigset(sig, count);

	printf("%d", before == SIG_DFL);
	raise(sig);
	printf(" %d", (int)got);
	printf(" %d", sigset(sig, SIG_HOLD) == count);
	printf(" %d", sigset(sig, SIG_HOLD) == SIG_HOLD);
	printf(" %d", blocked(sig));
	work();
	raise(sig);
	printf(" %d", (int)got);
	printf(" %d", sigrelse(sig));
	printf(" %d %d", (int)got, blocked(sig));
	sighold(sig);
	printf(" %d", sigset(sig, count) == SIG_HOLD);
	printf(" %d %d", blocked(sig), sigblock(bit) & bit);
	work();
	printf(" %d", (siggetmask() & bit) == bit);
	printf(" %d", (sigsetmask(0) & bit) == bit);
	printf(" %d", siggetmask() & bit);
	printf(" %d", sigset(sig, SIG_ERR) == SIG_ERR && errno == EINVAL);
	printf(" %d", sigset(NSIG, count) == SIG_ERR && errno == EINVAL);
	sigignore(sig);
	raise(sig);
	printf(" %d %d\n", (int)got, sigset(sig, SIG_DFL) == SIG_IGN);
	return 0;
}

static int ends(int sig)
{
	work();
	kill(getpid(), sig);
	work();
	return 0;
}

static void *send_later(void *arg)
{
	usleep(20000);
	kill(getpid(), *(int *)arg);
	return NULL;
}

/* Waits for 20 signals in one of several ways. */
static int waits(const char *how, int sig)
{
	sigset_t set = set_of(sig), none;
	struct signalfd_siginfo info;
	struct pollfd p = {.events = POLLIN};
	siginfo_t si;
	int n = 0, received = 0, strange = 0;

	sigprocmask(SIG_BLOCK, &set, NULL);
	if (strcmp(how, "sigwait") && strcmp(how, "sigtimedwait"))
		handle(sig, count, 0);
	if (!strcmp(how, "signalfd"))
		p.fd = signalfd(-1, &set, SFD_CLOEXEC);
	sigprocmask(SIG_BLOCK, NULL, &none);
	sigdelset(&none, sig);
	for (; n < 20; n++) {
		pthread_t t;

		burn(200000);
		pthread_create(&t, NULL, send_later, &sig);
		if (!strcmp(how, "sigwait")) {
			int which = 0;

			sigwait(&set, &which);
			received += which == sig;
		} else if (!strcmp(how, "sigtimedwait")) {
			const struct timespec ten = {.tv_sec = 10};

			while (sigtimedwait(&set, &si, &ten) < 0 && errno == EINTR)
				;
			received += si.si_signo == sig;
			strange += si.si_code != SI_USER;
		} else if (!strcmp(how, "signalfd")) {
			while (poll(&p, 1, 10000) < 0 && errno == EINTR)
				;
			received += read(p.fd, &info, sizeof(info)) == sizeof(info) &&
				    (int)info.ssi_signo == sig;
			strange += info.ssi_code != SI_USER;
		} else if (!strcmp(how, "sigsuspend")) {
			int before = got;

			while (got == before)
				sigsuspend(&none);
		} else {
			const struct timespec ten = {.tv_sec = 10};
			int before = got;

			while (got == before)
				ppoll(NULL, 0, &ten, &none);
		}
		pthread_join(t, NULL);
	}
	printf("%d %d\n", received + got, strange);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	work();
	return 0;
}

/* Nothing but the sampler could end these calls early. */
static int sleeps(void)
{
	const struct timespec ms = {.tv_nsec = 100000};
	int early = 0;

	for (int i = 0; i < 4000; i++) {
		burn(20000);
		early += nanosleep(&ms, NULL) != 0;
		early += poll(NULL, 0, 0) != 0;
		early += ppoll(NULL, 0, &ms, NULL) != 0;
	}
	printf("%d\n", early);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int sig = argc > 2 ? atoi(argv[2]) : SIGWINCH;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "looks"))
		return looks(sig);
	if (!strcmp(what, "default"))
		return daemon_like(SIG_DFL);
	if (!strcmp(what, "ignore"))
		return daemon_like(SIG_IGN);
	if (!strcmp(what, "takes"))
		return takes(sig);
	if (!strcmp(what, "sysv"))
		return sysv(sig);
	if (!strcmp(what, "ends"))
		return ends(sig);
	if (!strcmp(what, "sleeps"))
		return sleeps();
	return waits(what, sig);
}
END_C
check "the program builds" $CC -O2 -g -pthread -I"$w" $cflags signals.c $ldflags -o signals

# recorded NAME MINIMUM ARGUMENT...: as without a sampler, and all samples decode.  One in 20 may be
# one at which the runtime saved or restored the context around a handler of the program.
recorded() {
	local name=$1 minimum=$2 restoring
	shift 2
	record_options=${signal+--signal=$signal} recorded_as_plain "$name" "$minimum" ./signals "$@"
	restoring=$(stat_of s.data undecodable_restoring)
	is "$name: all samples decode" "$(stat_of s.data undecodable)" "${restoring:-0}"
	check "$name: few came while a context was restored" \
		[ $((${restoring:-0} * 20)) -le "$(stat_of s.data samples)" ]
}

recorded "the handler is hidden" 200 looks
recorded "a daemon sets all signals to SIG_DFL" 200 default
recorded "a daemon ignores all signals" 200 ignore
recorded "a handler of its own for SIGWINCH" 200 takes
recorded "sigset() and its kin" 200 sysv
for how in sigwait sigtimedwait signalfd sigsuspend ppoll; do
	recorded "waits for SIGWINCH with $how" 200 $how
done
frequency=10000 recorded "sleeps and polls at 10 kHz" 50 sleeps
is "sleeps and polls: none ended early" "$(cat s.data.out)" 0

# ---- the user chooses the signal -----------------------------------------------------------

for signal in URG USR2 SIGPROF 40 RTMIN+5; do
	recorded "--signal=$signal: SIGWINCH is the program's alone" 200 takes
done
signal=URG
recorded "--signal=URG, and the program waits for it" 200 signalfd "$(kill -l URG)"
signal=USR2
recorded "--signal=USR2, and the program handles it" 200 takes "$(kill -l USR2)"
recorded "--signal=USR2, and it ends the program" 200 ends "$(kill -l USR2)"
unset signal
for bad in KILL SEGV 0 65 33 NONE ""; do
	pcce-record -b self --signal=$bad -o bad.data -- true 2>err
	is "--signal=$bad is refused" $? 64
	check "--signal=$bad: says what it must be" grep -q 'must be a signal that a program can do without' err
done
# ---- handlers that change where to continue ----------------------------------------------

# A skipped instruction changes no context.  After a call that a handler has injected, contexts are
# marked until the next pop of an older call.  KIND REASONS, which are all that may be marked.
cflags=$(pcce-config --cflags) ldflags=$(pcce-config --ldflags)
for kind in "skip restoring" "inject (restoring|redirected)"; do
	set -- $kind
	for form in "" -fPIC\ -pie -static; do
		check "$1: builds $form" $CC -O2 -g $cflags $form \
			"$top/tests/hostile/redirect.c" -o redirect $ldflags || continue
		for sampler in "-b self" "-b bpf" --verify; do
			if [ "$sampler" = "-b bpf" ] && ! has_bpf; then
				skip "$1, $sampler" "$bpf_reason"
				continue
			fi
			is "$1, $sampler: the program does its work $form" "$(pcce-record -q $sampler -F 2000 \
				-o redirect.data -- ./redirect $1 8000 2>redirect.err)" 16000
			pcce-report -q -i redirect.data --stats >redirect.data.stats 2>&1
			is "$1, $sampler: nothing else is marked $form" "$(grep '^undecodable_' \
				redirect.data.stats | grep -Ev "^undecodable_$2:")" ""
			is "$1, $sampler: what is exact is right $form" "$(
				pcce-report -q -i redirect.data --no-kernel --format=folded | sed 's/ [0-9]*$//' |
					grep -E '(^|;)(other|deep|traps|injected|spin)(;|$)' |
					grep -Ev '^\[undecodable|^main;(other;)?(deep;)*(traps;)?(\[signal\];on_trap;)?[^;]*(;[^;]*)?$'
			)" ""
			check "$1, $sampler: there are exact samples $form" \
				test "$(stat_of redirect.data exact)" -ge 10
			[ "$sampler" = --verify ] && [ "$form" != -static ] &&
				is "$1: no context differs from the real stack $form" \
					"$(stat_of redirect.data mismatches)" 0
		done
	done
done
done_testing
