# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Defines functions that drive the browser; source it after tests/lib.sh.  The library comes from
# npm once, into $O/tests/html.

driver=playwright-core@1.57.0
modules=$out/tests/html
browser=$(command -v chromium || true)

# Prepares $modules and copies *.mjs there, because node looks for a module in the directory of the
# file that imports it.  If it cannot, $why says why.
get_driver() {
	if [ -z "$browser" ]; then
		why="chromium is not installed"
		return 1
	fi
	if ! command -v node >/dev/null; then # the caller skips
		why="node is not installed"
		return 1
	fi
	if [ "$(cat "$modules/driver" 2>/dev/null)" != "$driver" ]; then
		if ! command -v npm >/dev/null; then # the caller skips
			why="npm is not installed"
			return 1
		fi
		mkdir -p "$modules"
		if ! timeout 300 npm install --fetch-retries=1 --fetch-timeout=60000 --no-audit \
			--no-fund --no-save --prefix "$modules" "$driver" >npm.log 2>&1; then
			why="npm cannot install $driver: $(grep -m 1 'npm ERR! [^c]\|npm error [^c]' npm.log || tail -n 1 npm.log)"
			return 1
		fi
		echo "$driver" >"$modules/driver"
	fi
	cp "$top"/tests/html/*.mjs "$modules"
}
