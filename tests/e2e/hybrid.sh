#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests hybrid encoding from pcce-encode to the report: samples, the real stack, two runs that are
# merged, a core, and what must be refused.  tests/oracle steps through such programs.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
w=$top/tests/workloads
cflags="-O2 -g -I$w $(pcce-config --cflags)"
ldflags=$(pcce-config --ldflags)
room=-fplugin-arg-pcce_plugin-hybrid

# shellcheck disable=SC2086 # lists of flags
$CC $cflags $room "$w/depths.c" $ldflags -o basic || exit 1
cp basic hybrid
check "a program with room is encoded" pcce-encode --hybrid hybrid
check "the dump tells of the paper's three cases" eval '
	pcce-encode --dump --verbose hybrid >dump &&
	grep -q "^guarded additions: [1-9]" dump && grep -q "^implicit contexts: [1-9]" dump &&
	grep -q ": add [0-9]* if not 0 -> " dump && grep -q ": add [0-9]* -> " dump &&
	grep -q ": none -> " dump && grep -q ": push -> leaf" dump'
check "JSON tells of them, too" eval 'pcce-encode --dump=json hybrid |
	grep -q "\"implicit_contexts\": [1-9]"'
pcce-encode --hybrid -o again hybrid
check "encoded again, it is the same" cmp hybrid again
pcce-encode --dump basic | sed 1d >basic.dump
is "without --hybrid nothing is hybrid" "$(grep -c 'implicit contexts' basic.dump)" 0

./basic >want
contexts() { # DATA
	pcce-report -i "$1" --no-kernel --format=folded | sed 's/ [0-9]*$//' | grep 'burn$' | sort -u
}
# Calls are counted without hybrid encoding: these are all contexts that there are.
pcce-record -q --count -o counted.data -- ./basic >counted.out 2>&1 && contexts counted.data >all ||
	not_ok "calls are counted" counted.out
true_contexts() { # NAME DATA LEAST
	contexts "$2" >got
	check "$1: $(wc -l <got) contexts, at least $3" [ "$(wc -l <got)" -ge "$3" ]
	is "$1: all of them exist" "$(comm -23 got all)" ""
}
check "its output is the same" eval './hybrid | cmp - want'
frequency=3000
for sampler in self bpf; do
	if [ $sampler = bpf ] && ! has_bpf; then
		skip "recorded by bpf" "pcce-record cannot use BPF: $bpf_reason"
	elif record $sampler $sampler.data ./hybrid; then
		recording_is_exact "$sampler: all samples are exact" $sampler.data 100
		true_contexts $sampler $sampler.data 20
		expected_chains "$sampler" "$w/depths.c" $sampler.data
	else
		not_ok "recorded by $sampler" $sampler.data.err
	fi
done
if record_options=--verify record self verify.data ./hybrid; then
	recording_is_verified "it agrees with the real stack" verify.data 100
else
	not_ok "it agrees with the real stack" verify.data.err
fi
# The addresses of stacks are others in each run.
record self second.data ./hybrid
check "two runs are merged" pcce-merge -q -o both.data self.data second.data
true_contexts "two runs" both.data 20
states() { pcce-report -i "$1" --stats | sed -n 's/^unique_contexts: //p'; }
check "their contexts are equal" [ "$(states both.data)" -lt $(($(states self.data) * 3 / 2)) ]
record_options=--only=right record self only.data ./hybrid ||
	not_ok "recorded with --only" only.data.err
check "--only decodes them while recording" eval '
	[ -n "$(contexts only.data)" ] && ! contexts only.data | grep -v ";right;"'

# ---- a core --------------------------------------------------------------------------------------

sed 's/burn(60);/if (n == 21) __builtin_trap(); burn(60);/' "$w/depths.c" >crash.c
# shellcheck disable=SC2086
$CC $cflags $room crash.c $ldflags -o crash && pcce-encode --hybrid crash
ulimit -c unlimited 2>/dev/null
{ ./crash >/dev/null 2>&1; } 2>/dev/null
[ -e core ] || mv core.* core 2>/dev/null
if [ -e core ]; then
	check "a core has the context" eval 'pcce-core core crash >core.out 2>core.err;
		tr "\n" " " <core.out | grep -q " leaf.* right .* shared .* narrow .* again .* main "'
else
	skip "a core has the context" "this system does not write core dumps here"
fi

# ---- names ---------------------------------------------------------------------------------------

# No address of a stack may get into a name, also not below a frame that is not fixed.
cat >names.c <<'EOF'
#include <alloca.h>
#include <stdio.h>
#include <pcce.h>
#define NOINLINE __attribute__((noinline))
volatile int n = 16;
char text[PCCE_TEXT_SIZE];
NOINLINE void tell(void) { puts(pcce_context_text(pcce_context_id(), text)); n++; }
NOINLINE void inner(void) { tell(); n++; tell(); n++; }
NOINLINE void outer(void) { inner(); n++; tell(); n++; }
void (*volatile pointer)(void) = outer;
int main(void) { volatile char *p = alloca(n); *p = 1; pointer(); pointer(); return 0; }
EOF
# shellcheck disable=SC2086
$CC $cflags $room -I"$top/userlib" -I"$top/include" names.c $ldflags -o names &&
	pcce-encode --hybrid names
./names >first
./names >second
check "names of contexts do not depend on the run" eval '
	[ $(sort -u first | wc -l) -ge 4 ] && cmp first second'

# ---- signals -------------------------------------------------------------------------------------

# shellcheck disable=SC2086
$CC $cflags $room "$w/signals.c" $ldflags -pthread -o signals && pcce-encode --hybrid signals
record self signals.data ./signals
check "what a handler interrupted is exact or marked" eval '
	pcce-report -q -i signals.data --stats >stats;
	grep -q "^exact: [1-9]" stats && ! grep "^undecodable_" stats | grep -v "_restoring\|_interrupted"'

# ---- what is refused -----------------------------------------------------------------------------

refuses() { # NAME SENTENCE COMMAND...
	local name=$1 sentence=$2 status
	shift 2
	limited "$@" >out 2>err
	status=$?
	is "$name: exit status" $status 1
	check "$name: one sentence" eval 'grep -q "$sentence" err && [ $(wc -l <err) = 1 ]'
}
# shellcheck disable=SC2086
$CC $cflags "$w/depths.c" $ldflags -o small
cp small small.before
refuses "a program without room" "has no room for hybrid encoding in '.*'; compile it with" \
	pcce-encode --hybrid small
check "it stays as it was" cmp small small.before
# shellcheck disable=SC2086
$CC $cflags $room -fPIC -shared "$w/shlib.c" $ldflags -o lib.so
refuses "a shared library" "is a shared library, and hybrid encoding is for executables" \
	pcce-encode --hybrid lib.so
check "a recording is refused" eval '! pcce-encode --hybrid --profile counted.data basic 2>err &&
	grep -q "cannot use --profile with --hybrid: .*; leave out one of them" err'
refuses "counting calls" "has hybrid encoding, whose calls cannot be counted" \
	pcce-record --count -o count.data -- ./hybrid
refuses "a set of contexts" "it has hybrid encoding" pcce-decode --select='main<wide' hybrid
# shellcheck disable=SC2086
! $CC $cflags $room=1 -c "$w/depths.c" -o x.o 2>err
check "the plugin knows no other argument" grep -q "cannot use the unknown argument" err
done_testing
