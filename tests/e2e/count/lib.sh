# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# What the suites of pcce-record --count share: they build programs, and count their calls.  Source
# it after tests/lib.sh.

here=$top/tests/e2e/count
workloads=$top/tests/workloads

# build PROGRAM SOURCE FLAG...
build() {
	local program=$1 source=$2 compiler=$CC
	shift 2
	case $source in *.cc) compiler=$CXX ;; esac
	# shellcheck disable=SC2046 # lists of flags
	$compiler $(sed -n 's/^ \* flags: *//p' "$source" | sed 's/-O[0-9s]//g') "$@" \
		-I"$top/include" -I"$top/userlib" -I"$workloads" -g $(pcce-config --cflags) \
		"$source" $(pcce-config --ldflags) -o "$program" 2>build.log
}

# record_counts DATA OPTIONS COMMAND...: the command's output is in DATA.out
record_counts() {
	local data=$1 options=$2
	shift 2
	rm -f "$data"
	# shellcheck disable=SC2086
	timeout -k 5 300 pcce-record --count $options -o "$data" -- "$@" >"$data.out" \
		2>"$data.err" </dev/null
	echo $? >"$data.status"
}
