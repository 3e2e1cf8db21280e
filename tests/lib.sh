# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Shared by all test scripts.  Source it first:
#
#   . "$(dirname "$0")/../lib.sh"
#
# It sets top (the source tree), out (the build directory), scratch (an empty directory
# that is removed at exit), puts $out/bin on PATH, and gives functions that print TAP.

set -u
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${O:-build}
case $out in /*) ;; *) out=$top/$out ;; esac
export PATH=$out/bin:$PATH
: "${CC:=gcc}" "${CXX:=g++}" "${CFLAGS:=}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/pcce-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

# Flags for programs of a build with SAN=1.
sanitize=()
if grep -qs -e -fsanitize= "$out/obj/.flags"; then
	sanitize=(-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined)
	# curses keeps memory for the terminal until the end.
	printf 'leak:%s\n' libtinfo libncurses newterm _nc_setupterm >"$scratch/lsan.supp"
	export LSAN_OPTIONS=suppressions=$scratch/lsan.supp:print_suppressions=0
	# Our library in a program without sanitizers: its memory is the C library's.
	export ASAN_OPTIONS=verify_asan_link_order=0
fi

# ---- TAP -----------------------------------------------------------------------------

tap_count=0
tap_failed=0

ok() { # NAME
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

not_ok() { # NAME [FILE-OR-TEXT...]: what explains the failure, as comment lines
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $1"
	shift
	local what
	for what in "$@"; do
		if [ -f "$what" ]; then tail -n 25 "$what"; else printf '%s\n' "$what"; fi |
			sed 's/^/#   /'
	done
}

skip() { # NAME REASON
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# results_of_run NAME LOG N: one result for each suite in the output of tests/run, at least N
results_of_run() {
	local name=$1 log=$2 least=$3 suite passed failed skipped time n=0
	while read -r suite passed _ failed _ skipped _ time _; do
		n=$((n + 1))
		if [ "$failed" = 0 ]; then
			ok "$name: $suite"
		else
			not_ok "$name: $suite" "$(awk -v s="$suite" '
				$1 == s { on = 1; next } /^[^ ]/ { on = 0 } on' "$log")"
		fi
		echo "#   $passed passed, $failed failed, $skipped skipped, $time s"
	done < <(sed -n '/^[^ ]* *[0-9]* passed  *[0-9]* failed/p' "$log")
	sed -n '/^skipped:/,/^[^ s]/s/^  /#   skipped: /p' "$log"
	[ $n -ge "$least" ] || not_ok "$name: all suites run" "$log"
}

check() { # NAME COMMAND...: passes if the command does
	local name=$1
	shift
	if "$@" >"$scratch/check.log" 2>&1; then
		ok "$name"
	else
		not_ok "$name" "$* (exit status $?)" "$scratch/check.log"
	fi
}

# limited COMMAND...: for links by a chosen linker.  mold 1.10 can take all memory and never end.
limited() {
	(
		# Sanitizers need address space.
		[ ${#sanitize[@]} != 0 ] || ulimit -v 4000000
		exec timeout -k 5 60 "$@"
	)
}

is() { # NAME GOT WANTED
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; fi
}

done_testing() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
	exit
}

skip_all() { # REASON
	echo "1..0 # SKIP $1"
	exit 0
}

# ---- recordings ----------------------------------------------------------------------

# What programs that use libpcce-tools.a are linked with.
tool_libraries=("-Wl,--as-needed" -ldw -lelf -lbpf -lz -ldeflate -larchive -lprotobuf-c -ljansson -lurcu-bp
	-liberty -lm -pthread)

# build_with_tools PROGRAM SOURCE-OR-FLAG...: builds a program that uses libpcce-tools.a, or ends
# the tests
build_with_tools() {
	local program=$1
	shift
	"$CC" -std=gnu11 -O1 -g -I"$top/include" -I"$top/lib" -I"$top" -I"$out/obj" "$@" \
		"${sanitize[@]}" "$out/obj/libpcce-tools.a" "${tool_libraries[@]}" -o "$program" \
		2>build.log && return
	not_ok "build $program" build.log
	done_testing
}

# build_with_api PROGRAM SOURCE-OR-FLAG...: builds an instrumented program that uses pcce.h, by the
# flags of pkg-config.  The compiler's messages are in PROGRAM.log.
build_with_api() {
	local program=$1
	shift
	# shellcheck disable=SC2046 # lists of flags
	$CC -g -I"$top/userlib" $(pkg-config --cflags pcce) "$@" $(pkg-config --libs pcce) -pthread \
		-o "$program" >"$program.log" 2>&1
}

# Builds ./generate, which makes recordings with known content.
build_generator() {
	build_with_tools generate "$top/tests/report/generate.c" "$top/tests/unit/table_builder.c"
}

# unpacked FROM TO: copies a recording with unpacked records, which tests can find and change
unpacked() {
	[ -e unpack ] || build_with_tools unpack "$top/tests/datafile/unpack.c"
	./unpack "$1" "$2"
}

# generate_unpacked KIND FILE: such a recording of ./generate.  Its size does not depend on
# libdeflate.
generate_unpacked() {
	./generate "$1" "$2.packed" && unpacked "$2.packed" "$2"
}

# assemble OPTION... FILE.s: assembles a file that includes tests/site_records.inc
assemble() {
	as -I "$top/tests" --defsym \
		VERSION="$(sed -n 's/^#define PCCE_BLOCK_VERSION //p' "$top/include/pcce/sites.h")" "$@"
}

# formats: prints the names of all formats of pcce-report
formats() { pcce-report --help | sed -n '/^Formats:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'; }

# stat_of DATA NAME: prints one value of pcce-report --stats, or nothing if it has no such value
stat_of() {
	[ "$1.stats" -nt "$1" ] || pcce-report -i "$1" --stats >"$1.stats" 2>"$1.stats.err" ||
		cat "$1.stats.err" >&2
	sed -n "s/^$2: *//p" "$1.stats"
}

