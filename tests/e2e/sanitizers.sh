#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests sanitizers and valgrind on instrumented programs (tests/e2e/sanitizers).  A program without
# mistakes must behave as usual, without reports.  A mistake must be reported with the same
# functions and lines as without pcce.  Recordings must be exact.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
here=$top/tests/e2e/sanitizers
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
samplers=self
if has_bpf; then
	samplers="bpf self"
else
	skip "the same with BPF" "pcce-record cannot use BPF: $bpf_reason"
fi
export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=1:symbolize=1

# both SOURCE NAME FLAG...: NAME-plain and NAME-pcce
# shellcheck disable=SC2086 # lists of flags
both() {
	local source=$here/$1 name=$2 compiler=$CC
	shift 2
	case $source in *.cc) compiler=$CXX ;; esac
	$compiler "$@" -g -pthread "$source" -o "$name-plain" &&
		$compiler "$@" -g -pthread $cflags "$source" $ldflags -o "$name-pcce" &&
		is_encoded "$name-pcce"
}

# works NAME: succeeds if the sanitizer works here at all, else sets reason
works() {
	[ "$("./$1-plain" 2>"$1.err" | wc -l)" = 1 ] && ! [ -s "$1.err" ] && return
	reason="it does not work here without pcce either: $(head -n 1 "$1.err")"
	return 1
}

# as_without NAME EXECUTABLE: same output, same status, nothing reported
as_without() {
	local name=$1 executable=$2
	"./$executable-plain" >want
	"./$executable-pcce" >got 2>err
	is "$name: ends well" $? 0
	check "$name: same output" cmp want got
	is "$name: nothing is reported" "$(head -n 20 err)" ""
}

# essence FILE: prints a report without addresses and processes.  Leaves out frames of the runtime
# and the C library below a thread's function and above pthread_create, frames that are none since
# the C library has no frame pointers, and the numbers of frames.
essence() {
	sed -n -e 's/^==*[0-9]*==*//' -e 's/ ([^ ]*+0x[0-9a-f]*)//' -e 's/0x[0-9a-fA-F]*//g' \
		-e 's/(BuildId: [0-9a-f]*)//' \
		-e '/userlib\//d; /libsanitizer\//d; /libc_start\|csu\|nptl\|\/sysdeps\//d; / in _start /d; /vgpreload/d; /<unknown module>/d; /thread_create\|thread_body/d' \
		-e 's/-plain\|-pcce//g' \
		-e 's/^ *#[0-9]* */#/' -e 's/^ *\(at\|by\) : */#/' \
		-e '/^#\|WARNING: Th\|ERROR: \|SUMMARY: \|runtime error\|located in\|bytes to the\|located \|Direct leak\|definitely lost\|Invalid read\|data race\|after a block/p' "$1" |
		sed -e 's/(pid=[0-9]*)//' -e 's/located  is/located is/' \
			-e 's/^ Address [0-9a-f]* /Address /' -e 's/(tid=[0-9]*[^)]*)//' \
			-e '/leak\|lost/s/[0-9][0-9,]* /N /g'
}

# reports NAME EXECUTABLE WORD FUNCTION [PREFIX...]: the mistake is reported as without pcce, and
# names FUNCTION.  Either thread of a race may be the first, so its lines are sorted.
reports() {
	local name=$1 executable=$2 word=$3 function=$4 v status
	shift 4
	for v in plain pcce; do
		"$@" "./$executable-$v" "$word" >report.out 2>"$v.report"
		status=$?
		echo "status $status" >"$v.essence"
		essence "$v.report" >>"$v.essence"
		[ "$word" != race ] || sort -o "$v.essence" "$v.essence"
	done
	check "$name: names the function" grep -q "$function" pcce.essence
	check "$name: the same as without pcce" diff plain.essence pcce.essence
}

