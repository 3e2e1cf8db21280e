#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Builds one small project (tests/e2e/project) in many ways: optimisation levels, linkers, PIE or
# not, static, LTO, --gc-sections, CMake, autoconf with libtool, parallel make.  Every result must
# be encoded, give the right output, record and decode exactly.

. "$(dirname "$0")/../lib.sh"
frequency=2000
cd "$scratch" || exit 1
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

cp -r "$top/tests/e2e/project" plain
make -s -C plain CC="$CC" >plain.log 2>&1 || { cat plain.log >&2; exit 1; }
want=$(plain/project)

# works NAME FILE COMMAND...
works() {
	local name=$1 file=$2
	shift 2
	check "$name: encoded" is_encoded "$file"
	is "$name: output" "$("$@" 2>&1)" "$want"
	if record self data "$@"; then
		recording_is_exact "$name: all samples exact" data 30
		pcce-report -i data --format=folded >folded 2>&1
		if grep -Eq '(^|;)main;(.*;)?one;(.*;)?shape_tree;.*grind(\.[a-z_0-9.]*)?( |;)' \
			folded; then
			ok "$name: chain of calls"
		else
			not_ok "$name: chain of calls" "$(head -n 5 folded | cut -c 1-200)"
		fi
	else
		not_ok "$name: recorded" data.err
	fi
}

# variant NAME CFLAGS LDFLAGS
variant() {
	rm -rf p
	cp -r "$top/tests/e2e/project" p
	# The plugin and the encoder print nothing on success.  A linker's messages are kept.
	if limited make -s -j4 -C p CC="$CC" CFLAGS="$2 $cflags" LDFLAGS="$3 $ldflags" >p.log 2>&1; then
		works "$1" p/project p/project
	else
		not_ok "$1: builds" p.log
	fi
}

for o in -O0 -O1 -O2 -O3 -Os -Og; do variant "$o" "$o" ""; done
variant "-O2 -g" "-O2 -g" ""
variant "-O3 -g, PIE" "-O3 -g -fPIE" "-pie"
variant "-O2, not PIE" "-O2 -fno-pie" "-no-pie"
variant "-O2, static" "-O2" "-static"
variant "all flags twice" "-O2 $cflags" "$ldflags"
variant "all flags twice, static PIE" "-O2 -fPIE $cflags" "-static-pie $ldflags"
printf '%s\n' 'int f(int n) { return n ? f(n - 1) + n : 0; }' >twice.c
# shellcheck disable=SC2086 # lists of flags
check "all flags twice, shared library" \
	$CC -O2 -fPIC -shared $cflags $cflags twice.c $ldflags $ldflags -o libtwice.so
check "... is encoded" is_encoded libtwice.so
variant "-O2, static PIE" "-O2 -fPIE" "-static-pie"
variant "-flto" "-O2 -g -flto" "-flto -O2"
variant "-flto, fat objects, partitioned" \
	"-O2 -g -flto -ffat-lto-objects" "-flto -flto-partition=max -O2"
variant "-fPIC" "-O2 -fPIC" ""
variant "-fno-omit-frame-pointer -fstack-protector-strong" \
	"-O2 -fno-omit-frame-pointer -fstack-protector-strong" ""
variant "-fcf-protection" "-O2 -fcf-protection" ""
variant "-fno-plt -z now" "-O2 -fno-plt" "-Wl,-z,now,-z,relro"
variant "-fpatchable-function-entry" "-O2 -fpatchable-function-entry=4,2" ""
variant "-s" "-O2" "-s"

for linker in bfd gold lld mold; do
	if ! command -v ld.$linker >/dev/null; then
		skip "$linker" "ld.$linker is not installed"
		continue
	fi
	variant "$linker" "-O2 -g" "-fuse-ld=$linker"
	variant "$linker, static" "-O2" "-fuse-ld=$linker -static"
	[ $linker = gold ] || variant "$linker, --gc-sections" \
		"-O2 -ffunction-sections -fdata-sections" "-fuse-ld=$linker -Wl,--gc-sections"
done
if command -v ld.gold >/dev/null; then
	rm -rf p
	cp -r "$top/tests/e2e/project" p
	make -s -C p CC="$CC" CFLAGS="-O2 -ffunction-sections $cflags" \
		LDFLAGS="-fuse-ld=gold -Wl,--gc-sections $ldflags" >p.log 2>&1
	status=$?
	# gold drops all site records with --gc-sections.  A message must say so, and the program
	# must run.
	if [ $status = 0 ] && is_encoded p/project; then
		ok "gold, --gc-sections: encoded after all"
	else
		check "gold, --gc-sections: says that this pair does not work" \
			grep -q 'gc-sections' p.log
	fi
	[ ! -x p/project ] || is "gold, --gc-sections: the program still runs" \
		"$(p/project)" "$want"
else
	skip "gold, --gc-sections" "ld.gold is not installed"
fi

