#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Makes samplers lose samples. The report must say how many were due, and where each of them is.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1

cat >spin.c <<'END_C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "burn.h"

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* An event like the samplers': its clock counts interrupts and what a host takes, too. */
static int begin_event(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .size = sizeof(attr),
				       .inherit = 1,
				       .exclude_kernel = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* The kernel keeps all signals back, whatever libraries believe. */
static void hold_signals(int how)
{
	unsigned long all = ~0UL;

	syscall(SYS_rt_sigprocmask, how, &all, NULL, sizeof(all));
}

/* Ends 0.4 s of CPU time after it blocked all signals. */
static void *last_words(void *arg)
{
	(void)arg;
	for (double until = cpu() + 0.1; cpu() < until;)
		burn(20000);
	hold_signals(SIG_BLOCK);
	for (double until = cpu() + 0.4; cpu() < until;)
		burn(20000);
	return NULL;
}

static char zeros[16 << 20];

/* spin SECONDS [kernel|calls|held|ends]: runs, mostly in the kernel, or in its system calls, with
 * all signals blocked, or in threads that end so; prints its CPU time in ms, and the same or, if
 * that is more, that of an event */
int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	double end = atof(argv[1]);
	int zero = open("/dev/zero", O_RDONLY), event = begin_event();
	uint64_t ns;

	while (cpu() < end) {
		if (!strcmp(how, "held"))
			hold_signals(SIG_BLOCK);
		if (!strcmp(how, "ends")) {
			pthread_t thread;

			pthread_create(&thread, NULL, last_words, NULL);
			pthread_join(thread, NULL);
		}
		burn(20000);
		if (!strcmp(how, "held")) {
			for (double until = cpu() + 0.1; cpu() < until;)
				burn(20000);
			hold_signals(SIG_UNBLOCK);
			burn(20000);
		}
		if (!strcmp(how, "kernel") && pread(zero, zeros, sizeof(zeros), 0) < 0)
			return 1;
		for (int i = 0; !strcmp(how, "calls") && i < 1000; i++)
			syscall(SYS_getppid);
	}
	if (read(event, &ns, sizeof(ns)) != sizeof(ns))
		return 2;
	end = cpu();
	printf("%.0f %.0f\n", 1000 * end, (double)ns > 1e9 * end ? (double)ns / 1e6 : 1000 * end);
	return 0;
}
END_C
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
check "a program builds" $CC -O2 -g -pthread -I"$top/tests/workloads" $cflags spin.c $ldflags -o spin

# due_fits DATA FREQUENCY [MORE]: about the CPU time that the program used, or at most MORE percent
# more than that of its event
due_fits() {
	local due cpu event
	due=$(stat_of "$1" due)
	read -r cpu event <"$1.out"
	[ "$due" -ge $((cpu * $2 * 9 / 10000)) ] 2>/dev/null &&
		[ "$due" -le $((event * $2 * (100 + ${3-5}) / 100000 + 5)) ]
}

# spin SAMPLER DATA FREQUENCY MORE ARGUMENT...: records ./spin.  A host may take its time before the
# program's event begins, or after it: then it is done again.
spin() {
	local sampler=$1 data=$2 f=$3 more=$4
	shift 4
	for _ in 1 2 3 4 5; do
		frequency=$f record "$sampler" "$data" ./spin "$@"
		! due_fits "$data" "$f" "$more" || break
	done
}

# accounts NAME DATA FREQUENCY [MORE]: the report's numbers add up to the time that the program used
accounts() {
	local name=$1 data=$2
	if [ "$(stat_of "$data" due)" != "not known" ] && samples_add_up "$data"; then
		ok "$name: due is what was taken, merged, in the kernel, and lost"
	else
		not_ok "$name: due is what was taken, merged, in the kernel, and lost" "$data.stats" "$data.err"
	fi
	if due_fits "$data" "$3" "${4-5}"; then
		ok "$name: due is the program's CPU time"
	else
		not_ok "$name: due is the program's CPU time" "of ms: $(cat "$data.out")" "$data.stats"
	fi
	echo "#   $(head -5 "$data.stats" | tr '\n' ' '), ms $(cat "$data.out")"
}

