# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # from run.sh
#
# Formats of viewers: speedscope, which comes from npm, in headless Chromium; firefox and trace, whose
# viewers are not to be had as packages, against what their formats say (viewers.mjs).

report speedscope small.data small.speedscope.json
report speedscope huge.data huge.speedscope.json
report speedscope empty.data empty.speedscope.json
report firefox small.data small.firefox.json
report firefox huge.data huge.firefox.json
report firefox empty.data empty.firefox.json
report trace small.data small.trace.json
report trace huge.data huge.trace.json
report trace huge.data huge3.trace.json --max-depth=3
report trace empty.data empty.trace.json

verdicts() { # NAME LOG STATUS: what a script with node says
	local verdict name detail
	while IFS=$'\t' read -r verdict name detail; do
		case $verdict in
		pass) ok "$name" ;;
		fail) not_ok "$name" "$detail" ;;
		esac
	done <"$2"
	if [ "$3" = 0 ] && [ "$(tail -n 1 "$2")" = end ]; then ok "$1"; else not_ok "$1" "exit status $3" "$2.err"; fi
}

if ! command -v node >/dev/null; then
	skip "viewers" "nodejs is not installed"
	return
fi
node "$here/viewers.mjs" "$scratch" >viewers.log 2>viewers.log.err
verdicts "the formats of viewers were read" viewers.log $?

modules=$out/tests/formats
packages="playwright-core@1.57.0 speedscope@1.25.0"
if ! command -v chromium >/dev/null; then
	skip "speedscope" "chromium is not installed"
	return
fi
if [ "$(cat "$modules/packages" 2>/dev/null)" != "$packages" ]; then
	mkdir -p "$modules"
	# shellcheck disable=SC2086 # several words
	if ! command -v npm >/dev/null; then
		skip "speedscope" "npm is not installed"
		return
	elif ! timeout 300 npm install --no-audit --no-fund --no-save --prefix "$modules" $packages >npm.log 2>&1; then
		skip "speedscope" "npm cannot install $packages: $(tail -n 1 npm.log)"
		return
	fi
	echo "$packages" >"$modules/packages"
fi
# A module is looked for beside the file that wants it.
cp "$here/speedscope.mjs" "$here/verdict.mjs" "$modules"
cp huge.perf huge.perf.txt
timeout -k 10 300 node "$modules/speedscope.mjs" "$(command -v chromium)" "$scratch" >speedscope.log 2>speedscope.log.err
verdicts "speedscope was driven to the end" speedscope.log $?
