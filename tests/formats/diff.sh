# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh
#
# pcce-diff: of one build, of different ones, and of equal ones, where all that differs is chance.

./generate_huge before.data 4000 1000 || not_ok "generate before"
./generate_huge chance.data 5000 1000 7 || not_ok "generate chance"
./generate_huge now.data 5000 30 || not_ok "generate now"

pcce-diff before.data now.data >diff-text
same diff-text
pcce-diff --by=names -n 4 small.data before.data >diff-names
same diff-names
check "diff: what chance does is not shown" bash -c \
	'[ "$(pcce-diff before.data chance.data | grep -c "%.*%")" = 0 ] && [ "$(pcce-diff -a -n 0 before.data chance.data | grep -c "%.*%.* [+-]")" -gt 1000 ]'
check "diff: nothing changed from a recording to itself" bash -c '[ "$(pcce-diff -a -n 0 now.data now.data | grep "%.*%" | grep -vc " +0.00 ")" = 0 ]'

# ---- the numbers of the flat report ---------------------------------------------------------

pcce-diff --format=json -a before.data now.data >diff.json 2>diff.err || not_ok "diff: json" diff.err
if command -v jq >/dev/null; then
	is "diff: counts by what" "$(jq -r '[.samples_before, .samples_now, .by] | join(" ")' diff.json)" "4000 5000 calls"
	for what in before now; do
		jq -r ".selves[] | select(.$what > 0) | \"\\(.$what) \\(.name)\"" diff.json | sort >got
		pcce-report -i $what.data --format=flat 2>/dev/null | awk '/%/ && $3 { print $3, $4 }' | sort >wanted
		check "diff: functions $what" bash -c '[ -s got ] && diff wanted got'
		is "diff: contexts $what" "$(jq "[.contexts[].$what] | add" diff.json)" "$(stat_of $what.data samples)"
	done
	is "diff: intervals hold the change" "$(jq '[.contexts[], .totals[] | select(.low > .change or .high < .change)] | length' diff.json)" 0
fi

# ---- other formats --------------------------------------------------------------------------

pcce-diff --format=folded before.data now.data | sort >diff.folded
pcce-report -i before.data --format=folded 2>/dev/null | awk '{ n += $NF } END { print n }' >wanted
is "diff: folded has both counts" "$(awk '{ a += $(NF - 1); b += $NF } END { print a, b }' diff.folded)" "4000 5000"
if [ -r "$flamegraph" ]; then
	check "diff: flamegraph.pl reads folded" bash -c "perl $flamegraph diff.folded >diff.svg && grep -q '<title>root (5,000 samples, 100.00%; ' diff.svg"
fi
pcce-diff --format=html -o diff.html before.data now.data 2>diff.err || not_ok "diff: html" diff.err
check "diff: a whole page" bash -c 'grep -q "^</html>$" diff.html && ! grep -E "(src|href)=|https?://" diff.html'
if command -v go >/dev/null; then
	pcce-diff --format=pprof -o diff.pb.gz before.data now.data 2>diff.err || not_ok "diff: pprof" diff.err
	report pprof before.data before.pb.gz
	report pprof now.data now.pb.gz
	rows() { awk 'seen && $1 { print $1, $4, $NF } $1 == "flat" { seen = 1 }' | sort; }
	go tool pprof -top -sample_index=samples -nodecount=1000 diff.pb.gz 2>pprof.err | rows >got
	go tool pprof -top -sample_index=samples -nodecount=1000 -diff_base before.pb.gz now.pb.gz 2>>pprof.err | rows >wanted
	check "diff: pprof as go tool pprof -diff_base makes it" bash -c '[ -s got ] && diff wanted got'
fi

# ---- what is wrong is said --------------------------------------------------------------------

says "diff: one recording is too few" 2 "name two recordings" pcce-diff small.data
says "diff: three are too many" 2 "pcce-merge joins several" pcce-diff small.data small.data small.data
says "diff: no such format" 2 "unknown format 'svg'" pcce-diff --format=svg small.data small.data
says "diff: no such recording" 1 "none.data" pcce-diff small.data none.data
says "diff: other builds by their calls" 0 "demo is another build: contexts whose calls moved differ" pcce-diff --by=calls small.data before.data