for sanitizer in address,undefined thread; do
	for source in clean.c clean.cc; do
		name="$sanitizer, $source"
		program=${source/./-}-${sanitizer%,*}
		if ! both $source "$program" -O2 -fsanitize=$sanitizer 2>log; then
			not_ok "$name: builds" log
			continue
		fi
		if ! works "$program"; then
			skip "$name" "$reason"
			continue
		fi
		as_without "$name" "$program"
		for s in $samplers; do
			hertz=1000
			case $program in
			clean-cc-thread) rounds=2000 hertz=4000 ;; # many threads end before a first sample
			*) rounds=100 ;;
			esac
			if frequency=$hertz record "$s" rec "./$program-pcce" $rounds; then
				is "$name, $s: same output" "$(sort -u rec.out)" "$(cat want)"
				is "$name, $s: nothing is reported" \
					"$(grep -v '^pcce-record: ' rec.err)" ""
				# These are bpf samples between a jump and the end of the runtime's
				# work on it.
				allow_marked=5 recording_is_exact "$name, $s: exact" rec 20
			else
				not_ok "$name, $s: recorded" rec.err
			fi
		done
	done
	# LeakSanitizer follows frame pointers.  Without them a stack may end anywhere.
	both bugs.c "bugs-${sanitizer%,*}" -O1 -fno-omit-frame-pointer -fsanitize=$sanitizer 2>log ||
		not_ok "$sanitizer: bugs.c builds" log
done
both clean.c static -O1 -fsanitize=thread -static-libtsan 2>log ||
	not_ok "static libtsan: builds" log
if works static; then as_without "static libtsan" static; else skip "static libtsan" "$reason"; fi
both clean.c static -O1 -fsanitize=address -static-libasan 2>log ||
	not_ok "static libasan: builds" log
if works static; then as_without "static libasan" static; else skip "static libasan" "$reason"; fi

if works clean-c-address; then
	reports "heap overflow" bugs-address overflow past_the_end
	reports "use after return" bugs-address return use_after_return
	reports "undefined" bugs-address undefined bugs.c:
	reports "leak" bugs-address leak leak
fi
if works clean-c-thread; then
	# The first thread may have ended when the second begins.  Nothing in the runtime may look
	# like an order between them.
	reports "race" bugs-thread race touch
fi

# Other libraries than sanitizers interpose the C library, too.
cat >front.c <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int (*real)(int, const struct sigaction *, struct sigaction *) = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
	if (write(2, "seen\n", 5) != 5)
		_exit(3);
	return real(sig, act, old);
}
EOF
if $CC -shared -fPIC front.c -o front.so -ldl && both clean.c clean -O2 2>log; then
	LD_PRELOAD=./front.so ./clean-plain >want 2>want.err
	LD_PRELOAD=./front.so ./clean-pcce >got 2>got.err
	check "a preloaded sigaction(): same output" cmp want got
	check "a preloaded sigaction(): is called" grep -q seen got.err
else
	not_ok "a preloaded sigaction(): builds" log
fi

if ! command -v valgrind >/dev/null; then
	skip "valgrind" "valgrind is missing; run scripts/setup"
	done_testing
fi
# Prints the calls that callgrind has counted.  It writes a name once, then only the name's number.
fib_calls() { # FILE
	awk '/^c?fn=/ { split($1, a, "="); if ($2 != "") name[a[2]] = $2; called = name[a[2]] }
		/^calls=/ && called ~ /^fib/ { split($1, a, "="); n += a[2] } END { print n + 0 }' "$1"
}
both clean.cc cleanxx -O2 2>log || not_ok "clean.cc builds" log
both bugs.c bugs -O1 2>log || not_ok "bugs.c builds" log
for program in clean cleanxx; do
	./$program-plain >want
	for tool in memcheck helgrind drd; do
		options=
		[ $tool != memcheck ] || options=--leak-check=full
		valgrind --tool=$tool $options --error-exitcode=9 ./$program-pcce >got 2>err
		is "$tool, $program: ends well" $? 0
		check "$tool, $program: same output" cmp want got
		is "$tool, $program: no errors" \
			"$(sed -n 's/.*ERROR SUMMARY: \(.* contexts\).*/\1/p' err)" \
			"0 errors from 0 contexts"
	done
done
for v in plain pcce; do
	valgrind --tool=callgrind --callgrind-out-file=callgrind.$v ./clean-$v >got 2>err
	fib_calls callgrind.$v >calls.$v
done
check "callgrind: same output" cmp got <(./clean-plain)
is "callgrind: as many calls of a function that calls itself" \
	"$(cat calls.pcce)" "$(cat calls.plain)"
check "callgrind: ... and there are some" [ "$(cat calls.plain)" -gt 100 ]
reports "memcheck, overflow" bugs overflow past_the_end valgrind
reports "memcheck, leak" bugs leak leak valgrind --leak-check=full
for tool in helgrind drd; do
	valgrind --tool=$tool --error-exitcode=9 ./bugs-pcce race-together >got 2>err
	is "$tool: finds a race" $? 9
	check "$tool: ... and where" grep -q '(bugs.c:' err
done
done_testing
