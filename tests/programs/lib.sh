# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Builds and tests real programs from Debian's source packages, with pcce through flags only.  Each
# tests/programs/NAME.sh describes one and then calls program_main "$@".  It sets
#
#   name      the program's name here
#   package   the Debian source package
#   elf       the executable, relative to the source
#   input     the inputs: names of functions input_NAME that make them, see below (may be empty)
#   command   the workload: a shell command that runs "$prog" for some seconds with the same output
#             on each run; it may use "$inputs" and "$here"
#   varies    why the counts of its calls vary between runs (may be unset)
#   library   a shared library that must also be encoded, if there is one; bench/ measures it
#
# and defines
#
#   build     builds the program in a separate copy of the source, which is the working directory;
#             uses $flags_c and $flags_ld and nothing else that relates to pcce
#
# Usage:
#
#   NAME.sh                          TAP: builds it both ways, compares, records, verifies
#   NAME.sh --build                  only builds, plain and with pcce
#   NAME.sh --command VARIANT        builds that variant and prints the workload as one line for sh
#   NAME.sh --directory VARIANT      prints the directory of the build
#   NAME.sh --elf                    prints the executable's name in that directory
#   NAME.sh --measured               prints the name of the library, or else of the executable
#   NAME.sh --verify N               TAP: only the check against the real stack, at least N samples
#   NAME.sh --frames N               TAP: only the check of restored frames, at least N samples
#   NAME.sh --counts N               TAP: only the check of counted calls; N is not used
#
# VARIANT is plain, pcce, or another name.  Another variant is built with the flags $variant_c and
# $variant_ld (bench/ does this).
#
# Builds are kept in $out/programs.  They are repeated when the plugin, the runtime or the encoder
# has changed.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$top/tests/e2e/hot/bounds.sh"

here=$(cd "$(dirname "$0")" && pwd)
programs=$out/programs
library=
inputs=$programs/inputs
minimum=200

# ---- inputs ----------------------------------------------------------------------------

# make_once FILE COMMAND...: writes the command's output to FILE, once; safe in parallel.
make_once() {
	[ ! -e "$inputs/$1" ] || return 0
	mkdir -p "$inputs"
	local file=$1
	shift
	"$@" >"$inputs/$file.$$" && mv "$inputs/$file.$$" "$inputs/$file"
}

# Prints about 20 MB of text with the statistics of a language that does not exist.
text() {
	awk 'BEGIN {
		s = 42
		for (w = 0; w < 3000; w++) {
			l = 2 + w % 9; word[w] = ""
			for (i = 0; i < l; i++) {
				s = (s * 16807) % 2147483647
				word[w] = word[w] substr("etaoinshrdlucmfwypvbgkjqxz", 1 + int((s % 26) * (s % 17) / 17), 1)
			}
		}
		for (line = 0; line < 320000; line++) {
			out = ""
			for (i = 0; i < 11; i++) {
				s = (s * 16807) % 2147483647
				out = out word[int((s % 3000) * (int(s / 3000) % 100) / 100)] " "
			}
			print out line % 97
		}
	}'
}
input_text() { make_once text text; }

# The same text with some lines changed, removed or added.
input_text2() {
	input_text
	make_once text2 awk \
		'NR % 37 == 5 { next } NR % 23 == 7 { $3 = "changed" NR % 11 } NR % 41 == 9 { print "new " NR } { print }' "$inputs/text"
}

# 20,000 small files in 400 directories.
input_tree() {
	[ ! -e "$inputs/tree" ] || return 0
	local t=$inputs/tree.$$ d
	for ((d = 0; d < 400; d++)); do mkdir -p "$t/d$((d % 20))/e$d"; done
	awk -v t="$t" 'BEGIN {
		for (i = 0; i < 20000; i++) {
			f = t "/d" (i % 400) % 20 "/e" i % 400 "/file" i (i % 3 ? ".c" : ".txt")
			printf "%s %d\n", "content of file number", i > f
			close(f)
		}
	}'
	find "$t" -exec touch -h -d '2020-01-01 00:00:00 UTC' {} +
	mv "$t" "$inputs/tree"
}

