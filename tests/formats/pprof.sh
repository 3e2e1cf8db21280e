# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh

export PPROF_TMPDIR=$scratch HOME=$scratch PPROF_BINARY_PATH=$scratch/none

if ! command -v go >/dev/null; then
	skip "pprof" "golang-go is not installed"
	return
fi

# read_with ARGUMENTS...: prints the output of go tool pprof.  Newer versions than that of Go 1.19
# write the date in another way, and add columns to lines.
read_with() {
	{ go tool pprof "$@" 2>pprof.err || not_ok "go tool pprof $*" pprof.err; } |
		sed -e 's/^Time: 1970-01-01 00:00:00 UTC$/Time: Jan 1, 1970 at 12:00am (UTC)/' \
			-e '/^ /s/:\([0-9][0-9]*\):0 s=/:\1 s=/'
}

# renumbered: numbers the locations of -raw in the order of the samples.  Newer versions of pprof
# number them in another order.
renumbered() {
	awk '
		/^[A-Z][a-z]*$/ { if (in_locations) print_locations(); in_locations = $1 == "Locations" }
		in_locations && /^ *[0-9]*: / { at = number($1); sub(/^ *[0-9]*/, ""); text[at] = $0; next }
		in_locations && /^  / { text[at] = text[at] "\n" $0; next }
		/^ *[0-9]+ +[0-9]+: [0-9 ]*$/ {
			line = substr($0, 1, index($0, ":") + 1)
			for (i = 3; i <= NF; i++) line = line number($i) " "
			print line
			next
		}
		{ print }
		END { if (in_locations) print_locations() }
		function number(n) {
			sub(/:/, "", n)
			if (!(n in new)) new[n] = ++count
			return new[n]
		}
		function print_locations(    i) {
			for (i = 1; i <= count; i++) printf "%6d%s\n", i, text[i]
		}'
}

# The same contexts, with a value for each event.
report pprof events.data events.pb.gz
is "pprof: one value for each event" "$(for event in cpu-clock page-faults samples; do
	read_with -top -sample_index=$event events.pb.gz |
		sed -n "s/.* of \([0-9.a-z]*\) total.*/$event \1/p"
done | sort -u)" "cpu-clock 33ms
page-faults 8
samples 41"
report pprof events.data one.pb.gz --event=page-faults
is "pprof: one event" "$(read_with -raw one.pb.gz | grep -A 1 '^Samples:' | tail -n 1 | tr -d ' ')" \
	"samples/countpage-faults/count[dflt]"

report pprof small.data small.pb.gz
read_with -top small.pb.gz >pprof-top
same pprof-top
check "pprof: an inlined function keeps what tells it from others of the template" \
	grep -q ' next<char>; really (inline)$' pprof-top
read_with -traces small.pb.gz >pprof-traces
same pprof-traces
read_with -raw small.pb.gz | renumbered >pprof-raw
same pprof-raw
# Newer versions than that of Go 1.24 also print the sum of all samples, and no zero behind a point.
read_with -tags small.pb.gz | sed -e 's/ of [0-9]*ms ( *100%)$//' -e 's/\.0ms/ms/' >pprof-tags
same pprof-tags
is "pprof: the difference to itself is nothing" \
	"$(read_with -top -base small.pb.gz small.pb.gz | grep -c '[1-9]ms')" 0

report pprof small.data flat.pb.gz --no-inline
is "pprof: --no-inline leaves no inlined frames" "$(read_with -raw flat.pb.gz | grep -c 'step')" 0

report pprof empty.data empty.pb.gz
check "pprof: no samples" bash -c 'go tool pprof -raw empty.pb.gz | grep -q "^Samples:"'

# Sums by function of many contexts, as the flat report has them.
report pprof huge.data huge.pb.gz
read_with -top -sample_index=samples -nodecount=100000 huge.pb.gz |
	awk 'seen && $1 { print $1, $NF } $1 == "flat" { seen = 1 }' | sort >got
pcce-report -i huge.data --format=flat 2>/dev/null | awk '/%/ && $3 { print $3, $4 }' | sort >wanted
check "pprof: the numbers of the flat report" bash -c '[ -s got ] && diff wanted got'
check "pprof: equal recordings give equal files" \
	bash -c 'pcce-report -i huge.data --format=pprof 2>/dev/null | cmp - huge.pb.gz'
if command -v script >/dev/null; then
	script -qec "pcce-report -i small.data --format=pprof" /dev/null >terminal.log 2>&1
	check "pprof does not go to a terminal" \
		grep -q "cannot print format 'pprof' on a terminal: it is binary; name a file with -o" terminal.log
else
	skip "pprof does not go to a terminal" "script is not installed"
fi

# Selections come before the formats.
report pprof huge.data part.pb.gz --focus='^layer5_1$' --tid=101
read_with -top -sample_index=samples -nodecount=100000 part.pb.gz |
	awk 'seen && $1 { print $1, $NF } $1 == "flat" { seen = 1 }' | sort >got
pcce-report -i huge.data --format=flat --focus='^layer5_1$' --tid=101 2>/dev/null |
	awk '/%/ && $3 { print $3, $4 }' | sort >wanted
check "pprof: of the selected samples" bash -c '[ -s got ] && diff wanted got'
