# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh
#
# Tests formats that have sums by function: callgrind, dot.

report callgrind small.data small.callgrind
report callgrind huge.data huge.callgrind
report callgrind empty.data empty.callgrind
if command -v callgrind_annotate >/dev/null; then
	callgrind_annotate --auto=no small.callgrind >callgrind-self 2>annotate.err ||
		not_ok "callgrind_annotate" annotate.err
	sed -i '/(creator:/d' callgrind-self
	same callgrind-self
	callgrind_annotate --auto=no --inclusive=yes --tree=both small.callgrind \
		>callgrind-tree 2>annotate.err || not_ok "callgrind_annotate" annotate.err
	sed -i '/(creator:/d' callgrind-tree
	same callgrind-tree
	# By function, as the flat report has it; the period is 100 µs.
	callgrind_annotate --auto=no --threshold=100 huge.callgrind |
		sed -n 's/^ *\([0-9,]*\) (.*:\([a-z0-9_]*\) \[.*/\1 \2/p' | tr -d , |
		awk '{ print $1 / 100000, $2 }' | sort >got
	pcce-report -i huge.data --format=flat 2>/dev/null | awk '/%/ && $3 { print $3, $4 }' |
		sort >wanted
	check "callgrind: the numbers of the flat report" bash -c '[ -s got ] && diff wanted got'
	check "callgrind: no samples" grep -q '^events:' empty.callgrind
else
	skip "callgrind" "valgrind is not installed"
fi

report dot small.data small.dot
same small.dot
report dot huge.data huge.dot --min-percent=50
report dot empty.data empty.dot
if command -v dot >/dev/null; then
	check "dot draws it" \
		bash -c 'dot -Tsvg small.dot >small.svg && grep -q ">next&lt;char&gt;; really</text>" small.svg && dot -Tsvg empty.dot >empty.svg'
	is "dot: as many boxes as functions that are heavy enough" \
		"$(dot -Tplain huge.dot | grep -c '^node')" \
		"$(pcce-report -i huge.data --format=flat 2>/dev/null | awk '/%/ && $2 + 0 >= 50' | wc -l)"
	check "dot reports what it leaves out" \
		grep -q 'left out below the limit: [1-9][0-9]* functions' huge.dot
else
	skip "dot draws it" "graphviz is not installed"
fi
