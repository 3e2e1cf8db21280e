#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures time, memory and output size of each format of pcce-report for a large recording.
#
#   bench/report-scale.sh [FORMAT...]     SAMPLES=10000000  CONTEXTS=1000000
#
# The samples choose their contexts at random, with four instructions each, in four threads
# (tests/report/generate_huge.c).  The file is read once first, so that it is in memory.  Each line
# has the format, the CPU seconds of one run, its peak of memory, and the size of the output.  CPU
# time is user and system time, which other work on the machine disturbs less than elapsed time.

. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

samples=${SAMPLES:-10000000} contexts=${CONTEXTS:-1000000}
# shellcheck disable=SC2086 # several libraries
$CC -std=gnu11 -O2 -I"$top/include" -I"$top/lib" -I"$top" "$top/tests/report/generate_huge.c" \
	"$top/tests/unit/table_builder.c" "$out/obj/libpcce-tools.a" -Wl,--as-needed \
	-ldw -lelf -lbpf -lz -ldeflate -lprotobuf-c -ljansson -lurcu-bp -liberty -lm -pthread \
	-o generate_huge || exit 1
./generate_huge huge.data "$samples" "$contexts" || exit 1
cat huge.data >/dev/null

if [ $# = 0 ]; then
	# shellcheck disable=SC2046 # several words
	set -- $(pcce-report --help |
		awk '/^Formats:/ { f = 1; next } f && /^$/ { exit } f && /^  [a-z]/ { print $1 }')
fi
for format; do
	# The output goes to a file, because writing to /dev/null costs less.
	/usr/bin/time -f '%U %S %M' -o time.txt \
		pcce-report -q -i huge.data --format="$format" -o out || exit 1
	awk -v f="$format" -v size="$(stat -c %s out)" '{
		printf "%-46s %5.1f s %6.0f MiB %7.0f MiB written\n", "pcce-report --format=" f,
			$1 + $2, $3 / 1024, size / 1048576
	}' time.txt
	rm -f out
done
