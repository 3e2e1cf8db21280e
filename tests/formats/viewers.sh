# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh
#
# Tests formats of viewers, all from npm: speedscope in headless Chromium, which opens traces too;
# the Firefox profiler's code in its command line; the code of DevTools that opens traces.
# viewers.mjs also compares firefox and trace with the definitions of their formats.

report speedscope small.data small.speedscope.json
report speedscope huge.data huge.speedscope.json
report speedscope huge.data sums.speedscope.json --max-rows=10000
check "speedscope --max-rows reports that samples have too many frames" grep \
	-q '^pcce-report: 3000 samples have too many frames for speedscope' report.err
report speedscope huge.data all.speedscope.json --max-rows=0
check "speedscope --max-rows=0 is all" cmp huge.speedscope.json all.speedscope.json
report speedscope empty.data empty.speedscope.json
report firefox small.data small.firefox.json
report firefox huge.data huge.firefox.json
report firefox empty.data empty.firefox.json
report trace small.data small.trace.json
report trace huge.data huge.trace.json
report trace huge.data huge3.trace.json --max-depth=3
report trace huge.data few.trace.json --max-rows=2000
check "trace --max-rows reports that it left out rows" grep \
	-q '^pcce-report: 3000 samples are too many for a trace: it shows what the samples of a thread have in common in each [0-9.]* ms' report.err
report trace empty.data empty.trace.json
report html huge.data huge.html
# The suite sanitized tests what was written so far, the suite formats what viewers make of it.
[ ${#sanitize[@]} = 0 ] || return 0

verdicts() { # NAME LOG STATUS: what a script with node says
	local verdict name detail
	while IFS=$'\t' read -r verdict name detail; do
		case $verdict in
		pass) ok "$name" ;;
		fail) not_ok "$name" "$detail" ;;
		esac
	done <"$2"
	if [ "$3" = 0 ] && [ "$(tail -n 1 "$2")" = end ]; then
		ok "$1"
	else
		not_ok "$1" "exit status $3" "$2.err"
	fi
}

if ! command -v node >/dev/null; then
	skip "viewers" "nodejs is not installed"
	return
fi
node "$here/viewers.mjs" "$scratch" >viewers.log 2>viewers.log.err
verdicts "the formats of viewers were read" viewers.log $?

modules=$out/tests/formats
# npm_modules NAME FOLDER PACKAGE...: installs packages there, once.  If it cannot, the tests that
# need them are skipped.
npm_modules() {
	local name=$1 folder=$2
	shift 2
	[ "$(cat "$folder/packages" 2>/dev/null)" = "$*" ] && return
	mkdir -p "$folder"
	if ! command -v npm >/dev/null; then
		skip "$name" "npm is not installed"
		return 1
	elif ! timeout 300 npm install --fetch-retries=1 --fetch-timeout=60000 --no-audit \
		--no-fund --no-save --prefix "$folder" "$@" >npm.log 2>&1; then
		skip "$name" \
			"npm cannot install $*: $(grep -m 1 'npm ERR! [^c]\|npm error [^c]' npm.log || tail -n 1 npm.log)"
		return 1
	fi
	echo "$*" >"$folder/packages"
}

cli=$modules/firefox/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js
if npm_modules "the Firefox profiler" "$modules/firefox" @firefox-devtools/profiler-cli@0.10.0; then
	# It asks for a newer node than it needs.  A much older one does not work.
	if timeout 60 node "$cli" --version >version.log 2>&1; then
		timeout -k 10 900 node "$here/firefox.mjs" "$cli" "$scratch" \
			>firefox.log 2>firefox.log.err
		verdicts "the Firefox profiler was driven to the end" firefox.log $?
	else
		skip "the Firefox profiler" \
			"its command line does not run with node $(node --version)"
	fi
fi

if npm_modules "DevTools" "$modules/devtools" @paulirish/trace_engine@0.0.65; then
	# node looks for a module in the directory of the file that imports it.
	cp "$here/devtools.mjs" "$here/verdict.mjs" "$modules/devtools"
	timeout -k 10 300 node "$modules/devtools/devtools.mjs" "$scratch" \
		>devtools.log 2>devtools.log.err
	verdicts "the code of DevTools was driven to the end" devtools.log $?
fi

if ! command -v chromium >/dev/null; then
	skip "speedscope" "chromium is not installed"
	return
fi
npm_modules "speedscope" "$modules" playwright-core@1.57.0 speedscope@1.25.0 || return
cp "$here/speedscope.mjs" "$here/verdict.mjs" "$modules"
cp huge.perf huge.perf.txt
timeout -k 10 300 node "$modules/speedscope.mjs" "$(command -v chromium)" "$scratch" \
	>speedscope.log 2>speedscope.log.err
verdicts "speedscope was driven to the end" speedscope.log $?
