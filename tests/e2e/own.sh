#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests programs that define functions which the runtime replaces (tests/e2e/own).  Their
# definitions prevail as in a plain link, and contexts are those of a program without them.

. "$(dirname "$0")/../lib.sh"
frequency=2000
cd "$scratch" || exit 1
own=$top/tests/e2e/own/own.c
hidden=$top/tests/e2e/hidden
all=$(grep -v '^pcce_\|^otel_' "$top/userlib/libpcce.exports") # functions
cflags="-O2 -g $(pcce-config --cflags)"
ldflags="$(pcce-config --ldflags) -pthread -ldl"

# The threads, handlers and jumps are those of a program and of its library.
$CC $cflags -fPIC -shared "$hidden/lib.c" $ldflags -o libhidden.so &&
	$CC $cflags -DLINKED -c "$hidden/main.c" -o main.o &&
	$CC $cflags main.o -L. -lhidden -Wl,-rpath,"$PWD" $ldflags -o without &&
	record self data ./without || exit 1

contexts() { # DATA: those of the loops, in which nearly all samples are
	pcce-report -i "$1" --format=folded --origins | sed 's/ [0-9]*$//; s/;[^;]*;\[signal\]/;[signal]/' |
		grep 'spin$' | sort
}
contexts data >want.contexts

# as_without NAME FLAG...: a program that is linked with own.c in some way
as_without() {
	local name=$1
	shift
	rm -f program
	if ! timeout 60 $CC $cflags main.o "$@" ${libraries--L. -lhidden -Wl,-rpath,$PWD} $ldflags \
		-o program >log 2>&1; then
		not_ok "$name: links" log
		return
	fi
	is "$name: no message" "$(cat log)" ""
	if ! record self data ./program; then
		not_ok "$name: recorded" data.err
		return
	fi
	is "$name: the program's functions are called" "$(cat data.out)" "${want-$called}"
	# A sample may come between a jump, or a signal, and the runtime's work on it.
	allow_marked=1 recording_is_exact "$name: all samples exact" data 100
	is "$name: contexts" "$(contexts data)" "$(cat want.contexts)"
}

names="sigaction pthread_create thrd_create signal sigset siginterrupt pthread_sigmask sigprocmask sigaltstack syscall prctl"
wrap=$(printf -- '-Wl,--wrap=%s ' $names)
called="2
called: $names"
raw=${called/syscall /}
# The runtime comes before a library, and calls the next function where it needs one.
only_sigaction="2
called: sigaction"
library="2
called: sigaction pthread_create"
$CC $cflags -c "$own" -o own.o && $CC -O2 -c "$own" -o uninstrumented.o &&
	$CC $cflags -DATTRIBUTE='__attribute__((weak))' -c "$own" -o weak.o &&
	$CC $cflags -DRAW -c "$own" -o raw.o && $CC $cflags -DWRAPPED -c "$own" -o wrapped.o &&
	$CC $cflags -fPIC -shared "$own" $ldflags -o libown.so &&
	$CC $cflags -flto -c "$own" -o lto.o &&
	$CC $cflags -c "$hidden/lib.c" -o lib.o &&
	$CC $cflags -DRAW -DONLY_SIGACTION -c "$own" -o only_sigaction.o &&
	$CC -nostdlib -r own.o -o relocatable.o || exit 1

# Each function that the runtime replaces, and what follows it.
{
	printf '#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <string.h>\n'
	for name in $all; do
		echo "int own_$name(void) __asm__(\"$name\");"
		echo "int own_$name(void) { return 1; }"
	done
	echo 'static const char *const names[] = {'
	printf '"%s", ' $all
	cat <<'END_C'
};

int main(void)
{
	Dl_info self, next;

	dladdr((void *)main, &self);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *f = dlsym(RTLD_NEXT, names[i]);

		/* A program in C has no _Unwind_SetIP(). */
		if (!f && strcmp(names[i], "_Unwind_SetIP"))
			puts(names[i]);
		if (f && dladdr(f, &next) && strcmp(next.dli_fname, self.dli_fname))
			printf("%s: %s\n", names[i], next.dli_fname);
	}
	return 0;
}
END_C
} >all.c

# A name that only a library of dlopen() has.
cat >alone.c <<'END_C'
#include <dlfcn.h>

int main(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW);

	return !library || !dlsym(library, "_Unwind_SetIP") || dlerror();
}
END_C
check "dlerror() knows no error after a dlsym() that finds" \
	eval '$CC $cflags alone.c $ldflags -o alone && ./alone'

for linker in bfd lld gold mold; do
	if ! command -v ld.$linker >/dev/null; then
		skip "$linker" "ld.$linker is not installed"
		continue
	fi
	$CC $cflags all.c -fuse-ld=$linker $ldflags -o all >log 2>&1
	is "$linker: all functions are defined" "$(cat log)" ""
	is "$linker: the runtime's are next" "$(./all)" ""
	as_without "$linker" -fuse-ld=$linker own.o
	as_without "$linker, weak" -fuse-ld=$linker weak.o
	want=$raw as_without "$linker, a system call" -fuse-ld=$linker raw.o
	# The library calls pthread_create(), which is not wrapped.
	want=${called/pthread_create /} as_without "$linker, --wrap" -fuse-ld=$linker wrapped.o $wrap
	if [ $linker = lld ]; then
		skip "$linker, LTO" "lld does not read GCC's objects of LTO"
	else
		as_without "$linker, LTO" -fuse-ld=$linker -flto lto.o
	fi
	want=$only_sigaction libraries=lib.o as_without "$linker, static" \
		-fuse-ld=$linker -static only_sigaction.o
done
as_without "not instrumented" uninstrumented.o
as_without "ld -r" relocatable.o
want=$library as_without "a library" -Wl,--no-as-needed -lown
as_without "once more" own.o
if record_options=--verify record self data ./program; then
	allow_marked=1 recording_is_verified "agrees with the real stack" data 100
else
	not_ok "agrees with the real stack" data.err
fi
if has_bpf; then
	record bpf data ./program
	allow_marked=1 recording_is_exact "bpf: all samples exact" data 100
	is "bpf: contexts" "$(contexts data)" "$(cat want.contexts)"
else
	skip "bpf" "pcce-record cannot use BPF: $bpf_reason"
fi
done_testing
