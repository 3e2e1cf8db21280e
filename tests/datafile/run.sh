#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests the data file, damaged in all ways, and pcce-record: what a recording holds, and what
# happens at errors.  The program that the BPF sampler records keeps a thread page itself, so
# nothing else of pcce is needed.

. "$(dirname "$0")/../lib.sh"

here=$top/tests/datafile
cd "$scratch" || exit 1

build_generator
build_with_tools damage -Wall -Werror "$here/damage.c" "$here/damage_packed.c"
build_with_tools dump "$here/dump.c"
# What is recorded is as it is without sanitizers.
flags=("${sanitize[@]}") sanitize=()
build_with_tools page_program -O2 "$here/page_program.c"
sanitize=("${flags[@]}")

# ---- damaged files -----------------------------------------------------------------------

mkdir damaged
generate_unpacked small good.data && ./damage good.data damaged >cases ||
	not_ok "damage the recording"
check "the good file is good" ./dump good.data
is "it is the same when it is packed" "$(./dump good.data.packed)" "$(./dump good.data)"

# rejected NAME FILE: each reader fails with one sentence that names the file
rejected() {
	local name=$1 file=$2 reader status
	for reader in "./dump $file" "pcce-report -i $file --stats" \
		"pcce-report -i $file --format=folded"; do
		timeout 120 $reader >out.log 2>err.log
		status=$?
		if [ $status != 1 ] || [ "$(wc -l <err.log)" != 1 ] || ! grep -qF "$file" err.log ||
			[ -s out.log ]; then
			not_ok "$name" "$reader: exit status $status" err.log out.log
			return
		fi
	done
	ok "$name"
}

# accepted_with_note NAME FILE: the reader reads up to the point where the file was cut off
accepted_with_note() {
	local name=$1 file=$2 status wanted=0
	if ! timeout 120 ./dump "$file" >out.log 2>err.log || grep -q '^complete: 1' out.log; then
		not_ok "$name" out.log err.log
		return
	fi
	timeout 120 pcce-report -i "$file" --stats >out.log 2>err.log
	status=$?
	! grep -qx 'samples: 0' out.log || wanted=3
	if [ $status != $wanted ] || ! grep -q incomplete out.log err.log; then
		not_ok "$name" \
			"pcce-report: exit status $status; wanted $wanted and a note" out.log err.log
	else
		ok "$name"
	fi
}

while read -r name wanted; do
	case $wanted in
	error) rejected "damaged: $name" "damaged/$name.data" ;;
	cut) accepted_with_note "damaged: $name" "damaged/$name.data" ;;
	good) is "not damaged: $name" "$(./dump "damaged/$name.data" 2>&1)" "$(./dump good.data)" ;;
	esac
done <cases
[ "$(wc -l <cases)" -ge 50 ] || not_ok "there are enough damaged files" "$(wc -l <cases)"

mkdir directory
rejected "damaged: a directory" directory
rejected "damaged: /dev/zero" /dev/zero
rejected "damaged: /dev/null" /dev/null
rejected "damaged: a program" "$(command -v bash)"
rejected "damaged: not there" no-such.data
ln -s loop loop
rejected "damaged: a link to itself" loop
cat good.data good.data >twice.data
rejected "damaged: two recordings in one file" twice.data
is "a recording can come through a pipe" \
	"$(./dump <(cat good.data) | md5sum)" "$(./dump good.data | md5sum)"

# ---- symbols -----------------------------------------------------------------------------

# An aggregated recording holds SUM records only. It must have the same symbols as any other.
build_with_tools replay -O2 "$here/replay.c"
cat >library.c <<'END'
static __attribute__((noinline)) int hidden(int n)
{
	volatile int x = 0;

	for (int i = 0; i < n; i++)
		x += i;
	return x;
}

int work(int n)
{
	return hidden(n) + 1;
}
END
cat >program.c <<'END'
int work(int n);

