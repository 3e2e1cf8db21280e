# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Runs the test suites of real programs on a build without and on one with pcce.  Each
# tests/suites/NAME.sh describes one and then calls suite_main "$@".  It sets
#
#   name      the suite's name here
#   package   the Debian source package
#   elf       an executable that must be encoded, relative to the source; elves has others
#   minimum   the number of tests that must pass without pcce, so that a suite that does not run
#             cannot pass
#
# and defines, unless it is an automake project's (below)
#
#   build     as in tests/programs/lib.sh, which does the building
#   suite     runs all tests, in the directory of the build
#   results   prints a line for each test: its name without blanks, a blank, its result
#   again TEST...   runs these again
#
# Usage:
#
#   NAME.sh           TAP
#   NAME.sh --build   only builds
#
# A test whose results differ runs three more times in both builds.  It changes by itself if the
# results were the same three times, or if the build without pcce also had that result.  Otherwise
# it is a difference.
#
# Builds, and results of unchanged builds, are kept in $out/suites.  Remove what must run again.

. "$(dirname "${BASH_SOURCE[0]}")/../programs/lib.sh"

programs=$out/suites
elves=
: "${TEST_SECONDS:=7200}" # limit for one run of a suite

# ---- automake's suites, which a program's script can redefine ---------------------------

# Files that came with the source must not be made again.
check_with_make() { # [MAKE-ARGUMENT...]
	make MAKEINFO=true AUTOCONF=: AUTOMAKE=: ACLOCAL=: AUTOHEADER=: \
		HELP2MAN="${help2man:-true}" "$@"
}

build() {
	configure_and_make
}

suite() {
	check_with_make -j2 -k check
}

results() {
	find . -name '*.trs' | sort | while IFS= read -r f; do
		sed -n "s|^:test-result: *\([A-Z]*\).*|${f#./} \1|p" "$f" |
			awk '{ print $1 (n++ ? ":" n : ""), $2 }'
	done
}

# Each test runs in the directory of its Makefile.
again() { # FILE.trs...
	local f dir
	for f; do
		f=${f%%:*}
		dir=${f%/*}
		[ "$dir" != "$f" ] || dir=.
		while [ "$dir" != . ] && ! grep -q '^check-TESTS:' "$dir/Makefile" 2>/dev/null; do
			case $dir in */*) dir=${dir%/*} ;; *) dir=. ;; esac
		done
		[ "$dir" = . ] || f=${f#"$dir"/}
		rm -f "$dir/$f"
		check_with_make -C "$dir" "$f"
	done
}

# ---- running ---------------------------------------------------------------------------

# in_build VARIANT FUNCTION [ARGUMENT...]: runs in a separate process, without our environment
in_build() {
	local variant=$1
	shift
	timeout -k 10 "$TEST_SECONDS" bash "$here/$name.sh" --in "$programs/$name-$variant" "$@" \
		</dev/null
}

# run_suite VARIANT: leaves $name-VARIANT.results
run_suite() {
	local to=$programs/$name-$1 begin=$SECONDS
	[ "$to.results" -nt "$to/.built" ] && return
	# If tests fail, make fails with them.
	in_build "$1" suite >"$to.suite.log" 2>&1
	in_build "$1" results | sort >"$to.results.new"
	echo $((SECONDS - begin)) >"$to.seconds"
	mv "$to.results.new" "$to.results"
}

result_of() { # VARIANT TEST
	in_build "$1" results 2>/dev/null | sed -n "s|^$2 ||p"
}

# differs TEST: succeeds if three more runs still differ.  The results are in $scratch/again.
differs() {
	local test=$1 round variant was plain pcce different=0
	plain=$(sed -n "s|^$test ||p" "$programs/$name-plain.results")
	pcce=$(sed -n "s|^$test ||p" "$programs/$name-pcce.results")
	echo "$test: without pcce: ${plain:-nothing}, with: ${pcce:-nothing}; again:" \
		>"$scratch/again"
	local seen_plain=" ${plain:-nothing} " seen_pcce="${pcce:-nothing}"
	for round in 1 2 3; do
		for variant in plain pcce; do
			in_build $variant again "$test" >"$programs/$name-$variant.again.log" 2>&1
			was=$(result_of $variant "$test")
			declare "$variant=${was:-nothing}"
		done
		echo "$plain, $pcce" >>"$scratch/again"
		seen_plain="$seen_plain$plain " seen_pcce="$seen_pcce $pcce"
		[ "$plain" = "$pcce" ] || different=1
	done
	[ $different = 1 ] || return 1
	for was in $seen_pcce; do
		case $seen_plain in *" $was "*) ;; *) return 0 ;; esac
	done
	return 1
}

suite_main() {
	local variant f passed changing=0
	case ${1-} in
	--compile)
		cd "$2" || exit 1
		set -e
		build
		exit 0
		;;
	--in)
		cd "$2" || exit 1
		shift 2
		unset O CC CXX CFLAGS CDPATH
		"$@"
		exit
		;;
	--build)
		build_variant plain && build_variant pcce
		exit
		;;
	esac

	build_both
	for f in $elf $elves; do
		check "$name: $f is encoded" is_encoded "$programs/$name-pcce/$f"
		check "$name: $f, to compare with, is not" not_encoded "$programs/$name-plain/$f"
	done
	for variant in plain pcce; do
		run_suite $variant
	done
	passed=$(grep -c ' PASS' "$programs/$name-plain.results")
	check "$name: at least $minimum tests pass without pcce" [ "$passed" -ge "$minimum" ]
	comm -3 "$programs/$name-plain.results" "$programs/$name-pcce.results" | tr -d '\t' |
		cut -d ' ' -f 1 | sort -u >"$scratch/different"
	while IFS= read -r f <&5; do
		if differs "$f"; then
			not_ok "$name: $f" "$scratch/again"
		else
			changing=$((changing + 1))
			sed 's/^/# changes by itself: /' "$scratch/again"
		fi
	done 5<"$scratch/different"
	ok "$name: compared $(wc -l <"$programs/$name-plain.results") tests: $(sed 's/^[^ ]* \([^:]*\).*/\1/; s/^[0-9]*$/number/' "$programs/$name-plain.results" | sort | uniq -c |
		tr -s ' \n' ' ' | sed 's/^ //; s/ $//'); $changing change by themselves; $(cat "$programs/$name-plain.seconds") s without pcce, $(cat "$programs/$name-pcce.seconds") s with"
	done_testing
}

not_encoded() { # FILE
	[ -x "$1" ] && ! is_encoded "$1"
}
