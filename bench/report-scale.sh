#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What pcce-report takes for a large recording, format by format: SAMPLES (default: 10,000,000) samples of CONTEXTS
# (default: 1,000,000) different contexts at random, four instructions each, in four threads
# (tests/report/generate_huge.c).  The file is read once before, so that it is in memory.  Each line: the format, seconds of
# processor time (user and system, which other work on the machine disturbs less than elapsed time), the most memory, and the
# size of the output.  One run each; formats to measure may be named as arguments.

. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

samples=${SAMPLES:-10000000} contexts=${CONTEXTS:-1000000}
# shellcheck disable=SC2086 # several libraries
$CC -std=gnu11 -O2 -I"$top/include" -I"$top/lib" -I"$top" "$top/tests/report/generate_huge.c" "$top/tests/unit/table_builder.c" \
	"$out/obj/libpcce-tools.a" -Wl,--as-needed -ldw -lelf -lbpf -lz -ldeflate -lprotobuf-c -ljansson -lurcu-bp -liberty -lm \
	-pthread -o generate_huge || exit 1
./generate_huge huge.data "$samples" "$contexts" || exit 1
cat huge.data >/dev/null

if [ $# = 0 ]; then
	# shellcheck disable=SC2046 # several words
	set -- $(pcce-report --help | awk '/^Formats:/ { f = 1; next } f && /^$/ { exit } f && /^  [a-z]/ { print $1 }')
fi
for format; do
	# Not into /dev/null, which takes what a file would not.
	/usr/bin/time -f '%U %S %M' -o time.txt pcce-report -q -i huge.data --format="$format" -o out || exit 1
	awk -v f="$format" -v size="$(stat -c %s out)" '{
		printf "%-46s %5.1f s %6.0f MiB %7.0f MiB written\n", "pcce-report --format=" f, $1 + $2, $3 / 1024, size / 1048576
	}' time.txt
	rm -f out
done
