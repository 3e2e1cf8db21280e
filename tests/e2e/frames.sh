#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record --frames: the frames of an uninstrumented library between a sample and its
# instrumented caller, and whole stacks of a program that is not instrumented.  Where the context
# and the frames name different calls, the check fails.  Builds with and without RESTORE=1 must have
# the same frames.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/frames/lib.sh"
cd "$scratch" || exit 1
recorder=pcce-record
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

check "an instrumented program with a plain library is built" frames_build .

# ---- what is linked ----------------------------------------------------------------------

# All functions of the files that reuse frames: none has a name that begins otherwise.
reuses() { nm "$1" | grep -cE ' [tTdD] (restore_(frames|map)|reuse_|cfi_rule_|unwind_element)'; }
check "a build with RESTORE=1 contains the reuse of frames" [ "$(reuses "$out/tests/pcce-record")" -ge 4 ]
if grep -q '^RESTORE ' "$out/obj/.flags"; then
	skip "a build without RESTORE=1 does not" "this build has RESTORE=1"
else
	is "a build without RESTORE=1 does not" "$(reuses "$out/bin/pcce-record")" 0
	is "... nor does any other file" "$(grep -rlE 'restore_frames|reuse_frames' "$out/bin" "$out/lib")" ""
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
	timeout -k 5 300 "$recorder" -q -b "$sampler" -F 2000 --frames="$which" -o "$data" -- "$@" >"$data.err" 2>&1
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
		test "$(($(stat_of "$data" restored_in_part) + $(stat_of "$data" not_restored)))" -le "$((foreign / 25))"
	chains_are_right "$sampler" "$data"
done
# Contexts in uninstrumented code have a gap where code that is not encoded may have called.
echo 'int bare(int n) { return n + 1; }' >bare.c
# shellcheck disable=SC2086 # a list
check "a library that is not encoded is built" $CC -O2 $cflags -fPIC -shared bare.c -o libbare.so
for sampler in "${samplers[@]}"; do
	restore "$sampler" bare.data foreign env LD_PRELOAD="$PWD/libbare.so" ./program
	check "$sampler: beside code that is not encoded, frames are restored" \
		[ "$(stat_of bare.data restored)" -ge 300 ]
	is "  none leads to another call than the context" "$(stat_of bare.data restored_wrong)" 0
	check "  the gap is between them and the context" \
		grep -qE 'work_on;\[truncated\];lib_aligned;' <(pcce-report -q -i bare.data --format=folded)
done
pcce-report -i self.data --format=tree >frames.tree 2>&1
check "the tree says what is restored" grep -qE 'lib_saves.*\(not instrumented, restored\)' frames.tree
check "JSON says it" sh -c 'pcce-report -i self.data --format=json | grep -q "\"restored\":true"'

# What one recording says twice: all numbers are doubled, and the same contexts have frames.
pcce-merge -o merged.data self.data self.data >merge.err 2>&1
check "pcce-merge takes the recording" pcce-report -i merged.data --stats
for s in restored restored_in_part not_restored restored_wrong frames_unwound frames_reused stack_bytes; do
	is "... $s" "$(stat_of merged.data $s)" "$(($(stat_of self.data $s) * 2))"
done
contexts_of() { pcce-report -i "$1" --format=folded | sed 's/ [0-9]*$//' | LC_ALL=C sort -u; }
contexts_of self.data >self.contexts
contexts_of merged.data >merged.contexts
is "... the contexts are the same" "$(cmp self.contexts merged.contexts 2>&1)" ""

cat >read.c <<'END_OF_C'
#include <stdio.h>
#include <pcce/decode.h>

/* Prints the restored frames of each context, innermost first, and the frame that called them. */
int main(int argc, char **argv)
{
	struct pcce_decode_recording *r;
	const struct pcce_decode_sample *s;
	struct pcce_decode_frame f;

	if (argc < 2 || pcce_decode_recording_open(argv[1], PCCE_DECODE_EXPANDED, &r, NULL))
		return 1;
	while (pcce_decode_recording_next(r, &s, NULL) > 0) {
		const struct pcce_decode_context *c = pcce_decode_sample_context(s);
		size_t n = pcce_decode_context_frames(c), i = 0;

		for (; i < n && !pcce_decode_context_frame(c, i, &f, sizeof(f)) && f.restored; i++)
			printf("%s<", f.function);
		printf("%s\n", i && i < n ? f.function : "");
	}
	pcce_decode_recording_close(r);
	return 0;
}
END_OF_C
read_by_library() {
	# shellcheck disable=SC2086
	$CC -O1 -Wall -Werror -I"$top/include" read.c -L"$out/lib" -l:libpcce-decode.so.0 -Wl,-rpath,"$out/lib" -o read &&
		./read self.data >read.out
}
check "libpcce-decode reads the recording" read_by_library
is "... it has as many samples with restored frames" "$(grep -c '<' read.out)" \
	"$(($(stat_of self.data restored) + $(stat_of self.data restored_in_part)))"