can_sample_self=0
record self probe ./spin 0.2 && grep -q '^due: [0-9]' <(pcce-report -i probe --stats) &&
	! grep -q 'a timer is used' probe.err && can_sample_self=1
if [ "$can_sample_self" = 1 ]; then
	for f in 1000 50000; do
		spin self fast$f $f 5 1
		accounts "self, $f Hz" fast$f $f
	done
	spin self kernel 5000 5 1 kernel
	accounts "self, in the kernel" kernel 5000
	check "self, in the kernel: most samples are there" \
		[ "$(stat_of kernel kernel)" -gt "$(stat_of kernel taken)" ]
	# More overflows than the event's log holds arrive as one sample.
	spin self held 5000 5 1 held
	accounts "self, signals held back" held 5000
	check "self, signals held back: most samples merge" \
		[ "$(stat_of held merged)" -gt $((10 * $(stat_of held taken))) ]
	weight=$(pcce-report -i held --format=folded | awk '{ w += $NF } END { print w }')
	is "self, signals held back: the weights make up for them" "$weight" \
		$(($(stat_of held taken) + $(stat_of held merged)))
	check "self, signals held back: pcce-record warns" grep -q 'samples merged into others' held.err
	spin self ends 1000 5 1 ends
	accounts "self, ends of threads" ends 1000
	check "self, ends of threads: what was held back is lost" \
		[ "$(stat_of ends lost_blocked)" -gt $(($(stat_of ends due) / 2)) ]
	check "self, ends of threads: pcce-record warns" grep -q 'were lost: their threads ended' ends.err
else
	skip "the self sampler's losses" "perf_event_open is not permitted"
fi