# has_bpf: succeeds if pcce-record can sample with BPF here, else sets bpf_reason
bpf_reason=
has_bpf() {
	local cached=$out/tests/has-bpf.$(id -u)
	if ! [ -e "$cached" ] || ! [ "$cached" -nt "$out/bin/pcce-record" ]; then
		mkdir -p "$out/tests"
		if pcce-record -b bpf -F 1000 -o "$scratch/probe.data" -- true \
			>"$scratch/probe.log" 2>&1; then
			: >"$cached"
		else
			tail -n 1 "$scratch/probe.log" >"$cached"
		fi
	fi
	bpf_reason=$(cat "$cached")
	[ -z "$bpf_reason" ]
}

# record SAMPLER DATA COMMAND...: records at ${frequency:-1000} Hz.  The command's output goes to
# $DATA.out.  After ${record_seconds:-300} seconds it ends with status 124.
record() {
	local sampler=$1 data=$2
	shift 2
	timeout -k 5 "${record_seconds:-300}" pcce-record -b "$sampler" -F "${frequency:-1000}" \
		${record_options-} -o "$data" -- "$@" >"$data.out" 2>"$data.err"
}

# recorded_as_plain NAME MINIMUM COMMAND...: while the self sampler records it, in s.data, the
# command prints what it prints without, ends as it does then, and has at least MINIMUM samples
recorded_as_plain() {
	local name=$1 minimum=$2 status
	shift 2
	timeout 300 "$@" >plain.out 2>&1
	status=$?
	record self s.data "$@"
	is "$name: status" $? "$status"
	is "$name: output" "$(cat s.data.out)" "$(cat plain.out)"
	check "$name: $(stat_of s.data samples) samples, at least $minimum" \
		[ "$(stat_of s.data samples)" -ge "$minimum" ]
}