is "... in their order" "$(grep -c '^lib_leaf<lib_any_size<lib_saves<lib_aligned<work_on$' read.out | sed 's/^[1-9].*/some/')" some

# The bit of a restored frame in lib/html/page.c; the data are described there.
cat >flags.mjs <<'END_OF_JS'
import { readFileSync } from 'fs';
import { inflateSync } from 'zlib';
const page = readFileSync(process.argv[2], 'latin1');
const data = inflateSync(Buffer.from(page.match(/[A-Za-z0-9+/=]{400,}/)[0], 'base64'));
const size = data.readUInt32LE(0), head = JSON.parse(data.toString('utf8', 4, 4 + size));
let at = 4 + size, restored = 0;
for (const [name, , bytes] of head.columns) {
	for (let i = at, value = 0, shift = 0; name === 'frame.flags' && i < at + bytes; i++) {
		value += (data[i] & 127) << shift;
		shift += 7;
		if (data[i] & 128) continue;
		restored += (value >> 16) & 1;
		value = shift = 0;
	}
	at += bytes;
}
console.log(restored > 0 ? 'restored' : 'none');
END_OF_JS
if command -v node >/dev/null; then
	pcce-report -i self.data --format=html >self.html 2>&1
	is "the page says which frames are restored" "$(node flags.mjs self.html 2>&1)" restored
else
	skip "the page says which frames are restored" "node is missing"
fi

# ---- whole stacks ------------------------------------------------------------------------

if has_bpf; then
	check "a program that is not instrumented is recorded" restore bpf plain.data all ./plain
	is "... no stack is wrong" "$(stat_of plain.data restored_wrong)" 0
	# The loader, at the start, is the time of a slow machine more than of the program.
	pcce-report -q -i plain.data --format=folded 2>folded.err | grep -v '\[ld-' >whole.folded
	check "... nearly all are whole" awk '
		{ all += $NF; if (/truncated/) cut += $NF }
		END { print cut + 0, "of", all, "are not"; exit !(all && cut * 20 <= all) }' whole.folded
	chains_are_right "whole stacks" plain.data
	is "... each begins where its thread does" \
		"$(grep -vE '^\[thread without pcce\];(_start|\[?(__)?(GI_)*_*clone|\[ld-|\[truncated\]|_dl_|\[libc)' plain.data.folded | head -n 3)" ""
	check "an instrumented program is recorded with all" restore bpf mixed.data all ./program
	is "... no stack is wrong" "$(stat_of mixed.data restored_wrong)" 0
	check "... and its contexts are exact" test "$(stat_of mixed.data exact)" -gt 100
fi

# ---- the same frames with RESTORE=1 ---------------------------------------------------------

# It unwinds each stack in both ways.
build_with_tools compare -D_GNU_SOURCE -DPCCE_RESTORE -Dreuse_frames=compare_frames \
	"$top/tests/e2e/frames/compare.c" "$top"/tools/{pcce-record,sample_options}.c
compared() { # NAME COMPARED
	local samples frames differ
	check "$1: all samples have the same frames in both builds" grep -q ' 0 differ$' "$2"
	read -r samples frames differ < <(sed -n 's/^compared \([0-9]*\) samples, \([0-9]*\) frames, \([0-9]*\) differ$/\1 \2 \3/p' "$2")
	check "  there are some" [ "${samples:-0}" -ge 100 ] && echo "# $samples samples, $frames frames, $differ differ"
}
same_frames() { # NAME SAMPLER WHICH COMMAND...
	local name=$1
	recorder=./compare restore "$2" compare.data "${@:3}"
	compared "$name" compare.data.err
	is "  no frames lead to another call than the context" "$(stat_of compare.data restored_wrong)" 0
}
same_frames "self" self foreign ./program
check "... and RESTORE=1 reuses some" test "$(stat_of compare.data frames_reused)" -gt 0
same_frames "self, frames of several KB" self foreign ./program wide
same_frames "self, without unwind information" self foreign ./program blind
if has_bpf; then
	same_frames "bpf" bpf all ./program
	same_frames "bpf, frames of several KB" bpf all ./plain wide
	same_frames "bpf, whole stacks" bpf outside ./plain
	check "... and RESTORE=1 reuses most" \
		test "$(stat_of compare.data frames_reused)" -gt "$(($(stat_of compare.data frames_unwound) / 2))"
