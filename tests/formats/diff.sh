# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh
#
# Tests pcce-diff: of one build, of different builds, and of equal ones, which differ by chance
# only.

./generate_huge before.data 4000 1000 || not_ok "generate before"
./generate_huge chance.data 5000 1000 7 || not_ok "generate chance"
./generate_huge now.data 5000 30 || not_ok "generate now"

pcce-diff before.data now.data >diff-text
same diff-text
pcce-diff --by=names -n 4 small.data before.data >diff-names
same diff-names
pcce-diff --absolute -n 5 before.data now.data >diff-absolute
same diff-absolute
pcce-diff --absolute -a -n 0 now.data now.data >got
is "diff: no time changed from a recording to itself" \
	"$(awk '/^ *[0-9.]+ +[0-9.]+ +[+-]/ { any = 1; if ($3 != "+0.0") print } END { print any }' got)" 1
check "diff: what chance does is not shown" bash -c \
	'[ "$(pcce-diff before.data chance.data | grep -c "%.*%")" = 0 ] && [ "$(pcce-diff -a -n 0 before.data chance.data | grep -c "%.*%.* [+-]")" -gt 1000 ]'
check "diff: nothing changed from a recording to itself" \
	bash -c '[ "$(pcce-diff -a -n 0 now.data now.data | grep "%.*%" | grep -vc " +0.00 ")" = 0 ]'

# ---- the numbers of the flat report ---------------------------------------------------------

pcce-diff --format=json -a before.data now.data >diff.json 2>diff.err ||
	not_ok "diff: json" diff.err
if command -v jq >/dev/null; then
	is "diff: counts by what" \
		"$(jq -r '[.samples_before, .samples_now, .by] | join(" ")' diff.json)" \
		"4000 5000 calls"
	for what in before now; do
		jq -r ".selves[] | select(.$what > 0) | \"\\(.$what) \\(.name)\"" diff.json |
			sort >got
		pcce-report -i $what.data --format=flat 2>/dev/null |
			awk '/%/ && $3 { print $3, $4 }' | sort >wanted
		check "diff: functions $what" bash -c '[ -s got ] && diff wanted got'
		is "diff: contexts $what" "$(jq "[.contexts[].$what] | add" diff.json)" \
			"$(stat_of $what.data samples)"
	done
	is "diff: times of the recordings" \
		"$(jq -r '.unit, (.totals[] | select(.name == "root") | .absolute | .before, .now, .change)' diff.json | xargs)" \
		"ms 400 500 100"
	is "diff: intervals of times hold the change" \
		"$(jq '[.contexts[], .totals[] | .absolute | select(.low > .change or .high < .change)] | length' diff.json)" 0
	is "diff: intervals hold the change" \
		"$(jq '[.contexts[], .totals[] | select(.low > .change or .high < .change)] | length' diff.json)" 0
else
	skip "diff: counts by what" "jq is not installed"
fi

# ---- different builds: what GCC makes of a function is that function -----------------------------

cat >clones.c <<'END_OF_C'
#include "burn.h"
NOINLINE void copied(void) __asm__("copied" COPY);
NOINLINE void member(void) __asm__("_Z6memberi" COPY);
NOINLINE void split(void);
NOINLINE void rest(void) __asm__("split.part.0");
void copied(void) { burn(60000000); }
void member(void) { burn(60000000); }
void rest(void) { burn(60000000); burn(1); }
#ifdef SPLIT
void split(void) { rest(); burn(1); }
#else
void split(void) { burn(60000000); burn(1); }
#endif
int main(void) { copied(); member(); split(); burn(1); return 0; }
END_OF_C
cflags=$(pcce-config --cflags) ldflags=$(pcce-config --ldflags)
# shellcheck disable=SC2086 # lists of flags
if "$CC" -O1 -g $cflags -I"$top/tests/workloads" -DCOPY='""' clones.c $ldflags -o plain \
	>build.log 2>&1 &&
	"$CC" -O1 -g $cflags -I"$top/tests/workloads" -DCOPY='".constprop.0.isra.1"' \
		-DSPLIT clones.c $ldflags -o clones >build.log 2>&1 &&
	record self plain.data ./plain && record self clones.data ./clones; then
	pcce-report -q -i clones.data --format=folded >clones.folded
	check "diff: there are clones" grep -q 'main;copied.constprop.0.isra.1;burn' clones.folded
	check "diff: ... and parts" grep -q 'main;split;split.part.0;burn' clones.folded
	pcce-diff --format=folded plain.data clones.data >diff.clones
	for context in 'main;copied;burn' 'main;member(int);burn' 'main;split;burn'; do
		check "diff: they are their functions: $context" \
			grep -q "^$context [1-9][0-9]* [1-9][0-9]*$" diff.clones
	done
	is "diff: and nothing else" "$(grep -c 'constprop\|isra\|part\|clone' diff.clones)" 0
	check "diff: by calls they stay what they are" \
		bash -c 'pcce-diff --by=calls --format=folded plain.data clones.data 2>/dev/null | grep -q "constprop"'
else
	not_ok "diff: programs with clones are recorded" build.log plain.data.err clones.data.err
fi

# ---- other formats --------------------------------------------------------------------------

pcce-diff --format=folded before.data now.data | sort >diff.folded
pcce-report -i before.data --format=folded 2>/dev/null | awk '{ n += $NF } END { print n }' >wanted
is "diff: folded has both counts" \
	"$(awk '{ a += $(NF - 1); b += $NF } END { print a, b }' diff.folded)" "4000 5000"
