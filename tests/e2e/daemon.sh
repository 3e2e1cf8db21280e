#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests pcced: its configuration; windows that reach a store; stores that are away, read-only, full
# or slow; the limit of the spool; windows that a store refuses; kills of each of its processes.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/clickhouse.sh"
cd "$scratch" || exit 1

daemon=
mounted=
server= # of ClickHouse
trap '[ -z "$daemon" ] || kill -9 $daemon; [ -z "$server" ] || kill -9 $server; [ -z "$mounted" ] || umount "$mounted"; rm -rf "$scratch"' EXIT

mkdir spool
config() { # LINE...: writes pcced.toml
	printf '%s\n' "spool = \"$PWD/spool\"" "metrics = \"$PWD/metrics.prom\"" 'window = "1s"' "$@" \
		>pcced.toml
}

# ---- the configuration ---------------------------------------------------------------------

mistake() { # NAME TEXT LINE...: exactly one mistake, which TEXT names
	local name=$1 text=$2 status
	shift 2
	config "$@"
	pcced --check -c pcced.toml >log 2>&1
	status=$?
	if [ $status = 1 ] && [ "$(wc -l <log)" = 1 ] && grep -qF -- "$text" log; then ok "$name"; else
		not_ok "$name" "status $status" log
	fi
}

config "store = '$PWD/store' # a comment" '' '# a comment' 'frequency = 19' 'service = "a \"b\" \\"' \
	'  keep_age	=	"30d"' 'keep_size = "10G"' 'spool_size = "1M"'
check "a good configuration" pcced --check -c pcced.toml
store="store = '$PWD/store'"
mistake "no store" "store is missing"
mistake "a setting that is none" "line 5 of pcced.toml: there is no setting frequenzy; did you mean frequency?" \
	"$store" "frequenzy = 19"
mistake "twice" "window is given twice" "$store" 'window = "5s"'
mistake "no quotes" "keep_age must be a string in quotes" "$store" 'keep_age = 30'
mistake "quotes" "frequency must be a number without quotes" "$store" 'frequency = "19"'
mistake "no time" "keep_age must be a time" "$store" 'keep_age = "30"'
mistake "no size" "keep_size must be a size" "$store" 'keep_size = "30d"'
mistake "a size that is too large" "keep_size must be a size" "$store" 'keep_size = "99999999999999999999G"'
mistake "zero" "frequency is too small" "$store" 'frequency = 0'
mistake "a table" "it must be KEY = VALUE" "$store" '[table]'
mistake "an array" "must be a string in quotes" "$store" 'events = ["cpu-clock"]'
mistake "no end" "a string that does not end" "$store" 'service = "x'
mistake "text behind" "a string that does not end" "$store" 'service = "x" y'
mistake "an escape" "that pcced does not read" "$store" 'service = "\u0041"'
mistake "several lines" "that pcced does not read" "$store" 'service = """x"""'
mistake "nothing" "service is empty" "$store" 'service = ""'
mistake "an unknown store" "there is no such store as http://x" 'store = "http://x"'
mistake "a password" "set CLICKHOUSE_USER" 'store = "clickhouse://a:b@c"'
mistake "retention without a folder" "keep_size and keep_age" 'store = "clickhouse://a"' 'keep_age = "1d"'
config "$store"
sed -i '/metrics/d' pcced.toml && echo 'metrics = "/nowhere/x"' >>pcced.toml
is "no folder of metrics: said" "$(pcced --check -c pcced.toml 2>&1)" \
	"pcced: cannot use pcced.toml: the folder of metrics, /nowhere/, cannot be used: No such file or directory; create it"
is "no file" "$(pcced -c nowhere.toml 2>&1)" \
	"pcced: cannot use nowhere.toml: No such file or directory"
head -c 3000 /dev/urandom >pcced.toml
pcced --check -c pcced.toml >log 2>&1
is "garbage: status" $? 1
echo "spool = '$PWD/nowhere'" >pcced.toml
is "several mistakes" "$(pcced -c pcced.toml 2>&1 | wc -l)" 2

has_bpf || {
	skip "the daemon" "$bpf_reason"
	done_testing
}

# ---- running -------------------------------------------------------------------------------

