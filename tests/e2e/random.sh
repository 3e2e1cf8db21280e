#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Random programs (tests/oracle/generate) in recordings of allocations, locks and probes, of the
# whole system, in pcce-top, with breakpoints, and in a store. A program keeps account of what it
# allocates itself (random/account.c); the contexts of its calls are those of --count. A failure
# names its program, and RANDOM_SEEDS=1:c:-O2 runs only this one.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/probes/lib.sh"
cd "$scratch" || exit 1
[ ${#sanitize[@]} = 0 ] || skip_all "a sanitizer has its own malloc()"
own=$top/tests/e2e/random
LEAST_WAITS=20 # for tests of them: if the machine is busy, some come too late to wait
CALLS=3        # how often main() of a program begins

# build_random SEED LANGUAGE FLAG...: ./program
build_random() {
	local seed=$1 language=$2 compiler=$CC
	shift 2
	[ "$language" = c ] || compiler=$CXX
	rm -rf source
	mkdir source
	# shellcheck disable=SC2046 # lists of flags
	"$out/tests/oracle/generate" "$seed" source "$language" &&
		$CC -g -O2 -D_GNU_SOURCE $(pcce-config --cflags) -c "$own/account.c" -o account.o &&
		$compiler -x "$language" -include "$own/account.h" -w -g "$@" $(pcce-config --cflags) \
			source/*.c -x none account.o $(pcce-config --ldflags) -pthread -o program
}

# Prints the beginnings of contexts whose last function is the program's own.
beginnings() {
	own_frames program | awk '{ sub(/ [^ ]*$/, ""); n = split($0, f, ";"); line = ""
		for (i = 1; i <= n; i++) { line = line (i > 1 ? ";" : "") f[i]; print line } }' | sort -u
}

# Prints the contexts up to the last function of the program.
own_parts() {
	own_frames program | sed -E 's/ [^ ]*$//; :cut; s/;\[[^;]*$//; t cut' | grep -v '^\[' | sort -u
}

# known NAME FILE: these contexts of the program are among those of its calls
known() {
	if ! [ -s "$2" ]; then
		not_ok "$1: there are contexts"
	elif [ -z "$(comm -13 known.contexts "$2")" ]; then
		ok "$1: $(wc -l <"$2") contexts are among those of the calls"
	else
		not_ok "$1: contexts are among those of the calls" "$(comm -13 known.contexts "$2" | head -n 5)"
	fi
}

# bytes_by_function EVENT: of allocations that a function makes itself, as account.c prints them
bytes_by_function() {
	pcce-report -q -i malloc.data --event="$1" --format=folded |
		sed -nE 's/^(.*;)?(f[0-9]+)(\.[^;]*)?;malloc ([0-9]+)$/\2 \4/p' |
		awk '{ sum[$1] += $2 } END { for (f in sum) print f, sum[f] }' | sort
}

allocations() { # NAME LANGUAGE
	check "$1: allocations are recorded" env ACCOUNT="$scratch/account" \
		pcce-record -q -e malloc -o malloc.data -- ./program $CALLS
	is "... of each function" "$(bytes_by_function malloc)" \
		"$(awk '/^f/ { print $1, $2 }' account | sort)"
	is "... what is live in the end" "$(bytes_by_function malloc:live)" \
		"$(awk '/^f/ && $3 { print $1, $3 }' account | sort)"
	# Exceptions are allocated, too, so another moment can be the peak.
	[ "$2" != c ] || is "... what was live at the peak" "$(bytes_by_function malloc:peak)" \
		"$(awk '/^f/ && $4 { print $1, $4 }' account | sort)"
	is "... all contexts are exact" "$(value_of malloc.data malloc exact)" \
		"$(value_of malloc.data malloc samples)"
	pcce-report -q -i malloc.data --no-inline --format=folded | grep -E '(^|;)f[0-9]+;malloc ' |
		own_parts >seen
	known "$1: allocations" seen
}

# Each wait of account_wait() is ended by the thread that its number asks for.
locks() { # NAME
	local pairs
	if [ "$(sed -n 's/^waits //p' account)" -lt $LEAST_WAITS ]; then
		skip "$1: locks" "the program waits less than $LEAST_WAITS times"
		return
	fi
	check "$1: waits are recorded" pcce-record -q -e lock -c 1000 -o lock.data -- ./program $CALLS
	pcce-report -q -i lock.data --no-inline --no-kernel --format=folded | grep '^main' | own_parts >seen
	known "$1: who waits" seen
	pcce-report -q -i lock.data --event=lock:holder --no-inline --no-kernel --format=folded |
		grep -E '^(main|answer_all);' | own_parts >seen
	known "$1: who ends waits" seen
	pairs=$(pcce-report -q -i lock.data --holders --no-kernel --format=folded |
		sed -nE 's/^main.*;f([0-9]+)(\.[^;]*)?;account_wait.*;\[ended by\];answer_all;answer_([a-z]*).*/\1 \3/p')
	check "$1: both contexts are known of some waits" [ -n "$pairs" ]
	is "... and they belong together" "$(awk '($1 % 2 ? "odd" : "even") != $2' <<<"$pairs")" ""
}

# functions_of N: the functions with most calls
functions_of() {
	pcce-report -q -i counted.data --no-inline --format=folded |
		awk '{ w = $NF; sub(/ [^ ]*$/, ""); n = split($0, f, ";"); sum[f[n]] += w }
			END { for (name in sum) if (name ~ /^f[0-9]+$/) print sum[name], name }' |
		sort -rn | awk -v n="$1" 'NR <= n { print $2 }'
}

# as_counted_in DATA EVENT FUNCTION NAME: the samples are the calls of the function
as_counted_in() {
	local lost
	lost=$(value_of "$1" "$2" lost)
	if [ "${lost:-1}" != 0 ]; then
		skip "$4: contexts of $3" "samples were lost"
		return
	fi
	samples_of "$1" "$2" | own_frames program >sampled.contexts
	calls_in counted.data "$3" | own_frames program >counted.contexts
	check "$4: contexts of $3" diff counted.contexts sampled.contexts
}

probes() { # NAME
	local function
	mapfile -t functions < <(functions_of 3)
	check "$1: calls are probed: ${functions[*]}" pcce-record -q -b bpf -o probe.data \
		"${functions[@]/#/-euprobe:}" -- ./program $CALLS
	for function in "${functions[@]}"; do
		as_counted_in probe.data "uprobe:$function" "$function" "$1"
	done
	check "$1: the whole system is recorded" pcce-record -q -a -o all.data \
		-e "uprobe:./program:${functions[0]},cpu-clock/freq=2000/" -- ./program $CALLS
	as_counted_in all.data "uprobe:./program:${functions[0]}" "${functions[0]}" "$1: system"
}

# pcce-top prints the calls of a function while the program runs.
shown() { # NAME
	local program shown i
	rm -f go
	GO=go ./program $CALLS >/dev/null &
	program=$!
	timeout 300 pcce-top -b -e uprobe:./program:account_wait -c 1 --delay=0.2 --format=folded \
		-p $program >top.out 2>top.err &
	shown=$!
	for ((i = 0; i < 1200; i++)); do
		! grep -q '^begin_account;account_wait ' top.out || break
		sleep 0.1
	done
	: >go
	wait $program
	wait $shown
	is "$1: pcce-top ends with the program" "$? $(cat top.err)" "0 "
	grep -v '^begin_account;' top.out | own_frames program >top.contexts
	pcce-report -q -i counted.data --format=folded | grep ';account_wait ' |
		own_frames program >counted.contexts
	check "... and shows all calls" diff counted.contexts top.contexts
}

# What a store gives back is what pcce-merge makes of the same recordings.
stored() { # NAME FILE...
	local name=$1 from
	shift
	rm -rf store merged.data
	check "$name: recordings are pushed: $*" pcce-push -q --to=store "$@"
	check "$name: they are merged" pcce-merge -q -o merged.data "$@"
	check "$name: they are pulled" pcce-pull --from=store -o pulled.data
	for from in merged pulled; do
		pcce-report -q -i $from.data --event='*' --format=folded | sort >$from.out
		pcce-report -q -i $from.data --event='*' --stats | grep -v '^bytes_per_sample' >>$from.out
	done
	check "$name: both are the same" diff merged.out pulled.out
}

# With --breakpoints, the program does the same in the same contexts, and breakpoints see all calls.
breakpoints() { # NAME FLAGS
	local function stops
	pcce-report -q -i malloc.data --no-inline --format=folded | own_frames program >before
	check "$1: --breakpoints encodes it again" pcce-encode --breakpoints program
	check "... it is recorded" pcce-record -q -e malloc -o malloc.data -- ./program $CALLS
	is "... its functions allocate as much" "$(bytes_by_function malloc)" \
		"$(awk '/^f/ { print $1, $2 }' account | sort)"
	pcce-report -q -i malloc.data --no-inline --format=folded | own_frames program >after
	# Later levels make jumps of calls. Functions that were left by them are not shown.
	[ "$2" != -O1 ] || check "... in the same contexts" diff before after
	if [ -z "$(type -P gdb)" ]; then
		skip "$1: breakpoints" "gdb is not installed"
		return
	fi
	function=$(functions_of 3 | tail -n 1)
	stops=$(timeout 300 gdb -nx -q -batch -ex "break $function" -ex "ignore 1 1000000" \
		-ex "run $CALLS" -ex "info breakpoints" ./program 2>&1 |
		sed -nE 's/.*already hit ([0-9]+) times?.*/\1/p' | head -n 1)
	is "$1: a breakpoint sees all calls of $function" "$stops" "$(calls_in counted.data "$function" |
		awk '{ n += $NF } END { print n }')"
}

long="14:c:-O3 8:c++:-O1 2:c++:-Os"
for program in ${RANDOM_SEEDS:-1:c:-O2 6:c++:-O1 ${PCCE_TEST_LONG:+$long}}; do
	IFS=: read -r seed language flags <<<"$program"
	name="random $seed $language $flags"
	check "$name: it is built" build_random "$seed" "$language" "$flags"
	check "$name: its calls are counted" pcce-record -q --count -o counted.data -- ./program $CALLS
	pcce-report -q -i counted.data --no-inline --format=folded | beginnings >known.contexts
	allocations "$name" "$language"
	if has_bpf; then
		locks "$name"
		if [ -e /sys/bus/event_source/devices/uprobe/type ]; then
			probes "$name"
			shown "$name"
			stored "$name" probe.data
		else
			skip "$name: probes" "this kernel has no uprobes"
		fi
		stored "$name" lock.data
	else
		skip "$name: locks and probes" "the bpf sampler: $bpf_reason"
	fi
	stored "$name" malloc.data
	breakpoints "$name" "$flags"
done
done_testing