# The kernel runs no BPF program inside another one. The other recorder's program runs at each
# system call of all processes.
if has_bpf; then
	spin bpf bpf 1000 5 1
	accounts "bpf, alone" bpf 1000
	# The timer does not keep pace, and the kernel leaves out the periods that passed.
	if [ "$(cat /proc/sys/kernel/perf_event_max_sample_rate)" -lt 99000 ]; then
		skip "bpf, 99 kHz" "kernel.perf_event_max_sample_rate is lower"
	elif ! grep -q ' bpf_cast_to_kern_ctx' /proc/kallsyms; then
		skip "bpf, 99 kHz" "a BPF program cannot read the event before Linux 6.2"
	else
		# If the program is stopped after its host was, before the late timer runs, nobody
		# knows of the periods that have passed.
		for _ in 1 2 3 4 5; do
			spin bpf fast 99000 100 1
			unexplained=$(stat_of fast lost_unexplained)
			[ "${unexplained:-0}" -gt $(($(stat_of fast due) / 50)) ] || break
		done
		# Interrupts take most of the time, also while the program begins and ends.
		accounts "bpf, 99 kHz" fast 99000 100
		check "bpf, 99 kHz: the reason is known" \
			[ "${unexplained:-0}" -le $(($(stat_of fast due) / 50)) ]
	fi

	# A target that ends as soon as it is sampled: its mappings must be known by then.
	cat >enable.c <<-'END_C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <linux/perf_event.h>
		#include <signal.h>
		#include <stdarg.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>

		static double cpu_of(pid_t pid)
		{
			struct timespec t;
			clockid_t clock;

			if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
				exit(1);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}

		/* Preloaded to the recorder: kills the target when it has run for 0.2 s since its event
		 * was enabled. */
		int ioctl(int fd, unsigned long request, ...)
		{
			int (*real)(int, unsigned long, ...) =
				(int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
			va_list args;
			int result;

			va_start(args, request);
			result = real(fd, request, va_arg(args, void *));
			va_end(args);
			if (request == PERF_EVENT_IOC_ENABLE && getenv("TARGET")) {
				pid_t target = atoi(getenv("TARGET"));
				double end = cpu_of(target) + 0.2;

				while (cpu_of(target) < end)
					usleep(1000);
				kill(target, SIGKILL);
				usleep(100000);
			}
			return result;
		}
	END_C
	check "a library for the recorder builds" $CC -shared -fPIC enable.c -o enable.so -ldl
	./spin 100 >spin.out &
	target=$!
	until [ "/proc/$target/exe" -ef spin ]; do sleep 0.1; done
	TARGET=$target LD_PRELOAD=./enable.so timeout 300 pcce-record -b bpf -F 1000 -o short \
		-p $target 2>short.err
	wait $target 2>/dev/null
	recording_is_exact "a target that ends at once: all samples are exact" short 20

	if mkdir tracing && mount -t tracefs nodev tracing 2>/dev/null; then
		umount tracing
		cat >beside.sh <<-'END_SH'
			mount --make-rprivate / || exit 1
			mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing || exit 1
			pcce-record -q -b bpf -e raw_syscalls:sys_enter -c 1 -o other.data -- sleep 100 2>other.err &
			other=$!
			# It is let go when the program is in place.
			until pgrep -x -P $other sleep >/dev/null; do sleep 0.1; done
			pcce-record -b bpf -F 20000 -o nested -- ./spin 2 calls >nested.out 2>nested.err
			status=$?
			kill -TERM $other
			wait $other
			exit $status
		END_SH
		for _ in 1 2 3 4 5; do
			timeout 300 unshare -m bash beside.sh >beside.log 2>&1
			status=$?
			! due_fits nested 20000 || break
		done
		is "beside a tracepoint: both record" "$status $(cat beside.log)" "0 "
		accounts "bpf, beside a tracepoint" nested 20000
		check "bpf, beside a tracepoint: what is missing is lost" \
			[ "$(stat_of nested lost_unexplained)" -gt 0 ]
	else
		skip "bpf beside a tracepoint" "cannot mount tracefs"
	fi
else
	skip "the bpf sampler's losses" "$bpf_reason"
fi

# ---- children and threads that only the kernel or the C library creates -----------------------

cat >raw.c <<'END_C'
#define _GNU_SOURCE
#include <linux/sched.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "burn.h"

static sem_t done;
static char stack[1 << 16] __attribute__((aligned(16)));

static NOINLINE void work_there(void)
{
	for (int i = 0; i < 1000; i++)
		burn(100000);
	burnt++;
}

static NOINLINE void work_here(void)
{
	for (int i = 0; i < 500; i++)
		burn(100000);
	burnt++;
}

static void notified(union sigval value)
{
	work_there();
	if (value.sival_int == 5)
		sem_post(&done);
}

static int start_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 5};
	struct itimerspec soon = {.it_value.tv_nsec = 1000000};
	timer_t timer;

	event.sigev_notify_function = notified;
	if (sem_init(&done, 0, 0) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &soon, NULL))
		return 1;
	while (sem_wait(&done))
		continue;
	work_here();
	puts("end");
	return 0;
}

static int end_there(void *none)
{
	(void)none;
	return 7;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	struct clone_args args = {.exit_signal = SIGCHLD};
	int status = -1;
	pid_t child;

	if (!strcmp(kind, "timer"))
		return start_timer();
	if (!strcmp(kind, "_Fork"))
		child = _Fork();
	else if (!strcmp(kind, "fork"))
		child = (pid_t)syscall(SYS_fork);
	else if (!strcmp(kind, "clone"))
		child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else if (!strcmp(kind, "clone3"))
		child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	else if (!strcmp(kind, "function")) /* as with "stack" */
		child = clone(end_there, stack + sizeof(stack) - 4096, SIGCHLD, NULL);
	else /* a child without samples: it has another stack */
		child = (pid_t)syscall(SYS_clone, SIGCHLD, stack + sizeof(stack) - 4096, 0, 0, 0);
	if (child == 0) {
		if (strcmp(kind, "stack") != 0)
			work_there();
		_exit(7);
	}
	if (waitpid(child, &status, 0) == child && (!WIFEXITED(status) || WEXITSTATUS(status) != 7))
		status = strcmp(kind, "stack") ? -1 : 0;
	work_here();
	puts(status < 0 ? "wrong" : "end");
	return 0;
}
END_C
# shellcheck disable=SC2046
if $CC -O2 -g -pthread -I"$top/tests/workloads" $(pcce-config --cflags) raw.c $(pcce-config --ldflags) \
	-o raw >raw.log 2>&1; then
	for kind in _Fork fork clone clone3 timer; do
		record self raw.data ./raw $kind
		is "$kind: the program works" "$? $(cat raw.data.out)" "0 end"
		pcce-report -i raw.data --format=folded >raw.folded
		check "$kind: what it creates is sampled" grep -q '\(main\|notified\);work_there;burn ' raw.folded
		check "$kind: ... and so is the rest" grep -q 'main;\(start_timer;\)*work_here;burn ' raw.folded
		is "$kind: nothing is undecodable" "$(stat_of raw.data undecodable)" 0
		check "$kind: the samples add up" samples_add_up raw.data
		record_options=--verify record self raw.data ./raw $kind
		is "$kind: --verify" "$? $(cat raw.data.out) $(stat_of raw.data mismatches)" "0 end 0"
	done
	for kind in stack function; do
		record self raw.data ./raw $kind
		is "a child on another stack, $kind" "$? $(cat raw.data.out)" "0 end"
		is "... is not sampled, so nobody knows what was due" "$(stat_of raw.data due)" "not known"
		check "... and pcce-record says so" grep -q 'a raw system call, clone() or a timer created them: 1;' raw.data.err
	done
