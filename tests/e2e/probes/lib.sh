# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Compares the samples of probes with what else is known of the calls.

# own_frames PROGRAM: of folded contexts, writes only those functions as they are that the program
# itself has.  Counted calls do not know the names of others.
own_frames() {
	awk -v names="$(nm -C --defined-only "$1" | sed -n 's/^[0-9a-f]* [tTwWiu] //p')" '
		BEGIN {
			n = split(names, list, "\n")
			for (i = 1; i <= n; i++)
				known[list[i]] = 1
		}
		{
			weight = $NF
			sub(/ [^ ]*$/, "")
			n = split($0, frames, ";")
			line = ""
			for (i = 1; i <= n; i++) {
				own = frames[i] in known || frames[i] ~ /^\[/
				line = line (i > 1 ? ";" : "") (own ? frames[i] : "[unknown]")
			}
			sum[line] += weight
		}
		END {
			for (line in sum)
				print line, sum[line]
		}' | sort
}

# calls_in DATA FUNCTION: of counted calls, the contexts that end in the function
calls_in() {
	pcce-report -q -i "$1" --no-inline --format=folded | awk -v f="$2" '
		{ line = $0; sub(/ [^ ]*$/, "", line); n = split(line, frames, ";") } frames[n] == f'
}

# samples_of DATA EVENT: its folded contexts
samples_of() { pcce-report -q -i "$1" --event="$2" --no-inline --format=folded; }

# value_of DATA EVENT NAME: a value of --stats
value_of() { pcce-report -q -i "$1" --event="$2" --stats | sed -n "s/^$3: *//p"; }

# hits NAME DATA EVENT N: the event has N samples, and all are exact.  Losses are counted.
hits() {
	local lost
	lost=$(value_of "$2" "$3" lost)
	is "$1: $3, $lost lost" $(($(value_of "$2" "$3" samples) + lost)) "$4"
	is "... all exact" "$(value_of "$2" "$3" exact)" "$(value_of "$2" "$3" samples)"
}

# as_counted NAME PROGRAM DATA FUNCTION COUNTED: the probe of a function has the contexts of the
# calls that were counted
as_counted() {
	samples_of "$3" "uprobe:$4" | own_frames "$2" >probe.contexts
	calls_in "$5" "$4" | own_frames "$2" >count.contexts
	if ! [ -s count.contexts ]; then
		not_ok "$1: $4 is called"
	elif [ "$(value_of "$3" "uprobe:$4" lost)" != 0 ]; then
		skip "$1: contexts of $4" "samples were lost"
	elif diff count.contexts probe.contexts >contexts.diff; then
		ok "$1: the $(wc -l <count.contexts) contexts of $4 are those of --count"
	else
		not_ok "$1: the contexts of $4 are those of --count" contexts.diff
	fi
}

# probes_of_calls DATA COUNTS: a recording of calls.c is as the program says
probes_of_calls() {
	local leaves walks fired
	read -r leaves walks fired _ <"$2"
	hits "calls" "$1" uprobe:leaf "$leaves"
	hits "calls" "$1" uprobe:walk "$walks"
	hits "static probes" "$1" usdt:calls:always "$fired"
	hits "static probes with a semaphore" "$1" usdt:calls:watched "$fired"
	is "static probes: contexts" "$(samples_of "$1" usdt:calls:watched)" "main;work;fire $fired"
	is "returns are seen" $(($(value_of "$1" uretprobe:walk samples) + \
		$(value_of "$1" uretprobe:walk lost))) "$walks"
	is "... in the contexts of the callers" "$(samples_of "$1" uretprobe:walk | sort)" \
		"$(samples_of "$1" uprobe:walk | sed 's/;walk \([0-9]*\)$/ \1/' | sort)"
}
