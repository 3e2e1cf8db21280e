#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests libraries that the dynamic linker gives another libpcce.so.0 than the program's runtime:
# by dlmopen(), dlopen() with RTLD_DEEPBIND, and auditing (tests/e2e/namespaces).  Their contexts
# must be those of dlopen().

. "$(dirname "$0")/../lib.sh"
sources_in namespaces

$CC $cflags -fPIC -shared "$w/lib.c" $ldflags -o lib.so && cp lib.so other.so &&
	$CC $cflags -DAUDIT -fPIC -shared "$w/lib.c" $ldflags -o audit.so &&
	$CC $cflags "$w/main.c" $ldflags -ldl -o program &&
	$CC -O2 "$w/main.c" -ldl -o uninstrumented || exit 1

contexts() { # DATA: those of the loops, in which nearly all samples are
	pcce-report -i "$1" --format=folded | sed -e 's/ [0-9]*$//' -e 's/\.[a-z]*\.[0-9]*//g' \
		-e 's/;[^;]*;\[signal\]/;[signal]/; s/;msort_with_tmp[^;]*//' |
		grep "${only-spin$}" | sort -u
}

# as_dlopen NAME SAMPLER PROGRAM ARGUMENT...
as_dlopen() {
	local name=$1 sampler=$2
	shift 2
	if ! record "$sampler" data "$@"; then
		not_ok "$name, $sampler: recorded" data.err data.out
		return
	fi
	is "$name, $sampler: output" "$(cat data.out)" "done"
	# A sample may come between a jump, or a signal, and the runtime's work on it.
	allow_marked=1 recording_is_exact "$name, $sampler: all samples exact" data 100
	is "$name, $sampler: contexts" "$(contexts data)" "$(cat "${want-instrumented}")"
}

record self data ./program d./lib.so && contexts data >instrumented
sed -n 's/^main;\(.*lib_spin\)$/[uninstrumented caller];\1/p' instrumented >uninstrumented.want
check "dlopen() has the contexts of calls, jumps, signals and callbacks" eval '
	grep -q "^main;lib_entry;lib_recursion;.*;lib_spin$" instrumented &&
		grep -q "^main;lib_entry;lib_spin$" instrumented &&
		grep -q "^main;lib_entry;.*lib_compare;lib_spin$" instrumented &&
		grep -q "^main;lib_entry;\[signal\];lib_handler;lib_spin$" instrumented &&
		grep -q "^main;lib_entry;back;back;back;back;spin$" instrumented'

samplers=self
if has_bpf; then
	samplers="self bpf"
else
	skip "the same with BPF" "pcce-record cannot use BPF: $bpf_reason"
fi
for s in $samplers; do
	as_dlopen "dlmopen" $s ./program m./lib.so
	as_dlopen "another library in the namespace" $s ./program m./lib.so s./other.so
	as_dlopen "RTLD_DEEPBIND" $s ./program b./lib.so
	as_dlopen "RTLD_DEEPBIND after dlopen" $s ./program d./lib.so b./other.so
	as_dlopen "dlopen, then dlmopen" $s ./program d./lib.so m./lib.so
	as_dlopen "dlmopen, then dlopen" $s ./program m./lib.so d./other.so
	# The C library has room for one more page in such a program.
	want=uninstrumented.want only="lib_spin$" as_dlopen "the program is not instrumented" $s ./uninstrumented m./lib.so
done
if record_options=--verify record self data ./program m./lib.so; then
	is "dlmopen: no mismatch with the real stack" "$(stat_of data mismatches)" 0
	check "dlmopen: verified" [ "$(stat_of data verified)" -ge 20 ]
else
	not_ok "dlmopen: recorded with --verify" data.err
fi

# A library for auditing works within the program's calls.
if LD_AUDIT=./audit.so ./program d./lib.so >out 2>&1; then
	is "auditing: output" "$(cat out)" "done"
	record self data env LD_AUDIT=./audit.so ./program d./lib.so
	allow_marked=1 recording_is_exact "auditing: all samples exact" data 100
	pcce-report -i data --format=folded >folded
	check "auditing: its calls are the program's" \
		grep -q '^main;.*la_symbind64;lib_recursion' folded
else
	not_ok "auditing" out
fi

# A handler of the library calls the program's, and gives it back.
cat >handler.c <<'END_C'
#include <signal.h>
#include <stddef.h>
static struct sigaction before;
static void handler(int sig)
{
	before.sa_handler(sig);
}
void lib_entry(void (*back)(int))
{
	struct sigaction action = {.sa_handler = handler};

	sigaction(SIGUSR1, &action, &before);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &before, NULL);
	back(0);
}
END_C
cat >handlers.c <<'END_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
static volatile int handled;
static void handler(int sig)
{
	handled += sig == SIGUSR1;
}
static void back(int n)
{
	raise(SIGUSR1 + n);
}
int main(void)
{
	void *library;

	signal(SIGUSR1, handler);
	library = dlmopen(LM_ID_NEWLM, "./handler.so", RTLD_NOW);
	((void (*)(void (*)(int)))dlsym(library, "lib_entry"))(back);
	printf("%d\n", handled);
	return 0;
}
END_C
$CC $cflags -fPIC -shared handler.c $ldflags -o handler.so &&
	$CC $cflags handlers.c $ldflags -ldl -o handlers || exit 1
is "a handler goes to another namespace and comes back" "$(./handlers 2>&1)" 2

# What is not counted is marked.
if pcce-record --count -q -o data -- ./program b./lib.so >out 2>&1; then
	is "--count, RTLD_DEEPBIND: all counted" "$(stat_of data lost)$(stat_of data undecodable)" 00
else
	not_ok "--count, RTLD_DEEPBIND" out
fi
if pcce-record --count -q -o data -- ./program m./lib.so >out 2>&1; then
	pcce-report -i data --format=folded >folded
	is "--count, dlmopen: no callback without the library" "$(grep -c '^main;back' folded)" 0
else
	not_ok "--count, dlmopen" out
fi
done_testing
