#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures how long the page of pcce-report --format=html takes in headless Chromium.  The page has
# 100,000 different contexts, which 1,000,000 samples in 8 threads choose at random
# (tests/html/make_page.c).  Prints the medians of ROUNDS (default: 7) of three times:
#
#   from the opening of the page, in a browser just started, to the first graph on the screen
#   for a search by regular expression
#   for the table of functions

. "$(dirname "$0")/lib.sh"
. "$top/tests/html/driver.sh"
cd "$scratch" || exit 1

if ! get_driver; then
	echo "html-open: cannot open a page: $why" >&2
	exit 1
fi
cp "$top"/bench/*.mjs "$modules"
# shellcheck disable=SC2086 # several libraries
$CC -std=gnu11 -O2 -I"$top/include" -I"$top/lib" -I"$top" \
	"$top/tests/html/make_page.c" "$out/obj/libpcce-tools.a" -Wl,--as-needed \
	-ldw -lelf -lbpf -lz -ldeflate -ljansson -lurcu-bp -liberty -lm -pthread \
	-o make_page || exit 1
./make_page contexts 100000 >page.html 2>make_page.log || { cat make_page.log >&2; exit 1; }
node "$modules/html-open.mjs" "$browser" "$scratch/page.html" "${ROUNDS:-7}" >seconds.txt || exit 1
column=1
for what in "first graph" "search" "table of functions"; do
	median=$(cut -d ' ' -f $column seconds.txt | sort -n |
		awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }')
	printf '%-46s %s s\n' "html, 100,000 contexts: $what" "$median"
	column=$((column + 1))
done
