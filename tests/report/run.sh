#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests pcce-report on recordings that generate.c makes: every format against golden output,
# options, damaged input, and the page in a browser if there is one.
#
# UPDATE=1 tests/report/run.sh rewrites the golden files.  Read the difference.

. "$(dirname "$0")/../lib.sh"

here=$top/tests/report
golden=$here/golden
cd "$scratch" || exit 1

build_generator
for kind in small verify badtable empty threads kernel; do
	generate_unpacked $kind $kind.data || not_ok "generate $kind"
done

# golden NAME ARGUMENTS...: standard output, and exit status 0, or 3 if nothing was sampled
golden() {
	local name=$1 want=$golden/$1 status wanted=0
	shift
	[ "$2" != empty.data ] || wanted=3
	pcce-report "$@" >"$name" 2>"$name.err"
	status=$?
	if [ $status != $wanted ]; then
		not_ok "golden $name" "pcce-report $*: exit status $status:" "$name.err"
		return
	fi
	[ "${UPDATE-0}" = 1 ] && cp "$name" "$want"
	if diff -u "$want" "$name" >diff.log 2>&1; then
		ok "golden $name"
	else
		not_ok "golden $name" diff.log
	fi
}

golden tree -i small.data
is "warnings" "$(cat tree.err)" "pcce-report: warning: 3 samples were lost while recording
pcce-report: warning: the contexts of 2 of 87 samples are unknown; --stats tells why"
golden callees -i small.data --format=callees
golden callees-by-line -i small.data --format=callees --by=line --min-percent=5 --max-depth=3
golden tree-no-inline -i small.data --format=tree --no-inline
golden tree-min-percent -i small.data --min-percent=10
golden tree-max-depth -i small.data --max-depth=2
golden flat -i small.data --format=flat
golden folded -i small.data --format=folded
golden folded-no-inline -i small.data --format=folded --no-inline
golden json -i small.data --format=json
golden stats -i small.data --stats
golden stats-verify -i verify.data --stats
golden stats-verbose -i verify.data --stats -v
golden empty-tree -i empty.data
golden empty-flat -i empty.data --format=flat
golden empty-folded -i empty.data --format=folded
golden empty-json -i empty.data --format=json
golden empty-stats -i empty.data --stats

# ---- selecting ---------------------------------------------------------------------------

golden under -i small.data --under=parse
golden under-several -i small.data --under='foo::bar,f*ish' --format=folded
golden focus -i small.data --focus='^eval$' --ignore='next|trunc' --format=folded
golden by-line -i small.data --by=line
golden by-line-flat -i small.data --by=line --format=flat
golden by-file -i small.data --by=file --min-percent=5
golden by-module -i small.data --by=module --recursion=direct
golden recursion-direct -i small.data --recursion=direct --format=folded
golden call-sites-none -i small.data --call-sites=none
golden demangle-simple -i small.data --demangle=simple --format=folded --under='foo*'
golden demangle-none -i small.data --no-demangle --format=folded --under='_Z*'
check "names are short for people" grep -q '  foo::bar  (demo)' flat
pcce-report -q -i small.data --format=flat --full-names >full
check "--full-names" grep -q '  foo::bar(int, int)  (demo)' full
golden sort-tree -i small.data --sort=name --min-percent=0
golden sort-flat -i small.data --format=flat --sort=module,name
golden colors -i small.data --color --max-depth=3

golden hot-tree -i small.data --hot=0.05
golden hot-total -i small.data --hot=0.1 --hot-by=total --format=folded
golden hot-json -i small.data --hot=0.1 --format=json
golden hot-dot -i small.data --hot=0.05 --format=dot
golden suffix -i small.data --suffix=2 --format=folded
golden suffix-hot -i small.data --suffix=3 --hot=0.1

