#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests stores (pcce push, pcce pull, pcce report --from): a folder, Debian's ClickHouse server, and
# the newest ClickHouse as a library.  What comes out must be what pcce-merge makes of the same
# recordings.  Some rows are then damaged, and pushes are killed.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/clickhouse.sh"
sources_in store
export TZ=UTC

server= # its process
trap '[ -z "$server" ] || kill -9 $server; rm -rf "$scratch"' EXIT

refused() { # NAME TEXT COMMAND...: fails with one sentence that has TEXT
	local name=$1 text=$2 status
	shift 2
	timeout 60 "$@" >log 2>&1
	status=$?
	if [ $status -ge 1 ] && [ $status -le 2 ] && grep -qF -- "$text" log; then ok "$name"; else
		echo "status $status" >>log
		not_ok "$name" log
	fi
}

# What a recording says, without the numbers of processes, which a store does not keep.
shown() { # FILE|--from=STORE [OPTION...]
	local from=$1
	shift
	case $from in --from=*) ;; *) from=--input=$from ;; esac
	{
		pcce-report "$from" "$@" --format=folded
		pcce-report "$from" "$@" --stats | grep -v '^bytes_per_sample'
		pcce-report "$from" "$@" --format=threads | awk '{ $3 = $4 = ""; print }' | sort
	} 2>/dev/null
}

# same NAME STORE RECORDING...: the store has exactly these
same() {
	local name=$1 store=$2
	shift 2
	pcce-merge -q -o merged.data "$@" || exit 1
	shown merged.data >wanted
	shown "--from=$store" >got
	if [ "$(grep -c ';' wanted)" -gt 0 ] && diff wanted got >diff.log; then ok "$name"; else
		not_ok "$name" diff.log
	fi
}

# ---- recordings ----------------------------------------------------------------------------

$CC $cflags -pthread "$w/work.c" $ldflags -o work || exit 1
$CC $cflags -pthread -no-pie "$w/work.c" $ldflags -o work-fixed || exit 1
for i in 1 2 3; do pcce-record -q -b self -o "run$i.data" ./work || exit 1; done
pcce-record -q -b self -o fixed.data ./work-fixed || exit 1
pcce-record -q -e malloc -o malloc.data ./work 20 || exit 1
pcce-record -q --count -o count.data ./work 2 || exit 1
# Two programs of one name at one address, without build ids.
sed 's/leaf/tree/; s/allocate/get_memory/' "$w/work.c" >other.c
$CC $cflags -pthread -no-pie -Wl,--build-id=none "$w/work.c" $ldflags -o nameless || exit 1
pcce-record -q -b self -o nameless-1.data ./nameless || exit 1
$CC $cflags -pthread -no-pie -Wl,--build-id=none other.c $ldflags -o nameless || exit 1
pcce-record -q -b self -o nameless-2.data ./nameless || exit 1
kinds="run1 fixed malloc count"
if has_bpf; then
	pcce-record -q -b bpf -e cpu-clock -e page-faults -o kernel.data ./work || exit 1
	pcce-record -q -b bpf -F 300 -e page-faults -e cpu-clock -o swapped.data ./work || exit 1
	pcce-record -q --off-cpu -o waits.data ./work || exit 1
	pcce-record -q -a --frames=outside -o system.data -- ./work || exit 1
	kinds="$kinds kernel waits system"
fi

# ---- a folder ------------------------------------------------------------------------------

pcce-push -q --to=folder run1.data run2.data || exit 1
same "folder: two recordings" folder run1.data run2.data
pcce-push -q --to=folder run1.data
same "folder: one of them again" folder run1.data run2.data
pcce-push -q --to=folder - <run3.data
same "folder: standard input" folder run1.data run2.data run3.data
is "folder: one file a recording" "$(find folder -type f | wc -l)" 3
pcce-merge -q -o both.data run1.data run2.data
pcce-push -q --to=both run1.data both.data both.data
same "folder: a recording, and a merged one that begins with it" both run1.data both.data
is "folder: only the owner reads it" "$(stat -c %a folder)" 700
pcce-pull --from=folder -o pulled.data
pcce-merge -q -o merged.data run[123].data
check "folder: pull" diff <(shown merged.data) <(shown pulled.data)
is "pull: the file of before is kept" \
	"$(cp pulled.data old && pcce-pull --from=folder -o pulled.data && cmp old pulled.data.old && echo kept)" kept
