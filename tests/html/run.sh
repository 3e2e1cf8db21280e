#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests the page of pcce-report --format=html in headless Chromium, with real clicks and keys.
# browse.mjs and events.mjs use recordings of tests/report/generate.c and pages of make_page.c.

. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/driver.sh"

here=$top/tests/html
cd "$scratch" || exit 1

# The build joins the page into one piece, of the allowed size.
is "no part of the page is over 800 lines" \
	"$(wc -l "$top"/lib/html/page/* | awk '$2 != "total" && $1 > 800')" ""
check "the page is joined from all its parts" bash -c '
	for f in "$1"/lib/html/page/*; do
		name=${f##*/}
		[ "$name" = page.html ] || grep -qx "@$name@" "$1/lib/html/page/page.html" || { echo "$name is not in it"; exit 1; }
	done
	! grep -x "@.*@" "$2/obj/page.html"' - "$top" "$out"

build_generator
build_with_tools make_page "$here/make_page.c"
for kind in small verify empty; do
	wanted=0
	[ $kind != empty ] || wanted=3
	./generate $kind $kind.data
	pcce-report -i $kind.data --format=html -o $kind.html 2>err.log
	status=$?
	[ $status = $wanted ] || not_ok "page of $kind.data" "exit status $status" err.log
done
pcce-diff --format=html -o diff.html small.data verify.data 2>err.log ||
	not_ok "page of two recordings" err.log
for kind in contexts deep names threads events compare one; do
	./make_page $kind >$kind.html 2>err.log || not_ok "page of $kind" err.log
done
mkdir -p source/demo
for f in main eval; do
	for ((i = 1; i <= 60; i++)); do printf '\tstep_%d(%s);\n' $i $f; done >source/demo/$f.c
done
printf '</script><b>\t\033[1m\377\r\nlast' >source/demo/step.h
pcce-report -i small.data --format=html --source=source --with-source -o source.html 2>err.log
is "a page with source: what is missing is told" "$(grep cannot err.log)" "\
pcce-report: cannot find source file /src/demo/parse.c; use --source=DIR
pcce-report: cannot find 1 other source file, either"
is "... text of the source is no markup" "$(grep -c '</script>' source.html)" 2
pcce-report -q -i small.data --format=html --with-source -o without.html 2>err.log
is "without any source: quiet" "$(cat err.log)" ""
check "... the page is one without source" cmp small.html without.html
pcce-report -i small.data --with-source >/dev/null 2>err.log
is "--with-source and another format: exit status" $? 2
check "... says which has source" grep -q 'cannot use --with-source without --format=html' err.log
check "a page refers to nothing outside" \
	bash -c '! grep -E "(src|href)=|url\(|https?://|@import" names.html'
is "a page holds no bare end of a script element" "$(grep -c '</script>' names.html)" 2
pcce-report -i small.data --format=html >again.html 2>err.log
check "equal recordings give equal pages" cmp small.html again.html

if ! get_driver; then
	skip "the page in a browser" "$why"
	done_testing
fi
# drive SCRIPT ARG...: runs its tests.
drive() {
	timeout -k 10 600 node "$modules/$1.mjs" "$browser" "$scratch" "${@:2}" >browse.log 2>browse.err
	status=$?
	while IFS=$'\t' read -r verdict name detail; do
		case $verdict in
		pass) ok "$name" ;;
		fail) not_ok "$name" "$detail" ;;
		esac
	done <browse.log
	if [ $status = 0 ] && [ "$(tail -n 1 browse.log)" = end ]; then
		ok "$1: the browser was driven to the end"
	else
		not_ok "$1: the browser was driven to the end" "exit status $status" browse.err
	fi
}
drive browse "$(stat_of small.data max_encoding_stack)"
drive events
done_testing
