#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests difficult cases: programs that end, die, exec, are stripped, have no debug information, or
# are attached to while they run; and recorders that die.  confined.sh tests less than usual
# privilege.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
# Without job control bash starts background commands with SIGINT ignored.
set -m
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
samplers=self
if has_bpf; then
	samplers="bpf self"
else
	skip "the same with BPF" "pcce-record cannot use BPF: $bpf_reason"
fi

# shellcheck disable=SC2086 # lists of flags
compile() { # SOURCE OUTPUT [FLAG...]
	local source=$1 output=$2
	shift 2
	$CC -O2 $cflags "$@" "$source" $ldflags -o "$output"
}

cat >endless.c <<'END'
#include <unistd.h>
#include "burn.h"
static NOINLINE void spin(int depth);
static NOINLINE void other(int depth)
{
	spin(depth - 1);
	burn(1);
}
static NOINLINE void spin(int depth)
{
	if (depth % 2)
		spin(depth - 1);
	else if (depth)
		other(depth - 1);
	else
		burn(100000);
	burn(1);
}
int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;

	if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f))
		return 1;
	for (;;)
		spin(argc > 2 ? atoi(argv[2]) : 6);
}
END
check "builds without -g" compile endless.c endless -I"$w"
compile "$w/recursion.c" recursion -g
want=$(./recursion)

sampled() { # PID: does it get the self sampler's signals?
	grep -q perf_event "/proc/$1/maps" || grep -q . "/proc/$1/timers"
}
rings_of() { # PID: the directory that its self sampler was told
	tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^PCCE_SELF=\(.*\):[0-9]*:[a-z0-9]*$/\1/p'
}

# A recorder dies and nothing reads the ring any more, which deep stacks fill soon.
pcce-record -b self -F 1000 -o forsaken.data -- ./endless forsaken.pid 701 >forsaken.log 2>&1 &
recorder=$!
wait_for_samples forsaken.data 4000
kill -KILL $recorder
wait $recorder 2>/dev/null
forsaken=$(cat forsaken.pid)
left_behind=$(rings_of "$forsaken")
check "self: a program outlives its recorder" sampled "$forsaken"
if [ -e "$left_behind/owner" ]; then
	PCCE_SELF=$left_behind:1000000: ./recursion >late.out
	is "self: a program that comes too late: output" "$(cat late.out)" "$want"
	got=$(ls "$left_behind" 2>/dev/null)
fi
if [ -e "$left_behind/owner" ]; then
	is "self: ... and it leaves nothing there" "$got" owner
else
	skip "self: a program that comes too late" \
		"another recorder on this machine has removed the directory"
fi
rm -f pid
pcce-record -b self -F 1000 -o alive.data -- ./endless pid >alive.log 2>&1 &
recorder=$!
until [ -s pid ]; do sleep 0.1; done
in_use=$(rings_of "$(cat pid)")
record self after.data true
check "self: a later recorder removes what the dead one left behind" [ ! -e "$left_behind" ]
check "self: ... and not what a living one uses" [ -e "$in_use/owner" ]
kill -INT $recorder
wait $recorder
check "self: which removes it itself" [ ! -e "$in_use" ]

