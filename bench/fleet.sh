#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures what samples of many machines take in ClickHouse: in pcce's tables; in a table of stacks
# beside samples with their hashes, as Coroot has it; and with the stack in each row, as
# OpenTelemetry's and Parca's rows have it.
#
#   bench/fleet.sh RECORDING...     real recordings, one for each window
#     HOSTS=20 MINUTES=1440         hosts and windows of a minute for which they are repeated
#     SHARE=20                      percent of the rows of a recording that a window has
#
# The rows of a window are chosen by a hash, so each host and minute has others.

. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || { echo "usage: bench/fleet.sh RECORDING..." >&2; exit 2; }
recordings=()
for f; do recordings+=("$(realpath "$f")"); done
cd "$scratch" || exit 1
: "${HOSTS:=20}" "${MINUTES:=1440}" "${SHARE:=20}"
PCCE_CHDB=$("$top/scripts/fetch-chdb") || exit 1
export PCCE_CHDB
store=chdb:$scratch/db
sql() { "$out/bench/sql" "$store" "$@"; }

pcce-push -q --to="$store" "${recordings[@]}" || exit 1
# The same as text: what other tools would send.
window=0
for f in "${recordings[@]}"; do
	pcce-merge -q -o merged.data "$f"
	pcce-report -i merged.data --format=jsonl 2>/dev/null |
		jq -r --arg window $window 'select(.stack) | (.stack | tojson) as $stack |
			.threads[] | [$window, .comm, $stack, .samples] | @tsv'
	window=$((window + 1))
done >stacks.tsv
n=${#recordings[@]}

word="LowCardinality(String) CODEC(ZSTD(1))"
moment="DateTime64(9) CODEC(Delta, ZSTD(1))"
host="concat('host', toString(h))"
value="n * (1 + rand() % 4) * 52631578"
chosen="cityHash64(h, k, i) % 100 < $SHARE"
grid="(SELECT intDiv(number, $MINUTES) AS h, number % $MINUTES AS k, (h * 7 + k) % $n AS w
	FROM numbers($HOSTS * $MINUTES)) AS g"
sql "CREATE DATABASE other" \
	"CREATE TABLE other.base (w UInt64, service String, stack Array(String), n UInt64, i UInt64)
		ENGINE = MergeTree ORDER BY w" \
	"INSERT INTO other.base SELECT w, service, JSONExtract(stack, 'Array(String)'), n,
			rowNumberInAllBlocks() FROM file('$PWD/stacks.tsv', 'TSV',
			'w UInt64, service String, stack String, n UInt64')" \
	"CREATE TABLE other.in_rows (time $moment,
		host $word, service $word,
		event $word,
		stack Array(LowCardinality(String)) CODEC(ZSTD(1)),
		value Int64 CODEC(ZSTD(1)))
		ENGINE = MergeTree PARTITION BY toDate(time) ORDER BY (service, event, time)" \
	"CREATE TABLE other.samples (service $word,
		type $word, start $moment,
		end $moment,
		labels Map(LowCardinality(String), String) CODEC(ZSTD(1)),
		hash UInt64 CODEC(ZSTD(1)), value Int64 CODEC(ZSTD(1)))
		ENGINE = MergeTree PARTITION BY toDate(start)
		ORDER BY (service, type, toUnixTimestamp(start), toUnixTimestamp(end))" \
	"CREATE TABLE other.stacks (service $word,
		hash UInt64 CODEC(ZSTD(1)), seen $moment,
		stack Array(String) CODEC(ZSTD(1)))
		ENGINE = ReplacingMergeTree ORDER BY (service, hash)" \
	"INSERT INTO other.in_rows SELECT toDateTime64(1800000000 + 60 * k, 9), $host,
		service, 'cpu-clock', stack, $value
		FROM other.base AS b JOIN $grid ON b.w = g.w WHERE $chosen" \
	"INSERT INTO other.samples SELECT service, 'cpu', toDateTime64(1800000000 + 60 * k, 9),
		toDateTime64(1800000060 + 60 * k, 9), map('host', $host),
		cityHash64(stack), $value
		FROM other.base AS b JOIN $grid ON b.w = g.w WHERE $chosen" \
	"INSERT INTO other.stacks SELECT service, cityHash64(stack), toDateTime64(1800000000, 9),
		stack FROM other.base" || exit 1

