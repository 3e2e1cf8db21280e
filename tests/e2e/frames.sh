#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record --frames: the frames of an uninstrumented library between a sample and its
# instrumented caller, and whole stacks of a program that is not instrumented.  Where the context
# and the frames name different calls, the check fails.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/frames/lib.sh"
cd "$scratch" || exit 1
recorder=$out/tests/pcce-record
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

check "an instrumented program with a plain library is built" frames_build .

# ---- a build without it ------------------------------------------------------------------

if strings -n 8 "$out/bin/pcce-record" | grep -q 'make RESTORE=1'; then
	pcce-record --frames=foreign -- ./program >/dev/null 2>without.err
	is "without RESTORE=1, --frames says what to do" "$?: $(grep -o 'build pcce with make RESTORE=1' without.err)" \
		"64: build pcce with make RESTORE=1"
	is "... and nothing that restores is linked" \
		"$(nm "$out/bin/pcce-record" | grep -c ' restore_frames$')" 0
else
	ok "this is a build with RESTORE=1"
fi

# ---- options -----------------------------------------------------------------------------

"$recorder" --frames=some -- ./program 2>some.err
is "another word is refused" "$?: $(grep -c 'cannot use --frames=some' some.err)" "64: 1"
"$recorder" --frames=foreign --verify -- ./program 2>both.err
is "--verify is refused" "$?: $(grep -c 'cannot use --frames with --verify' both.err)" "64: 1"
"$recorder" -b self --frames=all -- ./program 2>all.err
is "the self sampler does not support --frames=all" "$?: $(grep -c 'use -b bpf or kmod as root' all.err)" "1: 1"

# ---- the frames --------------------------------------------------------------------------

restore() { # SAMPLER DATA WHICH COMMAND...
	local sampler=$1 data=$2 which=$3
	shift 3
	timeout -k 5 120 "$recorder" -q -b "$sampler" -F 2000 --frames="$which" -o "$data" -- "$@" >"$data.err" 2>&1
}

samplers=(self)
if has_bpf; then samplers+=(bpf); else skip "recorded by bpf" "pcce-record cannot use BPF: $bpf_reason"; fi
for sampler in "${samplers[@]}"; do
	data=$sampler.data
	check "$sampler: it is recorded" restore "$sampler" "$data" foreign ./program
	foreign=$(($(stat_of "$data" restored) + $(stat_of "$data" restored_in_part) +
		$(stat_of "$data" not_restored) + $(stat_of "$data" restored_wrong)))
	echo "# $(tr '\n' ' ' <"$data.stats")"
	check "$sampler: all samples decode" test "$(stat_of "$data" undecodable)" -le "$((foreign / 100))"
	check "$sampler: there are samples in uninstrumented code" test "$foreign" -ge 300
	is "$sampler: no frames lead to another call than the context" "$(stat_of "$data" restored_wrong)" 0
	check "$sampler: all are restored but a few" \
		test "$(($(stat_of "$data" restored_in_part) + $(stat_of "$data" not_restored)))" -le "$((foreign / 50))"
	check "$sampler: some frames are reused" test "$(stat_of "$data" frames_reused)" -gt 0
	chains_are_right "$sampler" "$data"
done
pcce-report -i self.data --format=tree >frames.tree 2>&1
check "the tree says what is restored" grep -qE 'lib_saves.*\(not instrumented, restored\)' frames.tree
check "JSON says it" sh -c 'pcce-report -i self.data --format=json | grep -q "\"restored\":true"'
pcce-merge -o merged.data self.data >merge.err 2>&1
check "pcce-merge takes the recording, without the frames" sh -c \
	'pcce-report -i merged.data --format=folded | grep -q "work_on;lib_leaf"'

# ---- whole stacks ------------------------------------------------------------------------