first=$(find folder -type f | sort | head -n 1)
cp "$first" folder/20010203T040506Z-old-000000001.pcce.data
same "folder: a day is the default" folder run1.data run2.data run3.data
is "folder: --since and --until" \
	"$(pcce-report --from=folder --since=2001-02-03 --until='2001-02-03 04:05:07' --format=folded | wc -l)" \
	"$(pcce-report -i "$first" --format=folded | wc -l)"
is "folder: until excludes" "$(pcce-report --from=folder --since=2001-02-03 \
	--until=2001-02-03T04:05:06 2>&1)" \
	"pcce-report: cannot read from folder: it has no recording of this time; change --since"
rm folder/2001*
size=$(stat -c %s "$first")
printf '\377\377' | dd of="$first" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
shown --from=folder >got
pcce-merge -q -o merged.data run2.data run3.data
shown merged.data >wanted
check "folder: a damaged file is left out" diff wanted got
if pcce-report --from=folder 2>&1 >/dev/null | grep -q damaged; then ok "folder: ... and named"; else
	not_ok "folder: ... and named" "no message"
fi
mkdir -m 500 locked
if [ "$(id -u)" != 0 ]; then
	refused "a folder that cannot be written" "cannot write" pcce-push --to=locked run1.data
fi
refused "no store" "name one with --to" pcce-push run1.data
refused "a store that is not there" "cannot read the folder" pcce-pull --from=nowhere -o x
refused "a file as a store" "Not a directory" pcce-report --from=run1.data
refused "an unknown kind of store" "there is no such store" pcce-push --to=foo://x run1.data
refused "--where needs tables" "--where" pcce-report --from=folder --where="host = 'x'"
refused "--since needs a store" "without --from" pcce-report --since=1h
refused "a time that is none" "must be an age" pcce-report --from=folder --since=1x
refused "a day that is none" "must be an age" pcce-report --from=folder --since=2026-02-30
refused "a recording that is not there" "cannot open" pcce-push --to=folder nothing.data
refused "-i and --from" "both say what to read" pcce-report -i run1.data --from=folder
refused "a host that is not there" "cannot use clickhouse://127.0.0.1:1/pcce" \
	pcce-report --from=clickhouse://127.0.0.1:1
refused "a database with a strange name" "only letters" pcce-report "--from=clickhouse://localhost/a;b"
refused "a URL that is none, without its password" "cannot use clickhouse://x:99999/y: it is no URL" \
	pcce-report --from=clickhouse://user:hush@x:99999/y
refused "an unknown kind, without its password" "cannot use http://x/y: there is no such store" \
	pcce-push --to=http://user:hush@x/y run1.data
PCCE_CHDB=/nowhere refused "no libchdb" "make chdb" pcce-push --to=chdb:x run1.data

# ---- ClickHouse ----------------------------------------------------------------------------

# Both engines have the same tests. ask SQL asks without pcce.
refuses_kinds() { # ENGINE STORE
	local kind
	pcce-record -q -b self --hot=0.1,0.01 -o hot.data ./work
	pcce-record -q -b self --only=leaf -o only.data ./work
	for kind in hot only; do
		refused "$1: no --$kind" "it was recorded with --$kind" pcce-push --to="$2" $kind.data
	done
}

