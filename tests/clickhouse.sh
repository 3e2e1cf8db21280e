# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Starts Debian's ClickHouse server, for suites that have sourced lib.sh. clickhouse is the folder
# that scripts/fetch-clickhouse prints. start_server sets server, its process, and port.

free_port() {
	local port
	for ((port = 20000 + $$ % 20000; ; port++)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo $port
}

ask() { curl -sS --fail-with-body "http://127.0.0.1:$port/" --data-binary "$1"; }

start_server() {
	local i
	port=$(free_port)
	mkdir -p server/data server/tmp
	cat >server/config.xml <<-END
		<yandex><logger><level>warning</level><log>$PWD/server/log</log>
		<errorlog>$PWD/server/errors</errorlog></logger>
		<listen_host>127.0.0.1</listen_host><http_port>$port</http_port>
		<path>$PWD/server/data/</path><tmp_path>$PWD/server/tmp/</tmp_path>
		<users_config>users.xml</users_config><default_profile>default</default_profile>
		<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
		</yandex>
	END
	cat >server/users.xml <<-END
		<yandex><profiles><default></default></profiles>
		<users><default><password></password><networks><ip>127.0.0.1</ip></networks>
		<profile>default</profile><quota>default</quota></default>
		<secret><password>open sesame</password><networks><ip>127.0.0.1</ip></networks>
		<profile>default</profile><quota>default</quota></secret></users>
		<quotas><default></default></quotas></yandex>
	END
	LD_LIBRARY_PATH=$(echo "$clickhouse"/usr/lib/*-linux-gnu):$clickhouse/usr/lib \
		"$clickhouse/usr/sbin/clickhouse-server" --config-file=server/config.xml \
		>server/out 2>&1 &
	server=$!
	for ((i = 0; i < 600; i++)); do
		ask "SELECT 1" >/dev/null 2>&1 && return 0
		kill -0 $server 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}