# The same from the lines of all contexts: frames are joined by semicolons.
for data in small threads; do
	pcce-report -q -i $data.data --format=folded >all.folded
	for k in 1 2 3 5 9; do
		awk -v k=$k '{
			count = $NF
			sub(/ [0-9]+$/, "")
			n = split($0, frame, ";")
			suffix = ""
			for (i = n > k ? n - k + 1 : 1; i <= n; i++)
				suffix = suffix ";" frame[i]
			sum[substr(suffix, 2)] += count
		} END { for (s in sum) print s, sum[s] }' all.folded | sort >wanted
		pcce-report -q -i $data.data --format=folded --suffix=$k | sort >got
		check "--suffix=$k: the ends of all contexts of $data.data" \
			bash -c '[ -s got ] && diff wanted got'
	done
	pcce-report -q -i $data.data --format=folded --call-sites=none >all.folded
	for phi in 0.02 0.05 0.1 0.2; do
		awk -v phi=$phi '{ line[NR] = $0; count[NR] = $NF; n += $NF } END {
			least = int(phi * n)
			least += !least
			for (i = 1; i <= NR; i++)
				if (count[i] >= least)
					print line[i]
			print n
		}' all.folded | sort >wanted
		pcce-report -q -i $data.data --format=folded --call-sites=none --hot=$phi |
			awk -v phi=$phi '{ line[NR] = $0; count[NR] = $NF; n += $NF } END {
				least = int(phi * n)
				least += !least
				for (i = 1; i <= NR; i++)
					if (count[i] >= least && line[i] !~ /\[cold\]/)
						print line[i]
				print n
			}' | sort >got
		check "--hot=$phi: all hot contexts of $data.data, and no other" \
			bash -c '[ "$(wc -l <got)" -gt 1 ] && diff wanted got'
	done
done
for format in $(formats); do
	check "$format takes --hot and --suffix" \
		pcce-report -q -i threads.data --hot=0.1 --suffix=4 --format=$format -o hot.out
done
is "bad values of --hot and --suffix are refused" "$(for option in --hot=0 --hot=1.5 --hot=x --hot=0.1,0.1 \
	--hot=0.1,0.01 --hot-by=total --suffix=0 --suffix=1001 --suffix=x; do
	pcce-report -i small.data $option 2>&1 >/dev/null | head -n 1
done)" "pcce-report: cannot use --hot: '0' has a PHI that is not above 0 and at most 1
pcce-report: cannot use --hot: '1.5' has a PHI that is not above 0 and at most 1
pcce-report: cannot use --hot: 'x' is not PHI or PHI,EPSILON, such as 0.0001
pcce-report: cannot use --hot: '0.1,0.1' has an EPSILON that is not above 0 and below PHI
pcce-report: cannot use --hot=0.1,0.01: the recording decides about EPSILON; leave it out
pcce-report: cannot use --hot-by without --hot
pcce-report: cannot use --suffix=0: it must be a number from 1 to 1000
pcce-report: cannot use --suffix=1001: it must be a number from 1 to 1000
pcce-report: cannot use --suffix=x: it must be a number from 1 to 1000"

golden kernel -i kernel.data --format=folded --pid=200 --event='*'
golden no-kernel -i kernel.data --format=folded --pid=200 --event='*' --no-kernel

# selected WANTED ARGUMENTS...: --stats, --format=folded and --format=flat have this number of
# samples, of all events unless one is given
selected() {
	local want=$1 got
	shift
	case "$*" in *--event*) ;; *) set -- "$@" '--event=*' ;; esac
	got=$(pcce-report -q -i threads.data --stats "$@" | sed -n 's/^samples: //p')
	got+=" $(pcce-report -q -i threads.data --format=folded "$@" | awk '{ n += $NF } END { print n + 0 }')"
	got+=" $(pcce-report -q -i threads.data --format=flat "$@" | awk 'NR > 1 { n += $3 } END { print n + 0 }')"
	is "samples selected by $*" "$got" "$want $want $want"
}

selected 41
selected 4 --tid=100
selected 4 --comm=demo --pid=100
selected 16 --comm=worker
selected 5 --comm=pool
selected 3 --comm=pool-*
selected 8 --comm='pool*'
selected 24 --comm=worker,pool --comm=pool-idle
selected 7 --comm=demo --pid=200
selected 6 --comm=helper
selected 13 --pid=200
selected 28 --pid=demo
selected 41 --pid=demo,200
selected 28 --pid=100,nosuch
selected 28 --pid=100
selected 17 --tid=101,203
is "the first of several events is shown by default" \
	"$(pcce-report -i threads.data --stdio 2>&1 | head -n 2)" \
	"33 samples of cpu-clock: demo --fast <input>