for s in $samplers; do
	# ends by itself at once
	record $s short.data sh -c 'exit 0'
	is "$s: a program that ends at once" $? 0

	# killed from outside
	rm -f pid killed.data
	(
		wait_for_samples killed.data 400
		kill -KILL "$(cat pid)"
	) &
	killer=$!
	timeout 300 pcce-record -b $s -F 1000 -o killed.data -- ./endless pid >killed.log 2>&1
	status=$?
	kill $killer 2>/dev/null
	wait $killer 2>/dev/null
	is "$s: a killed program's status is passed on" $status 137
	recording_is_exact "$s: the recording up to there is exact" killed.data 300

	# SIGINT to the recorder
	rm -f pid int.data
	pcce-record -b $s -F 1000 -o int.data -- ./endless pid >int.log 2>&1 &
	recorder=$!
	wait_for_samples int.data 400
	kill -INT $recorder
	check "$s: SIGINT ends the recording" timeout 300 tail --pid=$recorder -f /dev/null
	wait $recorder
	recording_is_exact "$s: a recording ended by SIGINT is exact" int.data 300
	kill "$(cat pid)" 2>/dev/null

	# SIGKILL to the recorder
	rm -f pid dead.data
	pcce-record -b $s -F 1000 -o dead.data -- ./endless pid >dead.log 2>&1 &
	recorder=$!
	wait_for_samples dead.data 400
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	pid=$(cat pid)
	check "$s: the program outlives its recorder" kill -0 "$pid"
	is "$s: ... the recording is readable, and incomplete" \
		"$(stat_of dead.data incomplete)" 1
	is "$s: ... nothing in it is undecodable" "$(stat_of dead.data undecodable)" 0
	check "$s: ... and it is exact" [ "$(stat_of dead.data exact)" -ge 300 ]
	check "$s: ... with the names of functions" \
		sh -c "pcce-report -i dead.data --format=folded | grep -q '^main;.*spin;burn'"
	kill "$pid"

	# exec, stripped, no debug information
	record $s exec.data sh -c 'exec ./recursion'
	is "$s: exec" "$(cat exec.data.out)" "$want"
	recording_is_exact "$s: exec: all samples exact" exec.data 30
	cp recursion stripped
	check "$s: strip" strip stripped
	record $s stripped.data ./stripped
	is "$s: stripped" "$(cat stripped.data.out)" "$want"
	recording_is_exact "$s: stripped: all samples exact" stripped.data 30
	check "$s: stripped: functions still have their names" \
		sh -c "pcce-report -i stripped.data --format=folded | grep -q 'main;.*walk;.*burn'"

	# the data file alone is enough
	mkdir -p gone
	cp recursion gone/recursion
	record $s gone.data gone/recursion
	rm -r gone
	recording_is_exact "$s: decodes after the program was deleted" gone.data 30

	# not instrumented at all
	record $s plain.data sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
	is "$s: a program without pcce" $? 0
	pcce-report -i plain.data --stats >plain.stats 2>&1
	is "$s: ... has only outside samples" \
		"$(stat_of plain.data outside)" "$(stat_of plain.data samples)"
done


# attach to a running process
for s in $samplers; do
	if [ $s = self ]; then
		continue
	fi
	rm -f pid
	./endless pid &
	target=$!
	until [ -s pid ]; do sleep 0.1; done
	pcce-record -b $s -F 1000 -o attach.data -p $target >attach.log 2>&1 &
	recorder=$!
	wait_for_samples attach.data 400
	kill -INT $recorder
	wait $recorder
	is "$s: -p ends with status 0 after SIGINT" $? 0
	check "$s: -p leaves the process alive" kill -0 $target
	kill $target
	wait $target 2>/dev/null
	recording_is_exact "$s: -p: all samples exact" attach.data 300
done
pcce-record -p 999999999 -o no.data >log 2>&1
check "-p of no process fails with a message" sh -c "[ $? != 0 ] && grep -q 999999999 log"


# The program without a recorder stops sampling ten seconds after the recorder's last look.
for ((i = 0; i < 600; i++)); do
	sampled "$forsaken" || break
	sleep 0.1
done
check "self: a program that outlives its recorder finally runs undisturbed" \
	sh -c "kill -0 $forsaken && [ $i -lt 600 ]"
kill "$forsaken"

# A debugger that calls a function changes the id, which nothing in the program can see.
cat >visited.c <<'END'
#include <stdio.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa))

volatile int sum;

static NOINLINE void burn(void)
{
	for (int i = 0; i < 20000; i++)
		sum++;
}