static inline __attribute__((always_inline)) int inlined(int n)
{
	return work(n) + 1;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += inlined(1000000);
	return sum & 1;
}
END
by_line() { # DATA: the contexts by line
	pcce-report -q -i "$1" --by=line --format=flat
}
mkdir recorded
# shellcheck disable=SC2046 # lists of flags
if $CC -O2 -g -fPIC -shared -Wl,--build-id library.c -o recorded/libwork.so 2>build.log &&
	$CC -O2 -g $(pcce-config --cflags) program.c $(pcce-config --ldflags) -Lrecorded -lwork \
		-Wl,-rpath,"$scratch/recorded" -o recorded/program 2>>build.log &&
	record self single.data recorded/program && ./replay aggregate single.data sums.data 2>build.log; then
	mv recorded elsewhere
	is "aggregated: the recording holds no single samples" \
		"$(./dump sums.data | sed -n 's/^samples: //p')" 0
	pcce-report -q -i sums.data --by=line --format=flat >flat
	check "aggregated: functions of uninstrumented code have names and lines" \
		grep -q 'hidden  library.c:[56] ' flat
	pcce-report -q -i sums.data --format=folded >folded
	check "aggregated: inlined functions are there" grep -q '^main;inlined;hidden ' folded
	is "aggregated: the same contexts as without" "$(by_line sums.data)" "$(by_line single.data)"
else
	not_ok "aggregated: record" build.log single.data.err
fi

# ---- the command line --------------------------------------------------------------------

exits() { # NAME WANTED-STATUS PATTERN COMMAND...
	local name=$1 wanted=$2 pattern=$3 status
	shift 3
	timeout 300 "$@" >out.log 2>err.log
	status=$?
	if [ $status = "$wanted" ] && grep -q -- "$pattern" err.log out.log; then
		ok "$name"
	else
		not_ok "$name" "exit status $status, wanted $wanted and /$pattern/" err.log out.log
	fi
}

exits "--help" 0 "Usage: pcce-record" pcce-record --help
exits "--version" 0 "pcce-record [0-9]" pcce-record --version
exits "no command" 64 "no command is given; name a command" pcce-record
exits "a command and -p" 64 "cannot record both" pcce-record -p 1 -- true
exits "a frequency and a period" 64 "cannot use -F with -c" pcce-record -F 9 -c 9 -- true
exits "a signal and -p" 64 "cannot use --signal with -p" pcce-record --signal USR2 -p 1
exits "a signal and a sampler without" \
	64 "cannot use --signal with -b bpf" pcce-record --signal USR2 -b bpf -- true
exits "a frequency that is none" 64 "must be a number" pcce-record -F often -- true
exits "an option that is none" 64 "unrecognized option" pcce-record --frobnicate -- true
exits "a sampler that is none" \
	1 "cannot use sampler magic: it does not exist" pcce-record -b magic -- true
exits "an event that is none" 1 "unknown event \"lunch\"; pcce-record --help lists" pcce-record -e lunch -- true
exits "a misspelled event" 1 "did you mean cycles?" pcce-record -e ycles:u -- true
exits "a command that is not there" \
	127 "cannot run no-such-command: No such file" pcce-record -- no-such-command
exits "a path that is not there" 127 "cannot run ./no/such: No such file" pcce-record -- ./no/such
echo true >plain-file
exits "a command that is not executable" 126 "Permission denied" pcce-record -- ./plain-file
exits "a process that is not there" 1 "no such process" pcce-record -p 4194000
exits "an output that cannot be made" \
	1 "cannot create no/such/dir/x.data" pcce-record -o no/such/dir/x.data -- true
exits "an output that is a directory" 1 "Is a directory" pcce-record -o directory -- true

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	exits "bpf without privilege says what it needs" 1 "CAP_BPF and CAP_PERFMON" \
		setpriv --bounding-set=-all --inh-caps=-all --reuid=65534 --regid=65534 \
		--clear-groups \
		"$out/bin/pcce-record" -b bpf -o /dev/null -- true
else
	skip "bpf without privilege says what it needs" "not root, or no setpriv"
fi

# ---- recordings with BPF -------------------------------------------------------------------

if ! has_bpf; then
	skip "recordings with the bpf sampler" "$bpf_reason"
	done_testing
fi

value() { # NAME: from the last dump
	sed -n "s/^$1: //p" dump.log
}

bpf() { # ARGUMENTS of pcce-record...
	timeout 300 pcce-record -q -b bpf -o x.data "$@" >out.log 2>err.log
	status=$?
	./dump --page x.data >dump.log 2>>err.log
}