round_trips() { # ENGINE STORE-PREFIX
	local engine=$1 prefix=$2 kind
	for kind in $kinds; do
		pcce-push -q --to="$prefix$kind" $kind.data || not_ok "$engine: push $kind"
		same "$engine: $kind" "$prefix$kind" $kind.data
	done
	pcce-push -q --to="${prefix}all" run1.data || not_ok "$engine: push"
	pcce-push -q --to="${prefix}all" --service=search run2.data fixed.data run1.data
	shown "--from=${prefix}all" --where="service = 'search'" >got
	pcce-merge -q -o merged.data run1.data run2.data fixed.data
	shown merged.data >wanted
	check "$engine: a service" diff wanted got
	shown "--from=${prefix}all" --where="process = 'work-fixed' OR service = 'x'" >got
	shown fixed.data >wanted
	pcce-merge -q -o merged.data fixed.data
	shown merged.data >wanted
	check "$engine: a process" diff wanted got
	pcce-push -q --to="${prefix}twice" run1.data run2.data run1.data run2.data
	same "$engine: pushed twice" "${prefix}twice" run1.data run2.data
	refused "$engine: nothing selected" "no recording of this time" \
		pcce-report --from="${prefix}twice" --where="host = 'nobody'"
	refused "$engine: a condition that is none" "nonsense" \
		pcce-report --from="${prefix}twice" --where="nonsense = 1"
	refused "$engine: a condition that ends early" "cannot use" \
		pcce-report --from="${prefix}twice" --where="1) OR (1 FORMAT Null -- "
	refused "$engine: other rates" "another rate" bash -c "
		pcce-record -q -b self -F 99 -o slow.data ./work && pcce-push -q --to=${prefix}rates run1.data slow.data &&
		pcce-report --from=${prefix}rates"
	refuses_kinds "$engine" "${prefix}kinds"
	pcce-push -q --to="${prefix}both" run1.data both.data both.data
	same "$engine: a recording, and a merged one that begins with it" "${prefix}both" run1.data both.data
	pcce-push -q --to="${prefix}services" run1.data
	pcce-push -q --to="${prefix}services" --service=x run1.data
	same "$engine: two services" "${prefix}services" run1.data run1.data
	pcce-push -q --to="${prefix}nameless" nameless-*.data
	same "$engine: two programs of one name at one address" "${prefix}nameless" nameless-*.data
	refused "$engine: a time that the tables cannot hold" "no recording of this time" \
		pcce-report --from="${prefix}all" --since=2128-01-01
	if [ -e swapped.data ]; then
		pcce-push -q --to="${prefix}swapped" kernel.data swapped.data
		refused "$engine: other rates in another order" "another rate" \
			pcce-report --from="${prefix}swapped"
	fi
}

zeros() { printf "%0$((2 * $1))d" 0; } # N: as many bytes, in hexadecimal digits

