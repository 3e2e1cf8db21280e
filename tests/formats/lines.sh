# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh
#
# Tests formats of lines: folded, jsonl, perf-script.

# ---- folded: flamegraph.pl, which libdevel-nytprof-perl brings along ---------------------

flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
report folded small.data small.folded
if [ -r "$flamegraph" ]; then
	check "flamegraph.pl reads folded" bash -c "perl $flamegraph --countname=samples small.folded >small.svg && grep -q '<title>main (82 samples, 94.25%)</title>' small.svg &&
		grep -q '<title>foo::bar(int, int) (5 samples, 5.75%)</title>' small.svg &&
		grep -q '<title>all (87 samples, 100%)</title>' small.svg"
else
	skip "flamegraph.pl reads folded" "libdevel-nytprof-perl is not installed"
fi

# ---- jsonl: jq -----------------------------------------------------------------------------

report jsonl small.data small.jsonl
same small.jsonl
report jsonl huge.data huge.jsonl
report folded huge.data huge.folded
if command -v jq >/dev/null; then
	is "jq adds up the weights of jsonl" \
		"$(jq -s 'map(select(.stack).weight) | add' small.jsonl)" 87
	is "a context of jsonl has the sums of its threads" \
		"$(jq -c 'select(.stack and ([.samples, .weight] != [(.threads | map(.samples) | add), (.threads | map(.weight) | add)]))' small.jsonl huge.jsonl)" ""
	is "jsonl has no context twice, and no thread twice in it" \
		"$(jq -c 'select(.stack) | [.stack, .calls]' huge.jsonl | sort | uniq -d | head -3;
			jq -c 'select(.stack).threads | map([.pid, .tid]) | select(length != (unique | length))' huge.jsonl)" ""
	is "each call of jsonl is one between two frames" \
		"$(jq -c 'select(.stack and (.calls | length) != (.stack | length) - 1)' small.jsonl huge.jsonl)" ""
	jq -r 'select(.stack) | "\(.stack | join(";")) \(.weight)"' huge.jsonl |
		awk '{ w = $NF; sub(/ [^ ]*$/, ""); n[$0] += w } END { for (i in n) print i, n[i] }' | sort >huge.got
	sort huge.folded >huge.wanted
	check "jsonl has the contexts of folded" \
		bash -c '[ -s huge.got ] && diff huge.wanted huge.got'
else
	skip "jsonl" "jq is not installed"
fi
report jsonl empty.data empty.jsonl
is "jsonl of no samples is its head" "$(wc -l <empty.jsonl)" 1

# ---- threads: a line each; these recordings tell of no origins -----------------------------------

report threads huge.data huge.threads
if command -v jq >/dev/null; then
	is "threads has the threads of jsonl, and marks those without known creator" \
		"$(awk 'NR > 1 { print $3, $4, $2, $NF }' huge.threads | sort)" \
		"$(jq -r 'select(.stack).threads[] | "\(.pid) \(.tid) \(.samples)"' huge.jsonl |
			awk '{ n[$1 " " $2] += $3 } END { for (t in n) { split(t, id, " "); print t, n[t], id[1] == id[2] ? "-" : "[unknown]" } }' | sort)"
else
	skip "threads has the threads of jsonl" "jq is not installed"
fi

# ---- perf-script: collapsed as tools for it do -----------------------------------------------

report perf-script small.data small.perf
sed -n '/next/,/^$/p' small.perf | sed '/^$/q' >perf-sample
same perf-sample
report perf-script huge.data huge.perf
# Like stackcollapse-perf.pl, it skips names that begin with a parenthesis.
collapse() {
	awk '/^[^\t]/ { stack = "" }
		sub(/^\t *[0-9a-f]+ /, "") {
			sub(/ \([^ ]*\)$/, "")
			if (!/^\(/) stack = $0 (stack == "" ? "" : ";" stack)
			next
		}
		/^$/ { n[stack]++ }
		END { for (i in n) print i, n[i] }' "$1" | sort
}
collapse huge.perf >huge.got
check "perf-script has the contexts of folded" \
	bash -c '[ -s huge.got ] && diff huge.wanted huge.got'
./generate deep deep.data
report perf-script deep.data deep.perf
report folded deep.data deep.folded
collapse deep.perf >deep.got
sed 's/;\[[0-9]* more of [a-z ]*\]//g' deep.folded | sort >deep.wanted
check "perf-script: left out recursion is no frame" cmp deep.wanted deep.got
check "  but it is told" grep -qx '	               0 (59997 more of the same) (unknown)' deep.perf
is "perf-script is in the order of time" \
	"$(grep -v '^$' huge.perf | grep -v '^	' | awk '{ print $3 }' | sort -c -n 2>&1)" ""

./generate threads events.data || not_ok "generate threads"
report perf-script events.data events.perf --event='*'
is "perf-script: each sample has its event" \
	"$(awk '/^[^\t]/ { print $NF }' events.perf | sort | uniq -c | awk '{ print $1, $2 }')" \
	"33 cpu-clock:
8 page-faults:"
report perf-script events.data few.perf --event='*' --max-rows=5
is "--max-rows: events are not mixed up" \
	"$(awk '/^[^\t]/ { w[$NF] += $(NF - 1) } END { for (e in w) print w[e], e }' few.perf | sort -n)" \
	"8 page-faults:
33 cpu-clock:"

# If there are more samples than wanted, successive ones of a thread become one.  No weight is lost.
report perf-script huge.data few.perf --max-rows=100
check "--max-rows says so" \
	grep -q '^pcce-report: 3000 samples are too many for perf-script: the output has one of 30, with the weight of all as its period' report.err
is "--max-rows: the wanted number of stacks, and all the weight" \
	"$(awk '/^[^\t]/ { n++; w += $4 } END { print (n >= 100 && n <= 104), w }' few.perf)" \
	"1 3000"
collapse few.perf | cut -d ' ' -f 1 >few.got
is "--max-rows: stacks that there are" \
	"$(cut -d ' ' -f 1 huge.wanted | LC_ALL=C sort -u | LC_ALL=C comm -13 - <(LC_ALL=C sort -u few.got) | head -n 3)" ""
pcce-report -q -i huge.data --format=perf-script --max-rows=100 -o /dev/null 2>quiet.err
is "--quiet keeps it to itself" "$(cat quiet.err)" ""
report perf-script huge.data all.perf --max-rows=0
check "--max-rows=0 is all" cmp huge.perf all.perf

# ---- a full device -------------------------------------------------------------------------

# A writer may fail long before its end, and in the middle of a compressed part.
if [ -e /dev/full ]; then
	list=$(pcce-report --help | sed -n '/^Formats:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
	got="" wanted=""
	for format in $list; do
		for data in small huge; do
			wanted+="$format $data 1 1"$'\n'
			pcce-report -q -i $data.data --format="$format" -o /dev/full 2>full.err
			got+="$format $data $? $(grep -c 'cannot write /dev/full: No space left on device$' full.err)"$'\n'
		done
		wanted+="$format >/dev/full 1 1"$'\n'
		pcce-report -q -i huge.data --format="$format" 2>full.err >/dev/full
		got+="$format >/dev/full $? $(grep -c 'standard output: No space left on device$' full.err)"$'\n'
	done
	is "each of $(wc -w <<<"$list") formats says that a device is full" "$got" "$wanted"
else
	skip "a full device" "there is no /dev/full"
fi