# until_recorded N: waits until x.data has that many samples
until_recorded() {
	local left=3000
	until [ "$(./dump x.data 2>/dev/null | sed -n 's/^samples: //p')" -gt "$1" ] 2>/dev/null || [ $((left--)) = 0 ]; do
		sleep 0.1
	done
}

# right NAME ENTRIES MINIMUM: all samples have what the pages hold, in order of time, and none is
# missing, except those that a busy machine cost (late), and 5 percent without a reason.
right() {
	if [ "$(value wrong)" = 0 ] && [ "$(value fault)" = 0 ] && [ "$(value lost)" = 0 ] &&
		[ "$(value complete)" = 1 ] && [ $((20 * $(value unexplained))) -le "$(value samples)" ] &&
		[ "$(value backwards)" = 0 ] && [ "$(value deepest)" = "$2" ] &&
		[ "$(value inside)" -ge "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "exit status $status" dump.log err.log
	fi
}

for entries in 0 1 12 13 15 16 17 31 32 1000 8191 8192 8208 50000; do
	bpf -F 10000 -- ./page_program 2 $entries 0.4
	right "pages with $entries entries, 2 threads at 10 kHz" $entries 500
	# 512 segments of 16 entries come with a sample.
	is "  truncated until all of them were sent" \
		"$(value truncated)" $((2 * (entries / 16 > 512 ? (entries / 16 - 1) / 512 : 0)))
	is "  each complete segment is sent once" "$(value segments)" $((2 * (entries / 16)))
done
is "the command's exit status is passed on" $status 3
is "  and recorded" "$(value exit)" 768

bpf -F 10000 -- ./page_program 4 5 1
right "no loss with both CPUs busy at 10 kHz" 5 5000

bpf -F 100 -- ./page_program 1000 3 0.004
right "1,000 threads" 3 20
is "  each is recorded" "$(($(value threads) >= 999))" 1
bpf -F 10000 -- ./page_program 1 5 0.005 fork
right "50 children" 5 100
is "  each is recorded" "$(($(value processes) >= 51))" 1
bpf -F 10000 -- ./page_program 1 5 0.3 exec
right "a program that executes itself" 5 500
is "  both are recorded" "$(value processes)" 3
bpf -- ./page_program 1 5 0 exit
is "a program that exits at once" "$status $(value complete)" "3 1"
bpf -F 10000 -- ./page_program 1 5 0.2 kill
is "a program that is killed" "$status $(value complete) $(value exit)" "137 1 9"
bpf -F 10000 -- sh -c './page_program 2 5 0.3; exit 7'
right "a program started by a shell" 5 100
is "  and the shell's exit status" $status 7

# ---- events --------------------------------------------------------------------------------

bpf -e task-clock -F 2000 -- ./page_program 1 5 0.3
right "-e task-clock" 5 30
bpf -e context-switches -c 1 -- ./page_program 4 5 0.4
right "-e context-switches" 5 1
bpf -e page-faults -c 1 -- ./page_program 2 50000 0.1
right "-e page-faults" "$(value deepest)" 0
is "  there are many" "$(($(value samples) > 50))" 1
bpf -c 1000000 -- ./page_program 1 5 0.3
right "a period instead of a frequency" 5 50
exits "a frequency above what the kernel allows" \
	1 "exceed the kernel.s limit of [0-9]*; use a lower -F" pcce-record -b bpf -F 1000000 -o x.data -- true
exits "a frequency at which signals leave no time" \
	1 "at most 50000 samples per second" pcce-record -b self -F 50001 -o x.data -- true
exits "a period at which signals leave no time" \
	1 "at most 50000 samples per second" pcce-record -b self -c 19999 -o x.data -- true
if [ -d /sys/kernel/tracing/events ] || { [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; }; then
	# Without a tracefs, in a separate mount namespace.
	unshare -m sh -c 'mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing
		exec "$@"' sh timeout 300 pcce-record -q -b bpf -o x.data -e sched:sched_switch -- \
		./page_program 4 5 0.3 >out.log 2>err.log
	status=$?
	./dump --page x.data >dump.log 2>>err.log
	if grep -q "needs tracefs" err.log; then
		skip "a tracepoint" "no tracefs"
	else
		right "a tracepoint" 5 3
	fi
	unshare -m sh -c 'mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing
		exec "$@"' sh pcce-record -b bpf -o x.data -e sched:no_such_thing -- true >out.log 2>err.log
	if grep -q "needs tracefs" err.log; then
		skip "a tracepoint that is none" "no tracefs"
	else
		check "a tracepoint that is none" grep "unknown tracepoint" err.log
	fi
else
	skip "a tracepoint" "no tracefs"
fi

# ---- running processes -----------------------------------------------------------------------

rm -f x.data
./page_program 8 5 60 &
pid=$!
rm -f x.data
(until_recorded 3000; kill $pid) &
bpf -F 2000 -p $pid
right "-p, a process with 8 threads, until it ends" 5 500
is "  exit status" $status 0
is "  its threads are recorded" "$(value threads)" 7
# Half of them would be close to the one before.
is "  no thread is sampled twice" "$(($(value close) * 5 < $(value samples) * 2))" 1
wait 2>/dev/null
./page_program 2 5 300 &
pid=$!
until grep -q '^Threads:.2$' "/proc/$pid/status"; do sleep 0.1; done
rm -f x.data
(until_recorded 500; kill -INT "$(cat recorder)") &
sh -c 'echo $$ >recorder; exec pcce-record -q -b bpf -F 2000 -o x.data -p '$pid 2>err.log
status=$?
./dump --page x.data >dump.log
right "-p ends with SIGINT" 5 100
check "  and the process goes on" kill -0 $pid
kill $pid
wait $pid 2>/dev/null

# ---- ends ------------------------------------------------------------------------------------

# A background job ignores SIGINT, so the recorder starts with the default action.
rm -f x.data
pcce-record -q -b bpf -F 2000 -o x.data -- ./page_program 1 5 300 2>err.log &
pid=$!
until_recorded 500
kill -TERM $pid
wait $pid
status=$?
./dump --page x.data >dump.log
right "SIGTERM to the recorder ends the recording" 5 100
is "  and the command" $status 143
rm -f x.data
pcce-record -q -b bpf -F 2000 -o x.data -- ./page_program 1 5 20 2>err.log &
pid=$!
until_recorded 500
kill -KILL $pid
wait $pid 2>/dev/null
./dump --page x.data >dump.log
is "a recorder that is killed leaves a readable file" \
	"$(($(value inside) > 100)) $(value wrong) $(value complete)" "1 0 0"

exits "a full disk is told" 3 "No space left on device; the .* saved" \
	pcce-record -b bpf -F 10000 -o /dev/full -- ./page_program 1 200 0.5
(ulimit -f 300; trap '' XFSZ; pcce-record -q -b bpf -F 10000 -o x.data -- ./page_program 1 200 0.5) >out.log 2>err.log
status=$?
./dump --page x.data >dump.log
is "  and what was recorded can be read" \
	"$(($(value inside) > 10)) $(value wrong) $(value dropped)" "1 0 0"
rm -f x.data x.data.old
bpf -- true
cp x.data first.data
bpf -- true
check "an older recording is kept" cmp first.data x.data.old
pcce-record -q -o x.data -- no-such-command 2>/dev/null
check "a command that cannot be run destroys nothing" test -s x.data
is "  and leaves nothing" "$(find . -name '.pcce*')" ""

# ---- symbols -----------------------------------------------------------------------------------

bpf -F 5000 -- ./page_program 1 5 0.3
./dump --list x.data >dump.log
check "samples have names and lines" grep -q '^symbol: compute .*page_program.c:[1-9]' dump.log
check "modules are recorded" grep -q '^module: .*/page_program$' dump.log
cp page_program vanishing
bpf -F 5000 -- sh -c './vanishing 1 5 0.3 & until [ /proc/$!/exe -ef vanishing ]; do sleep 0.1; done; rm vanishing; wait'
./dump --list x.data >dump.log
check "a program that was deleted meanwhile has names, too" \
	grep -q '^symbol: compute .*page_program.c:[1-9]' dump.log
strip page_program -o stripped
bpf -F 5000 -- ./stripped 1 5 0.3
right "a stripped program" 5 100

check "a program without pcce is told of" \
	sh -c 'pcce-record -b bpf -o x.data -- sleep 0.01 2>&1 | grep "sleep was not built with pcce"'

done_testing