test_server() {
	local store=clickhouse://127.0.0.1:$port/ left i id main packed
	round_trips server "$store"

	is "server: a context that several have is there once" \
		"$(ask "SELECT count() = uniqExact(key) FROM twice.contexts")" 1
	pcce-push -q --to="${store}order" run1.data
	ask "TRUNCATE TABLE order.recordings"
	refused "server: a push without its end is not seen" "no recording" \
		pcce-report --from="${store}order"
	pcce-push -q --to="${store}order" run1.data
	same "server: the push is repeated" "${store}order" run1.data

	for i in 1 2 3 4 5 6 7 8; do
		timeout -s KILL 0.0$i pcce-push -q --to="${store}killed" run1.data 2>/dev/null
	done
	pcce-push -q --to="${store}killed" run1.data
	same "server: pushes that were killed" "${store}killed" run1.data

	# A hostile host's rows.
	pcce-push -q --to="${store}bad" run1.data
	left=$(ask "SELECT hex(context) FROM bad.samples ORDER BY samples DESC LIMIT 1")
	ask "CREATE TABLE bad.copy AS bad.contexts ENGINE = ReplacingMergeTree ORDER BY key"
	ask "INSERT INTO bad.copy SELECT key, if(hex(key) = '$left', concat(substring(packed, 1, 20),
		'x', substring(packed, 22)), packed) FROM bad.contexts"
	ask "DROP TABLE bad.contexts"
	ask "RENAME TABLE bad.copy TO bad.contexts"
	pcce-pull --from="${store}bad" -o bad.data 2>log
	is "server: samples of a false context are lost, and counted" \
		"$(stat_of bad.data lost)" "$(ask "SELECT sum(samples) FROM bad.samples WHERE hex(context) = '$left'")"
	check "server: ... and told" grep -q "lacks the contexts" log
	ask "INSERT INTO bad.contexts VALUES ('0123456789abcdef', 'garbage'), ('1123456789abcdef', '')"
	ask "INSERT INTO bad.modules SELECT id, build, path, 1 - fixed, low, high, table FROM bad.modules"
	ask "INSERT INTO bad.samples SELECT time, host, service, process, thread, build, event,
		toFixedString('0123456789abcdef', 16), run, 7, 7 FROM bad.samples LIMIT 1"
	pcce-pull --from="${store}bad" -o bad2.data 2>log
	is "server: garbage is lost, and counted" "$(($(stat_of bad2.data lost) - $(stat_of bad.data lost)))" 7
	is "server: false facts of modules change nothing" "$(stat_of bad2.data exact)" "$(stat_of bad.data exact)"

	# A library without end in the victim's process.
	pcce-push -q --to="${store}huge" run1.data
	pcce-report --from="${store}huge" --format=folded >wanted
	left=$(zeros 8)$(printf 'f%.0s' {1..16})
	id=$(ask "SELECT hex(substring(SHA256(unhex('0161$(zeros 2)${left}00')), 1, 16))")
	ask "INSERT INTO huge.modules VALUES (unhex('$id'), 'a', '', 0, 0, 18446744073709551615, '')"
	main=$(ask "SELECT hex(substring(packed, 65, 24)) FROM huge.contexts LIMIT 1")
	packed=01000000$(zeros 4)02$(zeros 23)0010000004010000$(zeros 24)$main$id$(zeros 8)
	ask "INSERT INTO huge.contexts SELECT substring(SHA256(unhex('$packed') AS p), 1, 16), p"
	ask "INSERT INTO huge.samples SELECT time, host, service, process, '', build, event,
		substring(SHA256(unhex('$packed')), 1, 16), run, 1, 1 FROM huge.samples LIMIT 1"
	pcce-report --from="${store}huge" --format=folded >got 2>log
	is "server: a false mapping harms its own sample" "$(diff wanted got | grep '^[<>]')" "> [unknown] 1"
	check "server: ... and is told" grep -q "1 programs and libraries" log

	ask "INSERT INTO bad.schema_version VALUES (99)"
	refused "server: later tables, reading" "version 99" pcce-report --from="${store}bad"
	refused "server: later tables, writing" "version 99" pcce-push --to="${store}bad" run2.data
	CLICKHOUSE_USER=secret CLICKHOUSE_PASSWORD=wrong \
		refused "server: a wrong password" "401" pcce-report --from="${store}twice"
	shown "--from=clickhouse://secret:open%20sesame@127.0.0.1:$port/twice" >got
	shown "--from=${store}twice" >wanted
	check "server: a password" diff wanted got
	refused "server: the password is not in messages" "cannot use clickhouse://127.0.0.1" \
		pcce-report --from="clickhouse://secret:hush@127.0.0.1:$port/twice"
	check "server: ... at all" bash -c '! grep -q hush log'

	# The server is away for two seconds.
	kill -STOP $server
	pcce-push -q --to="${store}stopped" run1.data 2>log &
	i=$!
	sleep 2
	kill -CONT $server
	wait $i
	is "server: it stops for a moment: status" $? 0
	same "server: it stops for a moment" "${store}stopped" run1.data
	kill -9 $server
	wait $server 2>/dev/null
	pcce-push -q --to="${store}restarted" run1.data 2>log &
	i=$!
	sleep 0.5
	same_port=$port
	free_port() { echo "$same_port"; }
	start_server
	wait $i
	is "server: it restarts: status" $? 0
	same "server: it restarts" "${store}restarted" run1.data
	same "server: what was pushed before" "${store}twice" run1.data run2.data
}

if clickhouse=$("$top/scripts/fetch-clickhouse" 2>log); then
	if start_server; then test_server; else not_ok "server: it starts" server/out; fi
else
	skip "server" "$(tail -n 1 log)"
fi

if PCCE_CHDB=$("$top/scripts/fetch-chdb" 2>log); then
	export PCCE_CHDB
	round_trips chdb "chdb:$PWD/db-"
else
	skip "chdb" "$(tail -n 1 log)"
fi
done_testing