fi

# ---- frames of several KB ----------------------------------------------------------------

# In program, 19 frames of the library have 95 KB, in two threads.
if has_bpf; then
	check "bpf: frames of several KB are recorded" restore bpf wide.data foreign ./program wide
	check "... there are many samples" test "$(stat_of wide.data samples)" -ge 300
	check "... all are restored but a few" test "$(($(stat_of wide.data restored) / 50))" -ge \
		"$(($(stat_of wide.data restored_in_part) + $(stat_of wide.data not_restored)))"
	is "... none wrongly" "$(stat_of wide.data restored_wrong)" 0
	pcce-report -q -i wide.data --format=folded >wide.folded 2>&1
	check "... also the deepest ones" grep -qE ';wide(;lib_wide){19};lib_leaf [0-9]+$' wide.folded
	check "whole stacks with such frames are recorded" restore bpf wide.plain all ./plain wide
	pcce-report -q -i wide.plain --format=folded 2>folded.err | grep 'wide' >wide.folded
	check "... nearly all are whole" awk '
		{ all += $NF; if (/truncated/) cut += $NF }
		END { print cut + 0, "of", all, "are not"; exit !(all >= 300 && cut * 50 <= all) }' wide.folded
	check "... the deepest stack of the first thread" \
		grep -qE ';_start;.*;main;go_wide(;wide){4}(;lib_wide){19};lib_leaf [0-9]+$' wide.folded
	check "... and that of the second one" \
		grep -qE 'clone[^;]*;[^;]*;go_wide(;wide){4}(;lib_wide){19};lib_leaf [0-9]+$' wide.folded
	# Nothing beyond the stack is copied: neither arguments nor the environment.
	check "a small stack below a large environment is recorded" env PAD="$(seq 22000)" \
		"$recorder" -q -b bpf -F 2000 --frames=all -o flat.data -- ./plain flat
	check "... only the stack is copied" \
		test "$(stat_of flat.data stack_bytes)" -lt "$(($(stat_of flat.data samples) * 300))"
fi
check "self: such frames are recorded" restore self wide.self foreign ./program wide
is "... none wrongly" "$(stat_of wide.self restored_wrong)" 0
check "... up to the 8 KiB that are copied" test "$(stat_of wide.self restored_in_part)" -gt 0

# ---- the changed part --------------------------------------------------------------------

# A whole copy has 8 KiB.  The kernel leaves out what the recorder knows.
if has_bpf; then
	# Each CPU has its own ring: on a busy machine the program changes often.
	check "bpf: less than a third of the stacks is copied" \
		test "$(($(stat_of bpf.data stack_bytes) * 3))" -lt "$(($(stat_of bpf.data samples) * 8192))"
	# 40,000 samples of a few hundred bytes find no room in rings of 4 MB.
	timeout -k 5 300 "$recorder" -q -b bpf -e page-faults -c 1 --frames=foreign -o lost.data -- \
		./program touch 40 >lost.data.err 2>&1
	is "bpf: a recorder that stood still ends well" "$?" 0
	echo "# $(pcce-report -i lost.data --stats | tr '\n' ' ')"
	check "... it has lost samples" test "$(stat_of lost.data lost_ring)" -ge 1000
	is "... no frames lead to another call than the context" "$(stat_of lost.data restored_wrong)" 0
	check "... all are restored but a few" test "$(($(stat_of lost.data restored) / 50))" -ge \
		"$(($(stat_of lost.data restored_in_part) + $(stat_of lost.data not_restored)))"
	# A sample that is restored in part says so.
	pcce-report -i lost.data --format=folded 2>&1 | grep -vF '[truncated]' >lost.folded
	is "... each sequence of frames is one of the program" \
		"$(sed 's/ [0-9]*$//' lost.folded | grep lib_touch | grep -vE 'main;touch(;lib_touch){1,40}$')" ""
	check "... they begin at all depths" test "$(grep -c 'lib_touch [0-9]*$' lost.folded)" = 40
fi

# ---- without the option ------------------------------------------------------------------------