all events: cpu-clock 33.0 ms (33 samples), page-faults 8 (8 samples); --event=NAME selects"
selected 8 --event=page-faults
selected 8 --event=1
selected 41 --event=cpu-clock,page-faults
selected 33 --event='cpu*'
selected 6 --event=1 --tid=101
selected 4 --time=,5ms
selected 10 --time=5ms,15ms
selected 10 --time=5%,15%
selected 8 --time=80ms,
selected 14 --time=,0.005 --time=5ms,15ms
selected 16 --focus=eval
selected 25 --ignore=eval
selected 16 --under=parse
selected 6 --under=parse --event=page-faults
selected 6 --under=cmp --time=60%,

pcce-report -i threads.data --comm=nobody >out.log 2>err.log
is "nothing selected has a separate status" "$?" 3
is "... and is reported" "$(cat err.log)" \
	"pcce-report: none of the 33 samples in threads.data is selected: --format=threads lists its threads"
for option in '--comm=nobody,--time=1h,' --event=nothing --under=nothing --focus=nothing; do
	# shellcheck disable=SC2086 # several options
	pcce-report -i threads.data ${option/,--/ --} >out.log 2>err.log
	echo "$? $(sed 's/.* is selected//' err.log)"
done >got.log
is "... with what there is" "$(cat got.log)" "3 : it is 0.1 s long, --format=threads lists its threads
3 : it is of cpu-clock,page-faults
3 : --format=flat lists its functions
3 : --format=flat lists its functions"
pcce-report -q -i threads.data --under=nothing --format=folded >out.log 2>err.log
is "... quietly with --quiet" "$? $(cat out.log err.log)" "3 "
pcce-report -q -i small.data >out.log 2>err.log
is "--quiet: no warnings" "$? $(wc -c <err.log)" "0 0"
pcce-report -q -i no-such.data >out.log 2>err.log
is "--quiet: errors are told" "$? $(wc -l <err.log)" "1 1"
if command -v script >/dev/null; then
	script -qec "pcce-report -q -i small.data --stdio" /dev/null >out.log </dev/null
	check "colours on a terminal" grep -q "$(printf '\033')" out.log
	NO_COLOR=1 script -qec "pcce-report -q -i small.data --stdio" /dev/null >out.log </dev/null
	check "no colours on a terminal with NO_COLOR" \
		sh -c "grep -q main out.log && ! grep -q '$(printf '\033')' out.log"
else
	skip "colours on a terminal" "script is not installed"
fi

# ---- the same numbers in every format --------------------------------------------------

is "folded lines add up to all samples" "$(awk '{ n += $NF } END { print n }' folded)" 87
if command -v node >/dev/null; then
	is "json is JSON" "$(node -e 'const r = JSON.parse(require("fs").readFileSync("json")); let self = 0;
		for (const n of r.nodes) self += n.self;
		console.log(self, r.nodes[0].total, r.stats.samples, r.nodes.every((n, i) => n.id === i && (i ? n.parent < i : 1)))' 2>&1)" \
		"87 87 87 true"
else
	skip "json is JSON" "node is not installed"
fi
pcce-report -i small.data --format=html -o page.html 2>err.log
check "html refers to nothing outside" \
	bash -c '! grep -E "(src|href)=|url\(|https?://|@import" page.html'
check "html is whole" grep -q '^</html>$' page.html
is "html holds no bare end of a script element" "$(grep -c '</script>' page.html)" 2
# The page has samples, each with its thread and time.  The head of its data has their number by
# event.
pcce-report -i threads.data --format=html --comm=worker --time=,30ms -o threads.html
sed -n '/id="data">/,/<\/script>/p' threads.html | sed -e 's/.*id="data">//' -e 's/<\/script>.*//' |
	base64 -d 2>/dev/null |
	{ printf '\037\213\010\0\0\0\0\0\0\003' && tail -c +3; } | gzip -dc 2>/dev/null |
	tr -d '\0' >page.head