static NOINLINE void in_a(void) { burn(); sum++; }
static NOINLINE void in_b(void)
{
	burn();
	sum++; /* stop here */
}
static NOINLINE void in_c(void) { burn(); sum++; }

static NOINLINE void inner(int which)
{
	which == 0 ? in_a() : which == 1 ? in_b() : in_c();
	sum++;
}

static NOINLINE void path_a(void) { inner(0); sum++; }
static NOINLINE void path_b(void) { inner(1); sum++; }
static NOINLINE void path_c(void) { inner(2); sum++; }

NOINLINE int called(int by)
{
	return sum += by;
}

int (*volatile keep)(int) = called;

static NOINLINE void round_trip(void)
{
	path_a();
	path_b();
	path_c();
}

int main(void)
{
	int end[2];

	keep(called(1) + called(2)); /* so the call by the debugger begins with the id 2 */
	while (access("stop", F_OK))
		round_trip();
	if (pipe(end))
		return 1;
	if (fork()) { /* waits for the grandchild, which gets another parent */
		close(end[1]);
		return read(end[0], end, 1) != 0;
	}
	if (fork())
		return 0;
	printf("%d\n", (int)getpid());
	for (int i = 0; i < 1000; i++)
		round_trip();
	return 0;
}
END
compile visited.c visited -g

# visited_is_marked NAME DATA: contexts are right or marked, and some are marked
visited_is_marked() {
	check "$1: samples are marked" [ "$(stat_of "$2" truncated_traced)" -gt 0 ]
	pcce-report -q -i "$2" --format=folded >visited.folded
	is "  all others are right" "$(grep -v '^\[truncated\];' visited.folded |
		grep -E 'path_a.*in_[bc]|path_b.*in_[ac]|path_c.*in_[ab]|called.*in_')" ""
	pcce-report -q -i "$2" --tid="$(cat "$2.out")" --format=folded >visited.folded
	check "  a process that was forked later is marked" grep -q '^\[truncated\];' visited.folded
	is "    no sample of it is exact" "$(grep -vcE '^\[(truncated|undecodable)' visited.folded)" 0
}

here=visited.c:$(grep -n 'stop here' visited.c | cut -d: -f1)
visit() { # COMMAND...: with gdb's options, while visited runs; and ends it
	local pid
	pid=$(pgrep -n -x visited)
	# The recorder looks ten times a second.
	timeout 300 "$@" -p "$pid" -ex "break $here" -ex continue -ex delete \
		-ex "call called(1)" -ex "shell sleep 1" -ex detach >visitor.log 2>&1
	wait_for_cpu "$pid" 300
	touch stop
}

if [ -n "$(type -P gdb)" ]; then
	for s in $samplers; do
		for visitor in "gdb -q -batch" true; do
			rm -f stop visited.data
			record $s visited.data ./visited &
			recorder=$!
			wait_for_samples visited.data 10
			visit $visitor
			wait $recorder
			is "$s, $visitor: does pcce-record say that a debugger was attached?" \
				"$(grep -c 'warning: a debugger or tracer was attached to process' visited.data.err)" \
				"$([ "$visitor" = true ]; echo $?)"
			if [ "$visitor" = true ]; then
				is "  is a sample marked?" "$(stat_of visited.data truncated_traced)" ""
			else
				visited_is_marked "$s" visited.data
			fi
		done
	done
	for options in --count "--count --hot"; do
		rm -f stop visited.data
		# shellcheck disable=SC2086 # a list
		timeout 300 pcce-record -q $options -o visited.data -- ./visited >visited.data.out 2>/dev/null &
		recorder=$!
		for ((i = 0; i < 600; i++)); do
			[ -z "$(pgrep -n -x visited)" ] || break
			sleep 0.1
		done
		wait_for_cpu "$(pgrep -n -x visited)" 200
		visit gdb -q -batch
		wait $recorder
		visited_is_marked "$options" visited.data
	done
else
	skip "a debugger" "gdb is not installed"
fi

done_testing