# by_default DATA COMMAND...: records without --frames
by_default() { timeout -k 5 300 pcce-record -F 2000 -o "$1" "${@:2}" >"$1.err" 2>&1; }
says_so="plain was not built with pcce: whole stacks are unwound instead (--frames=outside); --frames=none leaves that out"
# has_whole DATA: most samples are whole stacks
has_whole() { [ $(($(stat_of "$1" restored) * 20)) -ge $(($(stat_of "$1" outside) * 17)) ]; }
if has_bpf; then
	check "a program without pcce is recorded" by_default plain.data -b bpf ./plain
	is "... it says that whole stacks are unwound" "$(grep -c "$says_so\$" plain.data.err)" 1
	is "... and warns of nothing else" "$(grep -cE 'no contexts' plain.data.err)" 0
	check "... they are" has_whole plain.data
	chains_are_right "without --frames" plain.data
	pcce-report -q -i plain.data --stdio >plain.tree
	is "... the tree says once that nothing is instrumented" \
		"$(grep -c 'nothing of it is instrumented' plain.tree) $(grep -c '(not instrumented' plain.tree)" "1 0"
	check "--frames=none is accepted" by_default none.data -b bpf --frames=none ./plain
	is "... it unwinds nothing, and says nothing of it" \
		"$(stat_of none.data restored)$(grep -c 'stacks are unwound' none.data.err)" 0
	check "... but that there are no contexts" grep -q 'plain was not built with pcce: samples in it have no contexts' none.data.err
	by_default quiet.data -b bpf -q ./plain
	is "-q: it says nothing of it" "$(grep "was not built" quiet.data.err)" ""
	by_default program.data -b bpf ./program
	check "an instrumented program: each frame that is not says so" sh -c \
		'pcce-report -q -i program.data --stdio >tree; grep -q "(not instrumented" tree && ! grep "nothing of it" tree'
	is "an instrumented program: nothing is unwound" \
		"$(stat_of program.data restored)$(grep -c 'stacks are unwound' program.data.err)" 0
	# In a shell without pcce, samples of the program are the same as without frames.
	by_default shell.data -b bpf sh -c './program; ./plain'
	pcce-report -q -i shell.data --format=folded >shell.folded 2>shell.folded.err
	check "a shell: its own command without pcce has whole stacks" \
		grep -qE ';_start;.*;main;.*;deep;.*lib_' shell.folded
	check "... the instrumented one has contexts" test "$(stat_of shell.data exact)" -ge 100
	is "... and none of its frames is restored" \
		"$(pcce-report -q -i shell.data --format=tree --comm=program | grep -c 'restored)')" 0
	printf '#!/bin/sh\n./plain\n' >script
	chmod +x script
	by_default script.data -b bpf ./script
	check "a script: whole stacks" has_whole script.data
	for option in --hot --only=deep --off-cpu; do
		by_default other.data -b bpf $option ./plain
		is "$option: nothing is unwound, and nothing is said of it" "$(grep -c 'stacks are unwound' other.data.err)" 0
	done
	check "a static program is built" $CC -O2 -g -static-pie -x c -o static - <<'END_OF_C'
static volatile unsigned long sum;
static __attribute__((noinline)) void spin(unsigned long n) { while (n--) sum += n; }
int main(void) { spin(300000000); return 0; }
END_OF_C
	strip -o stripped static
	for p in static stripped; do
		by_default $p.data -b bpf ./$p
		check "a $p program: whole stacks" has_whole $p.data
		is "... and no warning of contexts" "$(grep "no contexts" $p.data.err)" ""
	done
	check "a program whose unwind information goes round is built" $CC "$top/tests/e2e/frames/loop.S" -o loop
	by_default loop.data -b bpf ./loop
	check "... it has samples" test "$(stat_of loop.data samples)" -ge 100
	check "... with hardly a frame" test "$(stat_of loop.data frames_unwound)" -le \
		"$((2 * $(stat_of loop.data samples)))"
	./plain wide >/dev/null &
	running=$!
	by_default attach.data -b bpf --duration=0.3 -p $running
	kill $running 2>/dev/null
	wait $running
	check "a running process: whole stacks" has_whole attach.data
	is "... and it says so" "$(grep -c 'the process was not built with pcce: whole stacks' attach.data.err)" 1
else
	skip "whole stacks without --frames" "pcce-record cannot use BPF: $bpf_reason"
fi
by_default self.plain -b self ./plain
is "the self sampler sees no such threads, and says nothing of stacks" "$(grep -c 'stacks are unwound' self.plain.err)" 0

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