is "html holds the selected samples only" "$(grep -a -o '"threads":\[[^]]*\]' page.head)" \
	'"threads":[{"pid":100,"tid":101,"samples":[10,0]'
cp small.data pcce.data
check "pcce.data is the default input" \
	bash -c 'pcce-report 2>/dev/null | cmp - <(pcce-report -i small.data 2>/dev/null)'
check "standard input" \
	bash -c 'pcce-report -i - <small.data 2>/dev/null | cmp - <(pcce-report -i small.data 2>/dev/null)'
check "a pipe" \
	bash -c 'cat small.data | pcce-report -i - 2>/dev/null | cmp - <(pcce-report -i small.data 2>/dev/null)'

# ---- errors: one sentence and a status -------------------------------------------------

# refuses NAME WORDS ARGUMENTS...: status 1, nothing on standard output, one line with these words
refuses() {
	local name=$1 words=$2 status
	shift 2
	pcce-report "$@" >out.log 2>err.log
	status=$?
	if [ $status = 1 ] && ! [ -s out.log ] && [ "$(wc -l <err.log)" = 1 ] &&
		grep -q -- "$words" err.log; then
		ok "refuses $name"
	else
		not_ok "refuses $name" \
			"status $status, wanted one line with: $words" err.log out.log
	fi
}

# poke FILE OFFSET BYTES
poke() { printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

refuses "a missing file" "no-such.data" -i no-such.data
refuses "a folder" "$PWD" -i "$PWD"
: >bad.data
refuses "an empty file" "bad.data" -i bad.data
head -c 20 small.data >bad.data
refuses "half a header" "bad.data" -i bad.data
cp "$(command -v bash)" bad.data
refuses "a program" "bad.data" -i bad.data
cp small.data bad.data && poke bad.data 8 '\011'
refuses "another version" "version 9" -i bad.data
cp small.data bad.data && poke bad.data 16 '\0'
refuses "another byte order" "bad.data" -i bad.data
cp small.data bad.data && poke bad.data 24 '\2'
refuses "a feature it does not know" "bad.data" -i bad.data
cp small.data bad.data && poke bad.data 60 '\377'
refuses "a flipped byte" "bad.data" -i bad.data
refuses "a damaged encoding table" "encoding table of /usr/bin/demo" -i badtable.data
refuses "an output that cannot be made" "no-such-folder/x" -i small.data -o no-such-folder/x --stats
if [ -e /dev/full ]; then
	refuses "a full disk" "No space left" -i small.data -o /dev/full --stats
fi

size=$(stat -c %s small.data)
bad=0
for ((cut = 33; cut < size; cut += 397)); do
	head -c "$cut" small.data >cut.data
	pcce-report -i cut.data --stats >cut.log 2>cut.err
	case $? in
	0 | 3) grep -q '^incomplete: 1$' cut.log || bad=$cut ;;
	1) [ "$(wc -l <cut.err)" = 1 ] || bad=$cut ;;
	*) bad=$cut ;;
	esac
done
is "a file that is cut off anywhere is read up to there, and said to be" "$bad" 0

for arguments in --format=xml --tid=x --pid= --comm= --time=1 --time=2,1 --focus='a(b' --by=word \
	--sort=size --recursion= '--tid=1,,' \
	--call-sites=x --demangle=y --color=z --min-percent=200 --min-percent=x --max-depth=0 \
	--max-depth=-1 --no-such-option stray; do
	pcce-report -i small.data "$arguments" >out.log 2>err.log
	is "$arguments is an error of usage" "$? $(wc -c <out.log)" "2 0"
done
check "--help" bash -c 'pcce-report --help | grep -q -- --min-percent'
is "--version" "$(pcce-report --version)" "pcce-report $(cat "$top/VERSION")"

# ---- in a browser ------------------------------------------------------------------------

browser=$(command -v chromium || true)
if [ -n "$browser" ]; then
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$scratch/browser" \
		--virtual-time-budget=5000 \
		--dump-dom "file://$scratch/page.html" >dom.html 2>browser.log
	check "the page draws itself in a browser" \
		grep -q '87 samples of cpu-clock · 11 different contexts' dom.html
else
	skip "the page draws itself in a browser" "chromium is not installed"
fi

done_testing