make_inputs() {
	local i
	mkdir -p "$inputs"
	exec 8>"$inputs/.lock"
	flock 8
	# shellcheck disable=SC2154,SC2086 # set by the program's script
	for i in $input; do input_$i || return 1; done
	exec 8>&-
}

# ---- building --------------------------------------------------------------------------

fingerprint() { # VARIANT
	# A variant of bench/ may be built without pcce.
	if [ "$1" = pcce ] || [[ "${variant_c-} ${variant_ld-}" = *pcce_plugin* ]]; then
		# shellcheck disable=SC2046
		cat "$out"/lib/pcce/*.* "$out"/lib/pcce/gcc-*/* "$out/lib/pcce/ld/ld" "$out/bin/pcce-encode" \
			$(command -v "$CC") 2>/dev/null | cksum
	else
		$CC --version | cksum
	fi
	cksum <"$here/$name.sh"
	[ -z "${variant_c-}" ] || echo "$variant_c $variant_ld ${BENCH_LD_LAYOUTS-}"
}

# build_variant VARIANT: builds one at a time, also among several test runs.
build_variant() {
	mkdir -p "$programs"
	(
		flock 7
		build_locked "$1"
	) 7>"$programs/$name-$1.lock"
}

build_locked() {
	local variant=$1 dir=$programs/$name-$1 now f flags_c="-O2 -g" flags_ld=""
	now=$(fingerprint "$variant")
	if [ "$(cat "$dir/.built" 2>/dev/null)" = "$now" ]; then return 0; fi
	if [ "$variant" = pcce ]; then
		flags_c="$flags_c $(pcce-config --cflags)"
		flags_ld=$(pcce-config --ldflags)
	elif [ "$variant" != plain ]; then
		flags_c=$variant_c flags_ld=$variant_ld
	fi
	mkdir -p "$programs"
	"$top/scripts/fetch-source" "$package" "$programs/source-$package" || return 1
	rm -rf "$dir"
	cp -a "$programs/source-$package" "$dir" || return 1
	flags_c=$flags_c flags_ld=$flags_ld bash "$here/$name.sh" --compile "$dir" \
		>"$dir.log" 2>&1 </dev/null || return 1
	for f in $elf $library; do
		[ ! -x "$dir/$f" ] || continue
		echo "$f was not built" >>"$dir.log"
		return 1
	done
	echo "$now" >"$dir/.built"
}

# For packages that come with a configure script.  Files in a Debian source may be newer than those
# made from them.  That must not cause them to be made again.
configure_and_make() { # [CONFIGURE-OPTION...]
	find . '(' -name '*.1' -o -name '*.info' -o -name configure -o -name 'Makefile.in' \
		-o -name 'aclocal.m4' -o -name '*.h.in' -o -name '*.hin' ')' -exec touch {} +
	./configure --disable-dependency-tracking --disable-nls "$@" CC="$CC" CFLAGS="$flags_c" \
		LDFLAGS="$flags_ld"
	make -j2 MAKEINFO=true AUTOCONF=: AUTOMAKE=: ACLOCAL=: AUTOHEADER=: \
		HELP2MAN="${help2man:-true}"
}

# ---- running -----------------------------------------------------------------------------

