#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Labels of threads: those of pcce.h, and those of an SDK of OpenTelemetry.

. "$(dirname "$0")/../lib.sh"
here=$top/tests/e2e/labels
cd "$scratch" || exit 1
# shellcheck disable=SC2046 # lists of flags
build() {
	"$CC" -g -O2 -Wall -Wextra -Werror $(pcce-config --cflags) -I"$top/userlib" \
		-I"$top/include" "$@" $(pcce-config --ldflags) -pthread
}
check "the program is built" build "$here/work.c" -o work
check "a static one, too" build "$here/work.c" -static -o work-static
check "the SDK is built" "$CC" -O2 -Wall -Wextra -Werror -c "$here/sdk.c" -o sdk.o
check "its library is built" "$CC" -O2 -fPIC -shared -mtls-dialect=gnu2 "$here/sdk.c" -o libsdk.so
check "a program with the SDK is built" build "$here/server.c" sdk.o -o server
check "one with its library is built" \
	build "$here/server.c" -L. -lsdk -Wl,-rpath,"$scratch" -o server-library
check "one that loads the library is built" \
	build "-DDLOPEN=\"$scratch/libsdk.so\"" "$here/server.c" -o server-dlopen
# Without pcce, the functions do nothing.
check "a program without pcce is built" "$CC" -O2 "$here/work.c" -I"$top/userlib" \
	-I"$top/include" -pthread -o plain

is "the functions keep their limits" "$(./work limits)" "all as specified"
is "... in a static program" "$(./work-static limits)" "all as specified"
is "without the runtime there is none" "$(./plain limits | grep -o 'is -38')" "is -38"
check "the executable exports the variable" sh -c "nm -D work | grep -q ' otel_thread_ctx_v1'"

samplers=self
has_bpf && samplers="self bpf"
[ "$samplers" != self ] || skip "the bpf sampler" "$bpf_reason"

# What the program itself did under each value of a label; not the loader, nor signals' work.
values() { # DATA KEY [OPTION...]
	local data=$1 key=$2
	shift 2
	pcce-report -q -i "$data" --format=folded --no-kernel --by="label:$key" "$@" |
		sed -n 's/^\([^;]*\);.*burn [0-9]*$/\1/p' | sort -u | paste -sd ' '
}

for sampler in $samplers; do
	record() { # NAME COMMAND...
		local name=$1
		shift
		pcce-record -q -b "$sampler" -F 5000 -o "$name.data" "$@" >out 2>log ||
			not_ok "$sampler: $name is recorded" log
		is "$sampler: $name: no warning, except of a busy machine" \
			"$(grep -v "were lost: .*the clock was late" log)" ""
	}
	for program in work work-static; do
		record tenants ./$program tenants 100
		is "$sampler: $program: tenants" "$(values tenants.data tenant)" \
			"[no tenant] tenant=a tenant=b"
		is "$sampler: $program: spans" "$(values tenants.data span)" \
			"[no span] span=inner span=outer"
		is "$sampler: $program: the inner span ends with its labels" \
			"$(values tenants.data span --label=deep=yes)" "span=inner"
	done
	is "$sampler: one tenant is selected" "$(values tenants.data tenant --label=tenant=b)" \
		"tenant=b"
	is "... by a pattern" "$(values tenants.data tenant '--label=tenant=[ab]')" \
		"tenant=a tenant=b"
	is "... or left out" "$(values tenants.data tenant --label=tenant!=b)" \
		"[no tenant] tenant=a"
	is "... all conditions must fit" \
		"$(values tenants.data span --label=tenant=b --label=span!=inner)" \
		"[no span] span=outer"
	pcce-report -q -i tenants.data --label=tenant=c >out 2>err
	is "... nothing is selected" "$?" 3
	is "$sampler: samples are as many with labels as without" \
		"$(pcce-report -q -i tenants.data --format=folded --by=label:tenant |
			awk '{ n += $NF } END { print n }')" \
		"$(pcce-report -q -i tenants.data --format=folded | awk '{ n += $NF } END { print n }')"

	# Each set that a sample has is one that the program has made.
	record storm ./work storm 3000000
	: >list
	for i in 0 1 2 3 4 5 6 7; do
		value=$(printf "%$((1 + i * 29))s" | tr ' ' "\\$(printf %o $((97 + i)))")
		echo "x=$value" >>list
		pcce-report -q -i storm.data --label="x=$value" --label="y!=$value" >out 2>&1
		is "$sampler: set $i is never mixed" "$?" 3
	done
	is "$sampler: each set was met, and no other" \
		"$(pcce-report -q -i storm.data --format=folded --by=label:x | cut -d ';' -f 1 |
			grep '^x=' | cut -d ' ' -f 1 | sort -u)" "$(sort -u list)"

	record threads ./work threads 30000000
	is "$sampler: a thread takes over labels, or does not" "$(pcce-report -q -i threads.data \
		--format=folded --no-kernel --by=label:tenant |
		sed -n 's/;burn [0-9]*$//p' | sort | paste -sd ' ')" \
		"[no tenant];without_labels tenant=t;with_labels"
	record fork ./work fork 20000000
	is "$sampler: a child has its parent's labels, up to its exec" \
		"$(pcce-report -q -i fork.data --format=folded --no-kernel --by=label:tenant |
			sed -n 's/;burn [0-9]*$//p' | sort | paste -sd ' ')" \
		"[no tenant];main;tenants tenant=a;main;tenants;serve tenant=b;main;tenants;serve tenant=child;main;in_child tenant=parent;main;in_child"

	for program in server server-library server-dlopen; do
		record sdk ./$program serve 100
		is "$sampler: $program runs to its end" "$(cat out)" "done"
		is "$sampler: $program: routes" "$(values sdk.data http.route)" \
			"[no http.route] http.route=/quick http.route=/slow"
		is "$sampler: $program: the other key" "$(values sdk.data tenant)" \
			"[no tenant] tenant=t"
	done
	record hostile ./server hostile 50
	is "$sampler: what is no record does no harm" "$(cat out)" "done"
	is "... and gives no labels" "$(values hostile.data http.route)" \
		"[no http.route] http.route=/quick http.route=/slow"
done

# Waits have the labels of the thread that waits.
if has_bpf; then
	pcce-record -q -b bpf -e off-cpu -c 1000000 -o wait.data ./work wait 20 2>log
	is "off-cpu: waits have labels" "$(pcce-report -q -i wait.data --format=folded --no-kernel \
		--by=label:route | grep -o '^[^;]*;main;wait_for' | sort -u | paste -sd ' ')" \
		"route=/quick;main;wait_for route=/slow;main;wait_for"
fi


done_testing