# sources_in FOLDER: begins a suite that builds the sources in tests/e2e/FOLDER, $w, and records
# them often.  Sets cflags and ldflags, and goes to $scratch.
# shellcheck disable=SC2034 # the suites use them
sources_in() {
	w=$top/tests/e2e/$1
	cflags="-O2 -g $(pcce-config --cflags)"
	ldflags=$(pcce-config --ldflags)
	frequency=2000
	cd "$scratch" || exit 1
}

# wait_for_samples DATA N [OPTION...]: waits until a running recording holds N of the samples that
# pcce-report shows with these options
wait_for_samples() {
	local i n
	for ((i = 0; i < 1500; i++)); do
		n=$(pcce-report -q -i "$1" --stats "${@:3}" 2>/dev/null | sed -n 's/^samples: //p')
		[ "${n:-0}" -lt "$2" ] || return 0
		sleep 0.2
	done
	echo "# $1 did not get $2 samples within five minutes" >&2
	return 1
}

# wait_for_cpu PID MS: waits until the process has used MS ms of CPU time more
wait_for_cpu() {
	local i now end=
	for ((i = 0; i < 3000; i++)); do
		now=$(awk '{ print 10 * ($14 + $15) }' "/proc/${1:-none}/stat") || return
		[ "$now" -lt "${end:=$((now + $2))}" ] || return 0
		sleep 0.1
	done
	echo "# process $1 did not run for $2 ms within five minutes" >&2
	return 1
}

# samples_add_up DATA: what is not taken is accounted for.  The number that was due may be unknown.
samples_add_up() {
	local due
	due=$(stat_of "$1" due)
	[ "$due" = "not known" ] ||
		[ "$due" = $(($(stat_of "$1" taken) + $(stat_of "$1" left_out) + $(stat_of "$1" merged) + $(stat_of "$1" kernel) + $(stat_of "$1" lost))) ]
}

# recording_is_exact NAME DATA MINIMUM: every sample of an instrumented thread decodes exactly,
# nothing was lost, and there are at least MINIMUM samples.
#
# allow_truncated=1 allows samples that are marked as truncated.  allow_marked=N allows up to N
# percent of undecodable samples, for programs that jump or take signals all the time.  These are
# samples between a jump (or a signal's arrival) and the end of the runtime's work on it.
# allow_lost=N demands N lost samples.  Any number may be lost since the machine was busy (late), or
# since their threads ended (blocked), and up to 5 percent without a reason (max_unexplained=N), or
# as many as are due in 50 ms: each time a thread gets or leaves a CPU, half a microsecond of its
# time has no clock, and if it leaves before a late timer has run, the periods that had passed are
# lost.  Timers are late by tens of milliseconds where the host gives a virtual CPU to others.
recording_is_exact() {
	local name=$1 data=$2 minimum=$3 samples exact outside truncated undecodable
	local lost unexplained late blocked pause=$((${frequency:-1000} / 20))
	if ! pcce-report -i "$data" --stats >"$data.stats" 2>"$data.stats.err"; then
		not_ok "$name" "pcce-report failed:" "$data.stats.err"
		return
	fi
	samples=$(stat_of "$data" samples) exact=$(stat_of "$data" exact) outside=$(stat_of "$data" outside)
	truncated=$(stat_of "$data" truncated) undecodable=$(stat_of "$data" undecodable) lost=$(stat_of "$data" lost)
	unexplained=$(stat_of "$data" lost_unexplained)
	if [ $((${unexplained:-0} * 100)) -le $((samples * ${max_unexplained-5})) ] ||
		[ "${unexplained:-0}" -le $pause ]; then
		lost=$((lost - ${unexplained:-0}))
	fi
	late=$(stat_of "$data" lost_late) blocked=$(stat_of "$data" lost_blocked)
	lost=$((lost - ${late:-0} - ${blocked:-0}))
	[ "${allow_truncated-0}" = 1 ] && exact=$((exact + truncated))
	if [ $((undecodable * 100)) -le $((samples * ${allow_marked-0})) ]; then
		outside=$((outside + undecodable)) undecodable=0
	fi
	if [ "$undecodable" = 0 ] && [ "$lost" = "${allow_lost-0}" ] &&
		[ -z "$(stat_of "$data" incomplete)" ] && samples_add_up "$data" &&
		[ "$exact" = $((samples - outside)) ] && [ "$exact" -ge "$minimum" ]; then
		ok "$name"
		echo "#   $exact exact samples, at least $minimum"
	else
		not_ok "$name" "wanted at least $minimum samples, all exact" "$data.stats"
	fi
}

