#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests every workload in tests/workloads.  Its output must be the same as without pcce.  Recorded
# with BPF and with the self sampler, every sample must decode exactly and the expected chains of
# calls must appear.  The self sampler's check against the real stack must find no mismatch.
#
#   tests/e2e/workloads.sh [NAME...]

. "$(dirname "$0")/../lib.sh"
frequency=4000
minimum=100
cd "$scratch" || exit 1

workload() {
	local source=$1 name=$2 compiler=$CC flags cflags ldflags reason hz least version
	version=$(gcc_for "$source")
	if ! gcc_is "${version:-0}"; then
		skip "$name" "needs GCC $version"
		return
	fi
	case $source in *.cc) compiler=$CXX ;; esac
	flags=$(words "$source" flags)
	cflags="-g $(pcce-config --cflags)"
	ldflags=$(pcce-config --ldflags)
	# shellcheck disable=SC2086 # lists of flags
	if ! $compiler ${flags:--O2} -I"$top/include" -I"$top/userlib" -g "$source" \
		-o "$name.plain" >"$name.log" 2>&1 ||
		! $compiler ${flags:--O2} -I"$top/include" -I"$top/userlib" $cflags "$source" \
			$ldflags -o "$name" >"$name.log" 2>&1; then
		not_ok "$name: builds" "$name.log"
		return
	fi
	ok "$name: builds"
	"./$name.plain" >"$name.want" 2>&1
	timeout 300 "./$name" >"$name.got" 2>&1
	echo "status $?" >>"$name.got"
	is "$name: output without recording" \
		"$(cat "$name.got")" "$(cat "$name.want"; echo "status 0")"

	allow_truncated=0 allow_marked=$(words "$source" marked)
	: "${allow_marked:=0}"
	[ "$(words "$source" truncated)" != yes ] || allow_truncated=1

	local sampler
	for sampler in bpf self; do
		if [ $sampler = bpf ] && ! has_bpf; then
			skip "$name: recorded by bpf" "pcce-record cannot use BPF: $bpf_reason"
			continue
		fi
		if record $sampler "$name.$sampler" "./$name"; then
			is "$name: output while recorded by $sampler" \
				"$(cat "$name.$sampler.out")" "$(cat "$name.want")"
			recording_is_exact "$name: $sampler: all samples exact" \
				"$name.$sampler" $minimum
			expected_chains "$name: $sampler" "$source" "$name.$sampler"
		else
			not_ok "$name: recorded by $sampler" "$name.$sampler.err"
		fi
	done

	reason=$(words "$source" no-verify)
	read -r hz least < <(words "$source" verify | grep . || echo 4000 100)
	if [ -n "$reason" ]; then
		return
	elif frequency=$hz record_options=--verify record self "$name.verify" "./$name"; then
		recording_is_verified "$name: agrees with the real stack" "$name.verify" "$least"
	else
		not_ok "$name: agrees with the real stack" "$name.verify.err"
	fi
}

for source in "$top"/tests/workloads/*.c "$top"/tests/workloads/*.cc; do
	name=$(basename "${source%.*}")
	case $name in shlib* | module* | foreign* | preload* | gates*) continue ;; esac
	[ "$(words "$source" sampled)" != no ] || continue
	case " ${*:-$name} " in *" $name "*) workload "$source" "$name" ;; esac
done
done_testing
