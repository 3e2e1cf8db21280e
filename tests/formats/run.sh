#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests the formats of pcce-report that other programs read.  Such a program opens each format, and
# its output is compared with golden output or with another format.  tests/report/generate.c makes
# the recordings.
#
# UPDATE=1 tests/formats/run.sh rewrites the golden files.  Read the difference.

. "$(dirname "$0")/../lib.sh"

here=$top/tests/formats
golden=$here/golden
cd "$scratch" || exit 1

build_generator
build_with_tools generate_huge "$top/tests/report/generate_huge.c" "$top/tests/unit/table_builder.c"
for kind in small empty; do
	./generate $kind $kind.data || not_ok "generate $kind"
done
./generate_huge huge.data 3000 1000 || not_ok "generate huge"

same() { # NAME: the file of this name as in the golden one
	[ "${UPDATE-0}" = 1 ] && cp "$1" "$golden/$1"
	if diff -u "$golden/$1" "$1" >diff.log 2>&1; then
		ok "golden $1"
	else
		not_ok "golden $1" diff.log
	fi
}

# report FORMAT DATA FILE [ARGUMENTS...]
report() {
	local format=$1 data=$2 file=$3 status wanted=0
	shift 3
	[ "$data" != empty.data ] || wanted=3
	pcce-report -i "$data" --format="$format" "$@" -o "$file" 2>report.err
	status=$?
	[ $status = $wanted ] || not_ok "$format of $data" "exit status $status" report.err
}

# Later scripts use the files of earlier ones.
for part in lines graphs pprof viewers otlp merge diff; do
	# shellcheck disable=SC1090 # several
	. "$here/$part.sh"
done
done_testing