command_of() { # VARIANT
	local prog=$programs/$name-$1/$elf
	local c=$command
	c=${c//\$prog/$prog}
	c=${c//\$inputs/$inputs}
	echo "${c//\$here/$here}"
}

# workload VARIANT OUTPUT [PREFIX...]: runs the command, its program under PREFIX.
workload() {
	local prog=$programs/$name-$1/$elf output=$2 run
	shift 2
	run=${command/\"\$prog\"/\"\$@\" \"\$prog\"}
	(cd "$scratch" && eval "$run") >"$output" 2>"$output.err"
}

recorder() { # SAMPLER DATA FREQUENCY [OPTION...]
	local sampler=$1 data=$2 f=$3
	shift 3
	workload pcce "$data.out" pcce-record -b "$sampler" -F "$f" "$@" -o "$data" --
}

# verify_at_least NAME N: records until N samples have been compared with the real stack.
verify_at_least() {
	local sum=0 round=0 n f=1000
	[ "$2" -le 3000 ] || f=5000
	while [ $sum -lt "$2" ]; do
		round=$((round + 1))
		recorder self "$scratch/verify" $f --verify || {
			not_ok "$1" "$scratch/verify.out.err"
			return
		}
		cmp -s "$scratch/verify.out" "$scratch/want" || {
			not_ok "$1" "the output differs under --verify"
			return
		}
		pcce-report -i "$scratch/verify" --stats -v >"$scratch/verify.stats" 2>&1
		n=$(stat_of "$scratch/verify" verified)
		if [ "$(stat_of "$scratch/verify" mismatches)" != 0 ] ||
			[ "$(stat_of "$scratch/verify" undecodable)" != 0 ] ||
			[ "${n:-0}" -lt 50 ]; then
			not_ok "$1" \
				"round $round, after $sum verified samples:" "$scratch/verify.stats"
			return
		fi
		sum=$((sum + n))
	done
	ok "$1 ($sum samples)"
}

# frames_at_least NAME N: records until N samples were taken, and restores frames of those in
# uninstrumented code.  They must lead to the call that the context names.  A few may end early:
# in code without unwind information, and where the unwinder or longjmp() changes the registers.
frames_at_least() {
	local samples=0 whole=0 some=0 unwound=0 reused=0 f=1000
	[ "$2" -le 3000 ] || f=5000
	while [ $samples -lt "$2" ]; do
		workload pcce "$scratch/frames.out" "$out/tests/pcce-record" -q -b self -F $f --frames=foreign \
			-o "$scratch/frames" -- || {
			not_ok "$1" "$scratch/frames.out.err"
			return
		}
		pcce-report -i "$scratch/frames" --stats >"$scratch/frames.stats" 2>&1
		if [ "$(stat_of "$scratch/frames" restored_wrong)" != 0 ] ||
			! cmp -s "$scratch/frames.out" "$scratch/want"; then
			not_ok "$1" "after $samples samples:" "$scratch/frames.stats"
			return
		fi
		samples=$((samples + $(stat_of "$scratch/frames" samples)))
		whole=$((whole + $(stat_of "$scratch/frames" restored)))
		some=$((some + $(stat_of "$scratch/frames" restored_in_part) + $(stat_of "$scratch/frames" not_restored)))
		unwound=$((unwound + $(stat_of "$scratch/frames" frames_unwound)))
		reused=$((reused + $(stat_of "$scratch/frames" frames_reused)))
	done
	ok "$1 ($samples samples, $whole restored, $some in part; $unwound frames unwound, $reused reused)"
	check "... and few end early" test $((some * 20)) -le $((whole + 20))
}

# count_calls DATA OPTION...: the program has the same addresses and the same time in each run
count_calls() {
	local data=$1
	shift
	workload pcce "$data.out" env LD_PRELOAD="$scratch/fixed_time.so" setarch -R pcce-record -q \
		--count "$@" -o "$data" -- && cmp -s "$data.out" "$scratch/want"
}

# Ends the tests if the program cannot be counted twice, or if its source is missing.
skip_counts() {
	local why=${varies-}
	if [ -z "$why" ] && [ -n "${source_may_be_missing-}" ] &&
		! "$top/scripts/fetch-source" "$package" "$programs/source-$package" 2>/dev/null; then
		why="its source is missing: unpack it to $programs/source-$package"
	fi
	[ -n "$why" ] || return 0
	skip "$name: counts are within their bounds" "$why"
	done_testing
}

# counts_hold NAME: counts of hot contexts in bounded memory are within their bounds, those of Space
# Saving and those of Lossy Counting
counts_hold() {
	local engine p what all=$scratch/all some=$scratch/some
	"$CC" -O2 -shared -fPIC -o "$scratch/fixed_time.so" "$top/tests/programs/fixed_time.c" 2>"$all.err" || {
		not_ok "$1: fixed_time.c compiles" "$all.err"
		return
	}
	if ! count_calls "$all"; then
		not_ok "$1: calls are counted" "$all.out.err"
		return
	fi
	counts "$all" >"$all.counts"
	is "$1: all contexts are exact" "$(stat_of "$all" undecodable)" 0
	for engine in hcct lossy; do
		for p in 0.01,0.002 0.0001; do
			what="$1, $engine, $p"
			if ! count_calls "$some" --engine=$engine --hot=$p; then
				not_ok "$what: calls are counted" "$some.out.err"
				continue
			fi
			counts "$some" >"$some.counts"
			bounds_hold "$what: counts are within their bounds ($(
				stat_of "$some" taken) calls in $(
				stat_of "$all" unique_contexts) contexts, $(
				stat_of "$some" unique_contexts) are kept)" \
				"$all.counts" "$some.counts" "${p%,*}"
		done
	done
}

# Ends the tests if one of them fails.
build_both() {
	local variant
	for variant in plain pcce; do
		if build_variant $variant 2>"$scratch/err"; then
			ok "$name: builds ($variant)"
		else
			not_ok "$name: builds ($variant)" \
				"$scratch/err" "$programs/$name-$variant.log"
			done_testing
		fi
	done
}

program_main() {
	local sampler f
	case ${1-} in
	--compile)
		# A separate process, because set -e has no effect inside a condition.
		cd "$2" || exit 1
		set -e
		build
		exit 0
		;;
	--build)
		make_inputs || exit 1
		build_variant plain && build_variant pcce
		exit
		;;
	--command)
		make_inputs && build_variant "$2" && command_of "$2"
		exit
		;;
	--directory)
		echo "$programs/$name-$2"
		exit
		;;
	--elf)
		echo "$elf"
		exit
		;;
	--measured)
		echo "${library:-$elf}"
		exit
		;;
	esac

	[ "${1-}" != --counts ] || skip_counts
	make_inputs
	build_both
	workload plain "$scratch/want"
	[ -s "$scratch/want" ] || not_ok "$name: has output to compare" "$scratch/want.err"

	if [ "${1-}" = --verify ]; then
		verify_at_least "$name: agrees with the real stack" "$2"
		done_testing
	fi

	if [ "${1-}" = --frames ]; then
		frames_at_least "$name: restored frames agree with the context" "$2"
		done_testing
	fi

	if [ "${1-}" = --counts ]; then
		counts_hold "$name"
		done_testing
	fi

	for f in $elf $library; do
		check "$name: $f is encoded" is_encoded "$programs/$name-pcce/$f"
	done
	workload pcce "$scratch/got"
	check "$name: same output" cmp "$scratch/want" "$scratch/got"
	for sampler in bpf self; do
		if [ $sampler = bpf ] && ! has_bpf; then
			skip "$name: recorded by bpf" "pcce-record cannot use BPF: $bpf_reason"
			continue
		fi
		if recorder $sampler "$scratch/$sampler" 1000; then
			check "$name: $sampler: same output" \
				cmp "$scratch/want" "$scratch/$sampler.out"
			recording_is_exact "$name: $sampler: all samples exact" \
				"$scratch/$sampler" $minimum
		else
			not_ok "$name: recorded by $sampler" "$scratch/$sampler.out.err"
		fi
	done
	verify_at_least "$name: agrees with the real stack" 500
	frames_at_least "$name: restored frames agree with the context" 500
	done_testing
}