else
	not_ok "raw.c is built" raw.log
fi

# ---- processes that go on, and programs that execute others -----------------------------------

cat >after.c <<'END_C'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "burn.h"

static NOINLINE void work_long(void)
{
	for (int i = 0; i < 200; i++)
		burn(100000);
	burnt++;
}

/* Forks twice, as daemons do, and waits until the daemon has worked. */
static void begin_daemon(void)
{
	int works[2];

	if (pipe(works))
		_exit(2);
	if (fork()) {
		close(works[1]);
		while (read(works[0], &(char){0}, 1) > 0)
			continue;
		return;
	}
	setsid();
	if (fork())
		_exit(0);
	close(1);
	close(2);
	work_long();
	close(works[1]);
	/* This pipe ends when the daemon is to end. */
	while (read(0, &(char){0}, 1) > 0)
		work_long();
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (!strcmp(kind, "daemon"))
		begin_daemon();
	work_long();
	/* The recorder looks ten times a second. */
	usleep(500000);
	if (!strcmp(kind, "again"))
		execl("/proc/self/exe", argv[0], "end", NULL);
	usleep(500000);
	puts("end");
	return 0;
}
END_C
# shellcheck disable=SC2046
if $CC -O2 -g -I"$top/tests/workloads" $(pcce-config --cflags) after.c $(pcce-config --ldflags) \
	-o after >after.log 2>&1; then
	for options in "-b self" "-b bpf" "--count"; do
		if [ "$options" = "-b bpf" ] && ! has_bpf; then
			skip "$options: a daemon" "$bpf_reason"
			continue
		fi
		mkfifo daemon
		exec 9<>daemon
		# shellcheck disable=SC2086,SC2094
		is "$options: a daemon: output" \
			"$(timeout 300 pcce-record $options -o after.data -- ./after daemon <daemon 9>&- 2>after.err)" end
		check "$options: a daemon that still runs is told of" \
			grep -q "still run after the program's end: 1;" after.err
		exec 9>&-
		rm daemon
		# shellcheck disable=SC2086
		is "$options: none: output" \
			"$(timeout 300 pcce-record $options -o after.data -- ./after 2>after.err)" end
		check "$options: no process still runs" sh -c '! grep -q "still run" after.err'
	done
	# The recorder has to look between, which a busy machine may not let it.
	for _ in 1 2 3 4 5; do
		got=$(timeout 300 pcce-record --count -o after.data -- ./after again 2>after.err)
		! grep -q 'executed a program' after.err || break
	done
	is "--count: a program that executes itself: output" "$got" end
	check "... is told of" grep -q 'has executed a program, or itself again' after.err
	pcce-record --count --burst=1ms/100s -o after.data -- ./after >after.out 2>after.err
	[ "$(stat_of after.data samples)" != 0 ] ||
		check "no calls in a burst: says so" grep -q 'no calls were counted: .* in a burst' after.err
else
	not_ok "after.c is built" after.log
fi

done_testing