# recording_is_verified NAME DATA MINIMUM: checks a recording made with --verify
recording_is_verified() {
	local name=$1 data=$2 minimum=$3 undecodable verified
	if ! pcce-report -i "$data" --stats >"$data.stats" 2>"$data.stats.err"; then
		not_ok "$name" "pcce-report failed:" "$data.stats.err"
		return
	fi
	undecodable=$(stat_of "$data" undecodable) verified=$(stat_of "$data" verified)
	if [ $((undecodable * 100)) -le $(($(stat_of "$data" samples) * ${allow_marked-0})) ]; then
		undecodable=0
	fi
	if [ "$(stat_of "$data" mismatches)" = 0 ] && [ "$undecodable" = 0 ] &&
		[ "$verified" -ge "$minimum" ]; then
		ok "$name"
		echo "#   $verified verified samples, at least $minimum"
	else
		not_ok "$name" \
			"wanted at least $minimum verified samples and no mismatch" "$data.stats"
	fi
}

# ---- workloads: the words in the headers of tests/workloads/* (burn.h) -----------------

# words FILE KEY: prints the header's values of KEY, one a line
words() {
	sed -n "s/^ \* $2: *//p" "$1"
}

# gcc_is VERSION: succeeds if the compiler has this version or a newer one
gcc_is() {
	: "${gcc_major:=$($CC -dumpversion | cut -d. -f1)}"
	[ "$gcc_major" -ge "$1" ]
}

# gcc_for FILE: prints the oldest version of GCC that compiles the workload
gcc_for() {
	local version
	version=$(words "$1" needs)
	echo "${version#GCC }"
}

# expected_chains NAME SOURCE DATA
expected_chains() {
	local pattern
	if ! pcce-report -i "$3" --format=folded >"$3.folded" 2>"$3.folded.err" ||
		! pcce-report -i "$3" --format=folded --origins \
			>"$3.origins" 2>"$3.folded.err"; then
		not_ok "$1: folded report" "$3.folded.err"
		return
	fi
	while IFS= read -r pattern; do
		if grep -Eq -e "$pattern" "$3.folded"; then
			ok "$1: chain $pattern"
		else
			not_ok "$1: chain $pattern" \
				"the first lines were:" "$(head -n 8 "$3.folded" | cut -c 1-200)"
		fi
	done < <(words "$2" expect)
	while IFS= read -r pattern; do
		if grep -Eq -e "$pattern" "$3.origins"; then
			ok "$1: origin $pattern"
		else
			not_ok "$1: origin $pattern" \
				"the first lines were:" "$(head -n 20 "$3.origins" | cut -c 1-200)"
		fi
	done < <(words "$2" origin)
	while IFS= read -r pattern; do
		is "$1: no origin $pattern" \
			"$(grep -E -m 1 -e "$pattern" "$3.origins" | cut -c 1-200)" ""
	done < <(words "$2" no-origin)
	local depth
	depth=$(words "$2" min-depth)
	[ -z "$depth" ] || check "$1: depth $depth is seen" \
		[ "$(stat_of "$3" max_depth)" -ge "$depth" ]
}

# is_encoded FILE: succeeds if the ELF file has an encoding table
is_encoded() {
	readelf -SW "$1" 2>/dev/null | grep -q ' \.pcce  *PROGBITS'
}