# gold changes the check of the stack, which it must find at the beginning of each function.
$CC -O2 -fsplit-stack "$top/tests/e2e/split_stack.c" -o split.plain >split.log 2>&1
split_counts="main;work 6000
main;work;deep 6000
main;work;deep;add 6000
main;work;deep;sort 1200
main;work;deep;sort;qsort;compare 19680
main;work;deep;through 5880
main;work;deep;through;deep 5880
main;work;deep;through;deep;add 5880
main;work;deep;through;deep;sort 1200"
for linker in bfd gold; do
	for flags in -O0 -O2 "-O2 -fPIC"; do
		name="-fsplit-stack $flags, $linker"
		if ! $CC -fsplit-stack -fuse-ld=$linker "$top/tests/e2e/split_stack.c" -o split \
			>split.log 2>&1; then
			skip "$name" "$linker cannot link such a program without pcce"
			continue
		fi
		# shellcheck disable=SC2086 # lists of flags
		check "$name: builds" $CC $flags -g -fsplit-stack -fuse-ld=$linker $cflags \
			"$top/tests/e2e/split_stack.c" $ldflags -o split
		is "$name: output" "$(./split)" "$(./split.plain)"
		pcce-record -q --count -o split.data -- ./split >split.log 2>&1
		is "$name: counts of calls" "$(pcce-report -i split.data --format=folded 2>&1 |
			grep -xE "($(cut -d' ' -f1 <<<"$split_counts" | paste -sd'|')) [0-9]+" | sort)" \
			"$split_counts"
	done
done

# Links that the linker refuses still fail.
if $CC $cflags "$top/tests/e2e/project/src/main.c" $ldflags -o undefined >link.log 2>&1; then
	not_ok "undefined symbols still fail to link" link.log
else
	check "undefined symbols still fail to link, with the linker's words" \
		grep -q 'undefined reference' link.log
fi

# The same source twice gives the same file, and encoding again changes nothing.
$CC -O2 $cflags "$top/tests/workloads/mutual.c" $ldflags -o same1 &&
	$CC -O2 $cflags "$top/tests/workloads/mutual.c" $ldflags -o same2
check "the same build gives the same bytes" cmp same1 same2
cp same1 again
check "encoding again succeeds" pcce-encode again
check "encoding again changes nothing" cmp same1 again

if command -v cmake >/dev/null; then
	if CFLAGS="-O2 -g $cflags" LDFLAGS="$ldflags" CC="$CC" cmake -S "$top/tests/e2e/cmake" \
		-B cm >cm.log 2>&1 && cmake --build cm -j4 >>cm.log 2>&1; then
		check "CMake: the shared library is encoded" is_encoded cm/libutil.so
		works "CMake" cm/tiny cm/tiny
	else
		not_ok "CMake: builds" cm.log
	fi
else
	skip "CMake" "cmake is not installed"
fi

# built_by_libtool NAME MAKE-ARGUMENT...: makes lt
built_by_libtool() {
	local name=$1
	shift
	if ! make -C lt clean >lt.log 2>&1 || ! make -C lt -j4 "$@" >>lt.log 2>&1; then
		not_ok "$name: builds" lt.log
		return
	fi
	check "$name: the shared library is encoded" is_encoded lt/.libs/libutil.so
	check "$name: the shared library of C++ is encoded" is_encoded lt/.libs/libeach.so
	works "$name" lt/.libs/tiny env LD_LIBRARY_PATH=lt/.libs lt/.libs/tiny
}

# Makes the script libtool drop what it dropped before version 2.4.7.
make_libtool_old() {
	sed -i 's/^\( *\)-specs=\*|.*)$/\1-no-such-flag)/' lt/libtool
}

if command -v autoreconf >/dev/null && command -v libtoolize >/dev/null; then
	cp -r "$top/tests/e2e/libtool" lt
	cp -r "$top/tests/e2e/project" lt/project
	mkdir -p lt/aux
	if (cd lt && autoreconf -fi && ./configure CC="$CC" CXX="$CXX" CFLAGS="-O2 -g $cflags" \
		CXXFLAGS="-O2 -g $cflags" LDFLAGS="$ldflags") >lt.log 2>&1; then
		check "libtool: configure found a function that exists" \
			grep -q 'checking for qsort... yes' lt.log
		check "libtool: configure did not find one that does not" \
			grep -q 'checking for no_such_function... no' lt.log
		built_by_libtool "libtool"
		make_libtool_old
		built_by_libtool "libtool 2.4.6"
		built_by_libtool "libtool 2.4.6, -flto" CFLAGS="-O2 -g -flto $cflags" \
			CXXFLAGS="-O2 -g -flto $cflags"
		built_by_libtool "libtool 2.4.6, flags in CC" CC="$CC $ldflags" CXX="$CXX $ldflags" \
			CFLAGS="-O2 -g" CXXFLAGS="-O2 -g" LDFLAGS=
	else
		not_ok "libtool: configures" lt.log
	fi
else
	skip "libtool" "autoconf or libtool is not installed"
fi
done_testing