if [ -r "$flamegraph" ]; then
	check "diff: flamegraph.pl reads folded" \
		bash -c "perl $flamegraph diff.folded >diff.svg && grep -q '<title>root (5,000 samples, 100.00%; ' diff.svg"
fi
pcce-diff --format=html -o diff.html before.data now.data 2>diff.err || not_ok "diff: html" diff.err
check "diff: a whole page" \
	bash -c 'grep -q "^</html>$" diff.html && ! grep -E "(src|href)=|https?://" diff.html'
if command -v go >/dev/null; then
	pcce-diff --format=pprof -o diff.pb.gz before.data now.data 2>diff.err ||
		not_ok "diff: pprof" diff.err
	report pprof before.data before.pb.gz
	report pprof now.data now.pb.gz
	rows() { awk 'seen && $1 { print $1, $4, $NF } $1 == "flat" { seen = 1 }' | sort; }
	go tool pprof -top -sample_index=samples -nodecount=1000 diff.pb.gz 2>pprof.err | rows >got
	go tool pprof -top -sample_index=samples -nodecount=1000 -diff_base before.pb.gz now.pb.gz \
		2>>pprof.err | rows >wanted
	check "diff: pprof as go tool pprof -diff_base makes it" \
		bash -c '[ -s got ] && diff wanted got'
else
	skip "diff: pprof" "go is not installed"
fi

# ---- one of several events ----------------------------------------------------------------------

./generate threads threads.data || not_ok "generate threads"
# both_of EVENT: samples of both recordings, by event
both_of() {
	pcce-diff --format=folded --event="$1" threads.data threads.data 2>&1 |
		awk '{ a += $(NF - 1); b += $NF } END { print a, b }'
}
is "diff: all events" "$(both_of 'cpu-clock,page-faults')" "41 41"
is "diff: an event by its name" "$(both_of page-faults)" "8 8"
is "diff: ... by a pattern" "$(both_of 'cpu*')" "33 33"
is "diff: ... by its number" "$(both_of 1)" "8 8"
check "diff: its name is shown" bash -c \
	'pcce-diff --event=1 threads.data threads.data | grep -q "^now: .* 8 samples of page-faults: "'
check "diff: recordings with one event and with several" bash -c \
	'pcce-diff --by=names --event=cpu-clock threads.data small.data | grep -q "^before: .* 33 samples of cpu-clock: "'
says "diff: ... are compared by the first one without it" 0 \
	"comparing cpu-clock; use --event=NAME to compare another of cpu-clock,page-faults" \
	pcce-diff --by=names threads.data small.data
says "diff: ... but not with another one" 1 "or select one with --event" \
	pcce-diff --event=page-faults,cpu-clock threads.data small.data
says "diff: different events" 1 "the first counts cpu-clock,page-faults, the second cpu-clock;" \
	pcce-diff --event='page-faults,cpu-[c]lock' threads.data small.data
says "diff: no such event" 1 "its events are cpu-clock,page-faults" \
	pcce-diff --event=cycles threads.data threads.data
says "diff: an empty event" 2 "cannot use --event" pcce-diff --event=, small.data small.data

# ---- pcce-compare ------------------------------------------------------------------------------

# has NAME VALUE: the last output of pcce-compare has this line
has() { is "compare: $1" "$(sed -n "s/^$1: //p" compare.log)" "$2"; }
pcce-compare --phi=0.1 small.data small.data >compare.log 2>&1
has false_positives 0
has false_negatives 0
has max_error 0.0000%
has hot_edge_coverage_0.5 100.0000%
has exact_n 87
pcce-compare --phi=0.0001 small.data small.data >compare.log 2>&1
has overlap 100.0000%
has uncovered 0
cat >exact.tree <<'END'
c cct
c ./x 12 /tmp
v a0 0 1 0 0
v a1 a0 5 401000 401100
v a2 a1 7 401200 401010
v a3 a0 2 401300 401100
p 4 14
END
sed -e 's/ 7 401200/ 8 401200/' -e '/^v a3/d' -e 's/^p 4/p 3/' exact.tree >near.tree
pcce-compare --phi=0.3 exact.tree near.tree >compare.log 2>&1
has overlap 85.7143%
has max_error 14.2857%
has max_uncovered 28.5714%
sed '$d' exact.tree >cut.tree
says "compare: a tree without its end" 1 "cannot read cut.tree: it is not a whole .tree file: it has no end" \
	pcce-compare cut.tree exact.tree
says "compare: no such tree" 1 "none.tree" pcce-compare none.tree exact.tree
says "compare: a tree with a recording" 2 "cannot compare a recording with a .tree file" \
	pcce-compare exact.tree small.data
says "compare: one is too few" 2 "two trees are needed" pcce-compare small.data
says "compare: PHI" 2 "cannot use --phi: '2' has a PHI" pcce-compare --phi=2 small.data small.data

# ---- errors ------------------------------------------------------------------------------------

says "diff: one recording is too few" 2 "two recordings are needed" pcce-diff small.data
says "diff: three are too many" \
	2 "join some of them with pcce-merge" pcce-diff small.data small.data small.data
says "diff: no such format" 2 "cannot print format 'svg'" pcce-diff --format=svg small.data small.data
says "diff: no such recording" 1 "none.data" pcce-diff small.data none.data
says "diff: other builds by their calls" 0 \
	"demo is another build: contexts whose calls moved differ" pcce-diff --by=calls small.data \
	before.data
