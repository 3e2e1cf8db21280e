#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Rebuilds a part of Debian's archive with pcce, runs the packages' own tests without and with it,
# verifies contexts and measures the price.  Takes about ten minutes a package.
#
#   tests/archive/run.sh [N]          the first N packages of packages.txt (default: all)
#   tests/archive/run.sh NAME...      these packages
#
# A package that builds and tests for more than $BUILD_SECONDS (600) is skipped, and one with more
# C and C++ than $SOURCE_MB (1000).
#
# A package that has a row already is not built again: remove build/archive/packages/NAME, or a
# session continues where the last one ended.  The rows, as a table: tests/archive/table.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/distros/lib.sh"
need_roots
archive=$top/tests/archive
work=$out/archive
mkdir -p "$work/packages"

case ${1-} in
'' | *[!0-9]*)
	names=("$@")
	[ $# != 0 ] || mapfile -t names < <(sed '/^#/d; s/ .*//' "$archive/packages.txt")
	;;
*) mapfile -t names < <(sed '/^#/d; s/ .*//' "$archive/packages.txt" | head -n "$1") ;;
esac

mapfile -t list < <(packages gcc-14 --demo)
make_root trixie "${list[@]}" gcc-14 g++-14 build-essential fakeroot valgrind || done_testing
lower=$root

# in_layer COMMAND...: runs it in the root file system.  Its changes are thrown away, but not those
# of /build.  They are in memory or on disk, as $TMPDIR is.
in_layer() {
	local layer=$scratch/layer status
	mkdir -p "$layer"/{upper,work,root}
	mount -t overlay overlay -o "lowerdir=$lower,upperdir=$layer/upper,workdir=$layer/work" \
		"$layer/root" || return
	"$here/enter" "$layer/root" "$work" "$@"
	status=$?
	umount "$layer/root"
	rm -rf "$layer"
	return $status
}

if in_layer make -j"$(nproc)" O=/build/pcce CC=gcc-14 CXX=g++-14 >"$work/pcce.log" 2>&1; then
	ok "pcce builds"
else
	not_ok "pcce builds" "$work/pcce.log"
	done_testing
fi

# Prints the package's command whose instructions are counted.
work_of() {
	sed -n "s/^$1 | //p" "$archive/packages.txt"
}

right() { # DIR: no verified context is wrong
	cat "$1"/*.stats
	! cat "$1"/*.stats | grep '^mismatches' | grep -qvx 'mismatches: 0'
}

for name in "${names[@]}"; do
	row=$work/packages/$name/row
	grep -qs '^result ' "$row" || in_layer env BUILD_SECONDS="${BUILD_SECONDS:-600}" \
		SOURCE_MB="${SOURCE_MB:-1000}" \
		tests/archive/package "$name" "$(work_of "$name")" \
		>"$scratch/package.log" 2>&1
	result=$(sed -n 's/^result //p' "$row" 2>/dev/null)
	case $result in
	built)
		check "$name: its tests say the same" grep -qx 'differ 0' "$row"
		check "$name: verified contexts are right" right "${row%row}"
		;;
	skipped:*) skip "$name" "${result#*: }" ;;
	*) not_ok "$name: ${result:-ends}" "$scratch/package.log" ;;
	esac
done
done_testing