start() { # LINE...
	config "$@"
	rm -f metrics.prom
	pcced -c pcced.toml 2>>pcced.log &
	daemon=$!
}

stop() {
	kill -TERM $daemon
	wait $daemon
	status=$?
	daemon=
}

metric() { sed -n "s/^pcced_$1 //p" metrics.prom 2>/dev/null; }

reaches() { # NAME N: waits until a metric is at least N
	local i
	for ((i = 0; i < 1200; i++)); do
		[ "$(metric "$1" || echo 0)" -ge "$2" ] 2>/dev/null && return
		sleep 0.1
	done
	cat metrics.prom pcced.log
	return 1
}

in_store() { find store -name '*.pcce.data' 2>/dev/null | wc -l; }
in_spool() { find spool -name 'window.*' | wc -l; }
recorder() { pgrep -P $daemon -x pcce-record; }

# balanced NAME: every window that was recorded is sent, waits, or is counted
balanced() {
	is "$1: all windows are somewhere" "$(metric windows_recorded_total)" \
		$(($(metric windows_sent_total) + $(metric windows_dropped_total) + $(metric spool_windows)))
}

start "$store"
check "windows are sent" reaches windows_sent_total 2
stop
is "SIGTERM: status" $status 0
is "SIGTERM: the last window is sent" "$(in_spool)" 0
is "SIGTERM: no process is left" "$(pgrep -f "$PWD/spool")" ""
balanced "a folder"
is "a folder: one file a window" "$(in_store)" "$(metric windows_sent_total)"
is "a folder: all samples are there" "$(pcce-pull --from=store -o all.data && stat_of all.data samples)" \
	"$(metric samples_total)"
check "metrics have a type" grep -q '^# TYPE pcced_windows_sent_total counter$' metrics.prom

# The store is away; then it comes.
rm -rf store
: >store
start "$store"
check "no store: windows wait" reaches spool_windows 3
check "no store: it is tried again" reaches push_failures_total 2
is "no store: nothing is sent" "$(metric windows_sent_total)" 0
rm store
check "no store: all is sent when it comes" reaches windows_sent_total 3
stop
balanced "no store"
is "no store: in order and once" "$(in_store)" "$(metric windows_sent_total)"

# What is in the spool at the start is sent; a window that was sent before counts once.
rm -rf store
: >store
start "$store"
check "a spool of before: windows wait" reaches spool_windows 2
stop
is "a spool of before: status" $status 0
waiting=$(in_spool)
check "a spool of before: $waiting windows" [ "$waiting" -ge 2 ]
rm store
first=$(find spool -name 'window.*' | sort | head -n 1)
pcce-push -q --to=store "$first"
cp "$first" spool/window.10000000000000000.part # as if the recorder had been killed
start "$store"
check "a spool of before: it is sent" reaches windows_sent_total $((waiting + 1))
sent=$(metric windows_sent_total)
stop
is "a window that was sent twice counts once" "$(in_store)" $(($(metric windows_sent_total) - 1))

# The limit of the spool.
rm -rf store spool/window.*
: >store
for i in 10 11 12; do
	cp "$(find "$scratch" -name all.data)" "spool/window.200101010000000$i"
	truncate -s 600K "spool/window.200101010000000$i"
done
start "$store" 'spool_size = "1M"'
check "a full spool: windows are removed" reaches windows_dropped_total 2
is "a full spool: the oldest first" "$(find spool -name 'window.2001*10' -o -name 'window.2001*11')" ""
check "a full spool: it is said" grep -q "the spool is full" pcced.log
stop
rm -rf store spool/window.*

# A window that no store takes does not hold up the others.
echo garbage >spool/window.20010101000000000
start "$store"
check "a bad window: others are sent" reaches windows_sent_total 3
check "a bad window: it is removed" reaches windows_refused_total 1
stop
is "a bad window: nothing is left" "$(in_spool)" 0

# The recorder is killed, and started again.
start "$store"
check "a killed recorder: before" reaches windows_recorded_total 1
kill -9 "$(recorder)"
check "a killed recorder: it is started again" reaches recorder_starts_total 2
recorded=$(metric windows_recorded_total)
check "a killed recorder: windows are recorded" reaches windows_recorded_total $((recorded + 2))
stop
is "a killed recorder: status" $status 0
balanced "a killed recorder"

