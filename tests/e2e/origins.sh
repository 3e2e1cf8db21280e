#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests the creation context of threads, beyond the workload `origins`: of threads that are attached
# to after a long run, in each format, merged, after an exception that leaves the whole stack, and
# when they exec.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
set -m
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

cat >program.c <<'END_OF_C'
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "burn.h"

static volatile int endless;

static NOINLINE void *worker(void *arg)
{
	for (int i = 0; i < 40 || endless; i++) {
		burn(4000000);
		burn(1);
	}
	return arg;
}

static NOINLINE void *manager(void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, worker, NULL))
		abort();
	pthread_join(t, NULL);
	burn(4000000); /* else it might be sampled on its way here only, where its origin is not known yet */
	return arg;
}

static NOINLINE void start_all(void)
{
	pthread_t t[2];

	if (pthread_create(&t[0], NULL, worker, NULL) || pthread_create(&t[1], NULL, manager, NULL))
		abort();
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	burn(1);
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;

	endless = argc > 1;
	if (endless && (!f || fprintf(f, "ready\n") < 0 || fclose(f)))
		return 1;
	start_all();
	return 0;
}
END_OF_C
# shellcheck disable=SC2086 # lists of flags
check "builds" $CC -O2 -g -pthread $cflags -I"$top/tests/workloads" program.c $ldflags -o program

create_1='main → start_all  program\.c:33'
create_2='main → start_all → \[thread\] → manager  program\.c:22'

knows() { # NAME DATA
	pcce-report -q -i "$2" --format=threads >"$2.threads" 2>&1
	check "$1: by its creator" grep -Eq " $create_1$" "$2.threads"
	check "$1: by one that was created itself" grep -Eq " $create_2$" "$2.threads"
	is "$1: no thread of unknown origin" "$(stat_of "$2" threads_of_unknown_origin)" 0
}

frequency=2000
if record self self.data ./program; then
	knows "self" self.data
else
	not_ok "recorded by self" self.data.err