sql "CREATE TABLE pcce.base AS pcce.samples ENGINE = MergeTree ORDER BY time" \
	"INSERT INTO pcce.base SELECT * FROM pcce.samples FINAL" "TRUNCATE TABLE pcce.samples" \
	"CREATE TABLE pcce.old AS pcce.recordings ENGINE = MergeTree ORDER BY time" \
	"INSERT INTO pcce.old SELECT * FROM pcce.recordings FINAL" \
	"TRUNCATE TABLE pcce.recordings" \
	"INSERT INTO pcce.samples SELECT toDateTime(1800000000 + 60 * k), $host,
		service, process, thread, build, event, context, 0,
		samples * (1 + rand() % 4) AS s, s * 52631578
		FROM (SELECT *, samples AS n, rowNumberInAllBlocks() AS i,
			dense_rank() OVER (ORDER BY time) - 1 AS w
			FROM pcce.base) AS b JOIN $grid ON b.w = g.w WHERE $chosen" \
	"INSERT INTO pcce.recordings SELECT toDateTime(1800000000 + 60 * k), $host,
		0, number, event, frequency, period, sampler, command, kernel, flags, samples,
		lost, due_known, due, merged, in_kernel, unwound, reused, copied
		FROM (SELECT * FROM pcce.old LIMIT 1) AS o CROSS JOIN $grid" \
	"DROP TABLE pcce.base" "DROP TABLE pcce.old" || exit 1
for table in pcce.samples pcce.contexts pcce.symbols pcce.modules pcce.recordings other.in_rows \
	other.samples other.stacks; do
	sql "OPTIMIZE TABLE $table FINAL" || exit 1
done
sql "SELECT concat(database, '.', table) AS name, sum(rows), sum(data_compressed_bytes) AS disk,
	sum(data_uncompressed_bytes), round(disk / sum(rows), 2) FROM system.parts
	WHERE active AND (database = 'other' AND table != 'base' OR database = 'pcce')
	GROUP BY name ORDER BY name
	FORMAT TSV" | awk -F '\t' '
	BEGIN {
		printf "%-20s%12s%14s%16s%12s\n", "table", "rows", "bytes on disk",
			"uncompressed", "bytes a row"
	}
	{ printf "%-20s%12d%14d%16d%12.2f\n", $1, $2, $3, $4, $5 }
	{ rows[$1] = $2; disk[$1] = $3; raw[$1] = $4 }
	END {
		samples = "other.samples"
		print ""
		printf "%-44s%10s%16s\n", "bytes a sample, with all tables", "on disk",
			"uncompressed"
		n = rows["pcce.samples"]
		for (t in rows) if (t ~ /^pcce/) { d += disk[t]; u += raw[t] }
		printf "%-44s%10.2f%16.2f\n", "pcce: contexts, once for all", d / n, u / n
		d = disk[samples] + disk["other.stacks"]
		u = raw[samples] + raw["other.stacks"]
		n = rows[samples]
		printf "%-44s%10.2f%16.2f\n", "hashes of stacks, once a service", d / n, u / n
		t = "other.in_rows"
		printf "%-44s%10.2f%16.2f\n", "stacks in rows", disk[t] / rows[t], raw[t] / rows[t]
	}'

echo
service=$(sql "SELECT service FROM pcce.samples GROUP BY service ORDER BY count() DESC LIMIT 1
	FORMAT TSV")
seconds() { # NAME COMMAND...
	local begin=$EPOCHREALTIME
	"${@:2}" >answer || exit 1
	awk -v name="$1" -v begin="$begin" -v end="$EPOCHREALTIME" -v n="$(wc -l <answer)" \
		'BEGIN { printf "%-52s%7.2f s%8d rows\n", name, end - begin, n }'
}
echo "the contexts of a service ($service) on all hosts, all day; with the start of the library:"
seconds "pcce pull" pcce-pull --from="$store" --since=2027-01-01 \
	--where="service = '$service'" -o day.data
seconds "pcce report, folded" pcce-report -i day.data --format=folded
seconds "hashes of stacks" sql "SELECT stack, v FROM
	(SELECT hash, sum(value) AS v FROM other.samples
	WHERE service = '$service' GROUP BY hash) AS s JOIN other.stacks AS k ON k.hash = s.hash
	WHERE k.service = '$service' FORMAT TSV"
seconds "stacks in rows" sql "SELECT stack, sum(value) FROM other.in_rows WHERE service = '$service'
	GROUP BY stack FORMAT TSV"