# The daemon is killed.  The next one waits for its recorder, and takes what it has left.
start "$store"
check "a killed daemon: before" reaches windows_recorded_total 1
kill -9 $daemon
wait $daemon 2>/dev/null
start "$store"
check "a killed daemon: the next one records" reaches windows_recorded_total 1
is "two daemons of one spool" "$(pcced -c pcced.toml 2>&1)" \
	"pcced: cannot use the spool $PWD/spool: another pcced uses it"

# Another configuration.
echo 'frequency = 0' >>pcced.toml
kill -HUP $daemon
for ((i = 0; i < 100; i++)); do
	grep -q "stays as it was" pcced.log && break
	sleep 0.1
done
check "SIGHUP: a bad configuration is refused" grep -q "stays as it was" pcced.log
config "store = '$PWD/store2'" 'frequency = 49'
kill -HUP $daemon
check "SIGHUP: the recorder is started again" reaches recorder_starts_total 2
sent=$(metric windows_sent_total)
check "SIGHUP: windows are sent" reaches windows_sent_total $((sent + 2))
check "SIGHUP: to the other store" [ "$(find store2 -name '*.pcce.data' | wc -l)" -ge 1 ]
is "SIGHUP: with the other rate" "$(tr '\0' ' ' <"/proc/$(recorder)/cmdline" | grep -o -- '-F[0-9]*')" -F49
stop
is "SIGHUP: status" $status 0

# Retention.
rm -rf store
start "$store"
check "retention: before" reaches windows_sent_total 3
stop
newest=$(find store -type f | sort | tail -n 1)
cp "$newest" store/20010203T040506Z-old-000000001.pcce.data
start "$store" 'keep_age = "1h"' 'keep_size = "1M"'
check "retention: another window" reaches windows_sent_total 1
stop
check "retention: an old recording is removed" [ ! -e store/20010203T040506Z-old-000000001.pcce.data ]
check "retention: others are kept" [ -e "$newest" ]
truncate -s 2M "$newest"
start "$store" 'keep_size = "1M"'
check "retention: another window" reaches windows_sent_total 1
stop
check "retention: by size" [ ! -e "$newest" ]

# A server that is killed, and comes back.
if clickhouse=$("$top/scripts/fetch-clickhouse" 2>log) && start_server; then
	same_port=$port
	start "store = 'clickhouse://127.0.0.1:$port'" 'service = "machine"'
	check "a server: windows are sent" reaches windows_sent_total 2
	kill -9 $server
	wait $server 2>/dev/null
	failures=$(metric push_failures_total)
	check "a killed server: windows wait" reaches spool_windows 2
	free_port() { echo "$same_port"; }
	start_server || not_ok "the server starts again" server/out
	sent=$(metric windows_sent_total)
	check "a server that is back: windows are sent" reaches windows_sent_total $((sent + 3))
	stop
	balanced "a server that is back"
	is "a server that is back: all samples are there once" \
		"$(ask "SELECT sum(samples) FROM pcce.samples FINAL WHERE service = 'machine'")" \
		"$(metric samples_total)"
	kill -9 $server
	wait $server 2>/dev/null
	server=
else
	skip "a server" "$(tail -n 1 log)"
fi
rm -rf spool/window.*

# A store without room, and one that is read-only.
rm -rf store
mkdir store
if mount -t tmpfs -o size=64k pcced-test store 2>log; then
	mounted=$PWD/store
	head -c 65536 /dev/zero >store/fill
	start "$store"
	check "a full store: windows wait" reaches spool_windows 2
	rm store/fill
	mount -o remount,ro store
	failures=$(metric push_failures_total)
	check "a read-only store: windows wait" reaches push_failures_total $((failures + 1))
	is "a read-only store: nothing is sent" "$(metric windows_sent_total)" 0
	mount -o remount,rw,size=64m store
	check "a store with room again: all is sent" reaches windows_sent_total 3
	stop
	balanced "a store with room again"
	is "a store with room again: once each" "$(in_store)" "$(metric windows_sent_total)"
	umount store && mounted=
else
	skip "a full store" "$(cat log)"
fi
done_testing
