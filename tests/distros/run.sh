#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Builds and tests pcce in root file systems of Debian's releases.
#
# seconds: 2400
#
#   tests/distros/run.sh                  short form: Debian 13 with GCC 14, some suites
#   tests/distros/run.sh --full [WORD...] `make check-distros`: Debian 12, 13 and sid (hours)
#
# Each WORD selects a release (bookworm, trixie, sid) or a part of each release:
#
#   demo     `make demo` on a system that has only make and git
#   suites   the suites of `make check` that depend on the system, with its own compiler
#   gcc-N    the suites that depend on the compiler, with another compiler of the release
#
# mmdebstrap makes the systems, once: they are kept in $XDG_CACHE_HOME/pcce/distros, or in
# ~/.cache/pcce/distros.  A change of the list of packages makes a new one.  `rm -r` there gets
# new packages, as for sid.  $DEBIAN_MIRROR is the mirror.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/distros/lib.sh"
short_suites=(plugin encode runtime e2e/shlib)
compiler_suites=(plugin encode runtime oracle e2e/workloads e2e/shlib e2e/sanitizers)
system_suites=(unit plugin encode runtime datafile fuzz report formats view oracle vm e2e/ programs/)

full=0
if [ "${1-}" = --full ]; then
	full=1
	shift
fi
only_releases='' only_parts=''
for word in "$@"; do
	case $word in
	bookworm | trixie | sid) only_releases+=" $word" ;;
	demo | suites | gcc-*) only_parts+=" $word" ;;
	*)
		echo "usage: tests/distros/run.sh --full [bookworm|trixie|sid|demo|suites|gcc-N]..." >&2
		exit 2
		;;
	esac
done

need_roots

# wanted LIST WORD: succeeds if the word is in the list, or the list is empty
wanted() {
	[ -z "$1" ] || case "$1 " in *" $2 "*) ;; *) return 1 ;; esac
}

# inside NAME BUILD COMMAND...: runs the command in $root, with the output directory BUILD
inside() {
	local name=$1 build=$out/distros/$2
	shift 2
	if "$here/enter" "$root" "$build" "$@" >"$scratch/inside.log" 2>&1; then
		ok "$name"
	else
		not_ok "$name" "$scratch/inside.log"
		return 1
	fi
}

# suites NAME BUILD SUITE...: one result for each suite that runs in $root
suites() {
	local name=$1 build=$2
	shift 2
	"$here/enter" "$root" "$out/distros/$build" env "${compiler[@]}" tests/run "$@" \
		>"$scratch/run.log" 2>&1
	results_of_run "$name" "$scratch/run.log" $#
}

# build_and_test NAME BUILD GCC TARGETS SUITE...
build_and_test() {
	local name=$1 build=$2 gcc=$3 targets=$4
	shift 4
	compiler=(CC="$gcc" CXX="${gcc/gcc/g++}")
	# shellcheck disable=SC2086 # words
	inside "$name: builds" "$build" make -j"$(nproc)" "${compiler[@]}" $targets || return
	suites "$name" "$build" "$@"
}

if [ $full = 0 ]; then
	mapfile -t list < <(packages gcc-14 --demo)
	if make_root trixie "${list[@]}" gcc-14 g++-14; then
		build_and_test "Debian 13, GCC 14" trixie gcc-14 "CFLAGS=-O1 WERROR= all" \
			"${short_suites[@]}"
	fi
	done_testing
fi

# make_demo NAME CODENAME: follows README as a new user does, in a copy of a bare system
make_demo() {
	make_root "$2" make git || return
	local copy=$cache/$2-demo.$$
	cp -a "$root" "$copy" && mkdir "$copy/root/clone" &&
		tar -C "$top" --exclude=./.git --exclude='./build*' --exclude="./${out##*/}" -c . |
		tar -C "$copy/root/clone" -x || return
	root=$copy
	inside "$1: make demo on a bare system" "$2-demo" sh -c \
		'unset O && cd /root/clone && make demo && test -s build/demo/lua-flamegraph.html'
	tail -n 12 "$scratch/inside.log" | sed 's/^/#   /'
	rm -rf "$copy"
}

# release NAME CODENAME GCC...: all parts; the first GCC is the release's own
release() {
	local name=$1 codename=$2 gcc list
	shift 2
	wanted "$only_releases" "$codename" || return
	! wanted "$only_parts" demo || make_demo "$name" "$codename"
	for gcc in suites "$@"; do
		! wanted "$only_parts" "$gcc" || break
		gcc=
	done
	[ -n "$gcc" ] || return
	mapfile -t list < <(packages "$*")
	make_root "$codename" "${list[@]}" "$@" "${@/gcc/g++}" || return
	! wanted "$only_parts" suites ||
		build_and_test "$name" "$codename" "$1" "all units oracle" "${system_suites[@]}"
	for gcc in "${@:2}"; do
		! wanted "$only_parts" "$gcc" ||
			build_and_test "$name, $gcc" "$codename-$gcc" "$gcc" "all units oracle" \
				"${compiler_suites[@]}"
	done
}

release "Debian 12" bookworm gcc-12 gcc-11
release "Debian 13" trixie gcc-14 gcc-12 gcc-13
release "sid" sid gcc-16 gcc-13 gcc-14 gcc-15
done_testing
