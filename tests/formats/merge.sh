# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh
#
# Tests pcce-merge.  Contexts of the result must be the sums of those of the inputs.  Also tests
# real recordings: at random addresses, of deep stacks, and of several processes.

# folded FILE...: prints the sums of their contexts
folded() {
	local f
	for f; do pcce-report -i "$f" --format=folded 2>/dev/null; done |
		awk '{ w = $NF; $NF = ""; n[$0] += w } END { for (i in n) print i n[i] }' | sort
}

# merged NAME OUT FILE...
merged() {
	local name=$1 out=$2
	shift 2
	if ! pcce-merge -q -o "$out" "$@" 2>merge.err; then
		not_ok "merge: $name" merge.err
		return
	fi
	folded "$@" >merge.wanted
	folded "$out" >merge.got
	if [ -s merge.got ] && diff merge.wanted merge.got >diff.log; then
		ok "merge: $name"
	else
		not_ok "merge: $name" diff.log
	fi
}

merged "one recording" one.m small.data
merged "a recording twice" two.m small.data small.data
merged "many contexts" huge.m huge.data huge.data
merged "what was merged before" again.m two.m small.data one.m
is "merge: samples are counted" \
	"$(stat_of two.m samples) $(stat_of two.m exact) $(stat_of two.m lost)" "174 164 6"
is "merge: samples that were due are added" \
	"$(stat_of two.m due) $(stat_of two.m taken) $(stat_of two.m merged) $(stat_of two.m kernel)" \
	"200 174 8 12"
./generate verify unknown.data
pcce-merge -q -o unknown.m small.data unknown.data
is "merge: what one recording does not know is not known" "$(stat_of unknown.m due)" "not known"
is "merge: symbols are kept" "$(pcce-report -i two.m 2>/dev/null | sed '1d;s/× 3–8/×/')" \
	"$(pcce-report -i small.data 2>/dev/null | sed '1d;s/× 3–8/×/')"
check "merge: equal inputs do not make the result larger" \
	[ "$(stat -c %s two.m)" -lt $((2 * $(stat -c %s one.m))) ]
check "merge: equal inputs, equal result" \
	bash -c 'pcce-merge -q -o two2.m small.data small.data && cmp two.m two2.m'
check "merge: standard input" bash -c 'pcce-merge -q -o in.m - <small.data && cmp one.m in.m'
cp one.m kept.m
check "merge: the previous file is kept as .old" \
	bash -c 'pcce-merge -q -o one.m small.data small.data && cmp one.m.old kept.m && cmp one.m two.m'

# ---- errors --------------------------------------------------------------------------------

says() { # NAME STATUS PATTERN COMMAND...
	local name=$1 status=$2 pattern=$3 got
	shift 3
	"$@" >says.log 2>&1
	got=$?
	if [ $got = "$status" ] && grep -q "$pattern" says.log; then
		ok "$name"
	else
		not_ok "$name" "status $got" says.log
	fi
}
says "merge: nothing to merge" 2 "no recording is given; name the recordings to merge" pcce-merge -o x.m
says "merge: no such file" 1 "none.data" pcce-merge -o x.m small.data none.data
says "merge: other frequencies" 1 \
	"small.data and huge.data: the first was sampled at 1000 Hz, the second at 10000 Hz" \
	pcce-merge -o x.m small.data huge.data
check "merge: nothing is written then" [ ! -e x.m ]
./generate badtable bad.data
says "merge: a damaged table" 1 "cannot use the encoding table of .* in bad.data" \
	pcce-merge -o x.m bad.data
head -c 32 small.data >header.data
says "merge: a recording without records" 1 \
	"cannot merge header.data: it ends after its header" pcce-merge -o x.m header.data
says "merge: one after another" 1 \
	"cannot merge header.data: it ends after its header" pcce-merge -o x.m small.data header.data
generate_unpacked small unpacked.data
head -c $(($(stat -c %s unpacked.data) - 100)) unpacked.data >cut.data
says "merge: a recording that was cut off" 0 "cut.data has no end record" pcce-merge -o x.m cut.data
check "merge: no full disk is taken for success" \
	bash -c '! pcce-merge -o /dev/full small.data 2>err.log && grep -q "No space left" err.log'

# ---- real recordings --------------------------------------------------------------------------

# shellcheck disable=SC2046 # several words
real() { # WORKLOAD
	local n
	if ! "$CC" -O2 -g $(pcce-config --cflags) "$top/tests/workloads/$1.c" \
		$(pcce-config --ldflags) -pthread -o "$1" >build.log 2>&1; then
		not_ok "merge: $1 builds" build.log
		return
	fi
	for n in 1 2 3; do
		frequency=2000 record self "$1.$n.data" "./$1" ||
			not_ok "merge: $1 is recorded" "$1.$n.data.err"
	done
	merged "runs of $1" "$1.m" "$1".?.data
}
real deep_irregular
real fork
real mutual
is "merge: deep stacks are whole" "$(stat_of deep_irregular.m truncated)" \
	"$(($(stat_of deep_irregular.1.data truncated) + $(stat_of deep_irregular.2.data truncated) + $(stat_of deep_irregular.3.data truncated)))"
is "merge: and as deep" "$(stat_of deep_irregular.m max_encoding_stack)" \
	"$(for n in 1 2 3; do stat_of deep_irregular.$n.data max_encoding_stack; done | sort -n | tail -n 1)"
check "merge: processes and threads of one name are one" bash -c "pcce-report -i fork.m --format=jsonl 2>/dev/null |
	jq 'select(.stack).threads[].tid' | sort -u | wc -l | grep -qx '[1-3]'"
merged "runs of several programs" all.m deep_irregular.?.data fork.?.data mutual.?.data