if has_bpf; then
	check "a program that is not instrumented is recorded" restore bpf plain.data all ./plain
	is "... no stack is wrong" "$(stat_of plain.data restored_wrong)" 0
	# The loader, at the start, is the time of a slow machine more than of the program.
	pcce-report -q -i plain.data --format=folded 2>folded.err | grep -v '\[ld-' >whole.folded
	check "... nearly all are whole" awk '
		{ all += $NF; if (/truncated/) cut += $NF }
		END { print cut + 0, "of", all, "are not"; exit !(all && cut * 20 <= all) }' whole.folded
	check "... most frames are reused" \
		test "$(stat_of plain.data frames_reused)" -gt "$(($(stat_of plain.data frames_unwound) / 2))"
	chains_are_right "whole stacks" plain.data
	is "... each begins where its thread does" \
		"$(grep -vE '^\[no_thread_page\];(_start|\[?(__)?(GI_)*_*clone|\[ld-|\[truncated\]|_dl_|\[libc)' plain.data.folded | head -n 3)" ""
	check "an instrumented program is recorded with all" restore bpf mixed.data all ./program
	is "... no stack is wrong" "$(stat_of mixed.data restored_wrong)" 0
	check "... and its contexts are exact" test "$(stat_of mixed.data exact)" -gt 100
fi

# ---- the changed part --------------------------------------------------------------------

# A whole copy has 8 KiB.  The kernel leaves out what the recorder knows.
if has_bpf; then
	check "bpf: less than a quarter of the stacks is copied" \
		test "$(($(stat_of bpf.data stack_bytes) * 4))" -lt "$(($(stat_of bpf.data samples) * 8192))"
	# 40,000 samples of a few hundred bytes find no room in rings of 4 MB.
	timeout -k 5 120 "$recorder" -q -b bpf -e page-faults -c 1 --frames=foreign -o lost.data -- \
		./program touch 40 >lost.data.err 2>&1
	is "bpf: a recorder that stood still ends well" "$?" 0
	echo "# $(pcce-report -i lost.data --stats | tr '\n' ' ')"
	check "... it has lost samples" test "$(stat_of lost.data lost_ring)" -ge 1000
	is "... no frames lead to another call than the context" "$(stat_of lost.data restored_wrong)" 0
	check "... all are restored but a few" test "$(($(stat_of lost.data restored) / 50))" -ge \
		"$(($(stat_of lost.data restored_in_part) + $(stat_of lost.data not_restored)))"
	pcce-report -i lost.data --format=folded >lost.folded 2>&1
	is "... each sequence of frames is one of the program" \
		"$(sed 's/ [0-9]*$//' lost.folded | grep lib_touch | grep -vE 'main;touch(;lib_touch){1,40}$')" ""
	check "... they begin at all depths" test "$(grep -c 'lib_touch [0-9]*$' lost.folded)" = 40
fi

# ---- what cannot be restored -------------------------------------------------------------

check "a program with code without unwind information is recorded" restore self blind.data foreign ./program blind
check "its samples are restored in part" test "$(stat_of blind.data restored_in_part)" -gt 0
is "... not wrongly" "$(stat_of blind.data restored_wrong)" 0
pcce-report -i blind.data --format=folded >blind.folded 2>&1
check "a frame says that others are missing" grep -qE 'work_on;\[truncated\];lib_blind;lib_leaf ' blind.folded

# The C library and the unwinder change the stack while a jump is under way: up to a tenth of the
# samples of exceptions.cc come at such a moment.
for w in exceptions.cc longjmp.c qsort.c; do
	n=${w%.*}
	compiler=$CC
	[ "$w" != exceptions.cc ] || compiler=$CXX
	# shellcheck disable=SC2086
	check "$n is built" $compiler -O2 -g -I"$top/tests/workloads" $cflags "$top/tests/workloads/$w" $ldflags -o "$n"
	check "$n is recorded" restore self "$n.data" foreign "./$n"
	is "... no frames lead to another call than the context" "$(stat_of "$n.data" restored_wrong)" 0
	check "... and most are restored" test "$(stat_of "$n.data" restored)" -gt \
		"$((5 * ($(stat_of "$n.data" restored_in_part) + $(stat_of "$n.data" not_restored))))"
done

done_testing