fi
if has_bpf; then
	if record bpf bpf.data ./program; then
		knows "bpf" bpf.data
	else
		not_ok "recorded by bpf" bpf.data.err
	fi
	./program ready &
	pid=$!
	for _ in $(seq 3000); do
		[ ! -s ready ] ||
			[ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -lt 4 ] ||
			break
		sleep 0.1
	done
	pcce-record -q -b bpf -F 2000 -o attached.data -p $pid 2>attached.err &
	recorder=$!
	for _ in $(seq 3000); do
		[ ! -s attached.data ] || break
		sleep 0.1
	done
	# Waits until both threads must have been sampled.
	ticks() { cat "/proc/$pid"/task/*/stat | awk '{ print $14 }' | sort -n | tail -n 2 |
		head -n 1; }
	enough=$(($(ticks) + 50))
	for _ in $(seq 3000); do
		[ "$(ticks)" -lt $enough ] || break
		sleep 0.1
	done
	kill -INT $recorder
	wait $recorder
	kill $pid
	wait $pid 2>/dev/null
	knows "-p" attached.data
else
	skip "by bpf, and attached" "pcce-record cannot use BPF: $bpf_reason"
fi

# ---- formats -----------------------------------------------------------------------------

data=self.data
pcce-report -q -i $data --origins --format=folded >folded
check "--origins: the contexts go on" \
	grep -q '^main;start_all;\[thread\];manager;\[thread\];worker;burn' folded
is "  and none begins with a thread" "$(grep -c '^\(worker\|manager\)' folded)" 0
pcce-report -q -i $data --format=folded >folded
check "without it they begin with the thread" grep -q '^worker;burn' folded
pcce-report -q -i $data --origins --under=start_all --format=folded >under
pcce-report -q -i $data --origins --format=folded >all
is "--under selects through it" "$(awk '{ n += $NF } END { print n }' under)" \
	"$(awk '/^main;start_all[; ]/ { n += $NF } END { print n }' all)"
pcce-report -q -i $data --format=jsonl >lines
check "jsonl" grep -Eq "\"origin\":\"$create_2\"" lines
pcce-report -q -i $data --format=trace >trace
check "trace" grep -Eq "\"thread_name\".*\"origin\":\"$create_1\"" trace
pcce-report -q -i $data --format=firefox >firefox
check "firefox" grep -Eq "\"name\":\"program \(created by $create_1\)\"" firefox
pcce-report -q -i $data --format=pprof -o pprof
pcce-report -q -i $data --format=otlp -o otlp
check "otlp" \
	bash -c "grep -aq 'main → start_all  program.c:33' otlp && grep -aq pcce.thread.origin otlp"
if command -v go >/dev/null; then
	go tool pprof -tags pprof >tags 2>/dev/null
	check "pprof's tags" grep -Eq ": $create_1$" tags
	# shellcheck disable=SC2016 # of the expression
	go tool pprof -traces -tagfocus 'origin=manager' pprof >traces 2>/dev/null
	check "pprof selects by it" grep -Eq "origin: *$create_2$" traces
	is "  and nothing else" "$(grep 'origin:' traces | grep -cv manager)" 0
else
	skip "pprof's tags" "go is not installed"
fi

# ---- names of C++ that contain > -------------------------------------------------------------

cat >names.cc <<'END_OF_C'
#include <pthread.h>
#include "burn.h"

template <typename A, typename B> struct pool_with_a_long_name {
	static NOINLINE void *work(void *arg)
	{
		for (int i = 0; i < 40; i++)
			burn(4000000);
		return arg;
	}
	static NOINLINE void start()
	{
		pthread_t t;

		if (!pthread_create(&t, nullptr, work, nullptr))
			pthread_join(t, nullptr);
		burn(1);
	}
};
typedef pool_with_a_long_name<int, pool_with_a_long_name<long, char[(2 > 1)]> > pool;

int main()
{
	pool_with_a_long_name<pool, pool>::start();
	return 0;
}
END_OF_C
# shellcheck disable=SC2086 # lists of flags
check "builds" $CXX -O2 -g -pthread $cflags -I"$top/tests/workloads" names.cc $ldflags -o names
if record self names.data ./names; then
	pcce-report -q -i names.data --format=threads >threads
	check "names are short" grep -q ' main → pool_with_a_long_name::start  names.cc:[0-9]*$' threads
	pcce-report -q -i names.data --format=threads --full-names >threads
	# shellcheck disable=SC2016 # of the expression
	is "functions can be told apart" \
		"$(awk -F ' → ' '/start\(\)/ { print NF, $1 ~ / main$/, $2 ~ /^pool_.*>::start\(\)  names.cc:[0-9]*$/ }' threads)" \
		"2 1 1"
	name=$(pcce-report -q -i names.data --format=firefox | grep -o '"names (created by [^"]*"')
	check "firefox: a short name" \
		grep -Eqx '"names \(created by … → pool_with.{31}….*:start\(\)  names.cc:[0-9]*\)"' <<<"$name"
	check "jsonl: the whole" grep -q '"origin":"main → pool_.*>::start()  names.cc:' \
		<(pcce-report -q -i names.data --format=jsonl)
else
	not_ok "recorded by self" names.data.err
fi

check "pcce-merge keeps it" pcce-merge -q -o merged.data $data $data
pcce-report -q -i merged.data --origins --format=folded >merged
check "  contexts" grep -q '^main;start_all;\[thread\];manager;\[thread\];worker;burn' merged
pcce-report -q -i merged.data --format=threads >merged
check "  a thread that represents several" grep -q ' \[several\]$' merged

# ---- an exception that leaves a thread's whole stack and lands in uninstrumented code ----

cat >lands.cc <<'END_OF_C'
struct calls {
	void (*throws)(int);
	void (*after)(void);
};

extern "C" void *lands(void *p)
{
	const calls *c = static_cast<const calls *>(p);

	for (int i = 0; i < 200; i++) {
		try {
			c->throws(i % 70);
		} catch (int) {
		}
		c->after();
	}
	return p;
}
END_OF_C
cat >throws.cc <<'END_OF_C'
#include <pthread.h>
#include "burn.h"

extern "C" void *lands(void *p);

static NOINLINE void throws(int depth)
{
	if (!depth)
		throw 1;
	throws(depth - 1);
	burn(1);
}

static NOINLINE void after()
{
	burn(3000000);
	burn(1);
}

int main()
{
	struct {
		void (*throws)(int);
		void (*after)(void);
	} calls = {throws, after};
	pthread_t t;

	if (pthread_create(&t, nullptr, lands, &calls))
		return 1;
	return pthread_join(t, nullptr);
}
END_OF_C
# shellcheck disable=SC2086 # lists of flags
if $CXX -O2 -c lands.cc -o lands.o &&
	$CXX -O2 -g -pthread $cflags -I"$top/tests/workloads" throws.cc lands.o $ldflags \
	-o throws &&
	record_options=--verify record self throws.data ./throws; then
	allow_marked=10
	recording_is_verified "a landing on top of an origin: agrees with the real stack" \
		throws.data 100
	pcce-report -q -i throws.data --origins --format=folded >folded
	check "  the origin is still there" grep -Eq '^main;\[thread\];after\(\);burn' folded
	is "  always" "$(grep -c '^\(after\|throws\)' folded)" 0
else
	not_ok "a landing on top of an origin" throws.data.err
fi

# ---- a thread that execs becomes the main thread, with its page for a moment --------------

cat >execs.c <<'END_OF_C'
#include <pthread.h>
#include <unistd.h>
#include "burn.h"

static char **arguments;

static NOINLINE void in_thread(int depth)
{
	if (depth)
		in_thread(depth - 1);
	else
		execv("/proc/self/exe", arguments);
	burn(1);
}

static NOINLINE void *thread(void *arg)
{
	in_thread(40);
	return arg;
}

static NOINLINE void in_main(int depth)
{
	if (depth)
		in_main(depth - 1);
	else
		for (;;)
			burn(100);
	burn(1);
}

int main(int argc, char **argv)
{
	char left[16];
	pthread_t t;

	if (argc < 2 || atoi(argv[1]) <= 0)
		return argc < 2;
	snprintf(left, sizeof(left), "%d", atoi(argv[1]) - 1);
	argv[1] = left;
	arguments = argv;
	if (pthread_create(&t, NULL, thread, NULL))
		return 1;
	in_main(40);
	return 0;
}
END_OF_C
# shellcheck disable=SC2086 # lists of flags
check "builds" $CC -O2 -g -pthread $cflags -I"$top/tests/workloads" execs.c $ldflags -o execs
if ! has_bpf; then
	skip "a thread that execs" "pcce-record cannot use BPF: $bpf_reason"
elif frequency=20000 record bpf execs.data ./execs 200; then
	pcce-report -q -i execs.data --format=threads >threads
	check "a thread that execs: is created by main" grep -q ' main  execs\.c:[0-9]*$' threads
	pid=$(awk '$3 == $4 { print $3 }' threads)
	is "  the main thread is not" "$(awk -v pid="$pid" '$4 == pid { print $NF }' threads)" -
	pcce-report -q -i execs.data --tid="$pid" --format=folded >folded
	check "  the main thread has its own contexts" grep -q '^main;in_main' folded
	is "  and no other" "$(grep -c in_thread folded)" 0
	is "  nothing is undecodable" "$(stat_of execs.data undecodable)" 0
else
	not_ok "a thread that execs" execs.data.err
fi

done_testing
