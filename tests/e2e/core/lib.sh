# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# What the suites about crashes share: the kinds of crashes.c, and how its contexts are compared
# with the truth.  Source it after tests/lib.sh.

# shellcheck disable=SC2034 # the suites use it
kinds="null trap divide abort raise call-null frame-pointer stack-pointer library return callback
	thread signal nested-signal jump leaf free assert bus no-stack tail coroutine"

# chain_of_crash: reads the frames of a printed context.  Prints its chain, with repetitions written
# out, without the innermost line, and without frames of files other than crashes.c.
chain_of_crash() {
	awk '
	{
		frame[n++] = $4 ~ /\/crashes\.c:/ ? $2 substr($4, match($4, /:[0-9]*$/)) : ""
		times = match($0, / x [0-9]+/) ? substr($0, RSTART + 3, RLENGTH - 3) : 1
		span = match($0, / with the [0-9]+/) ? substr($0, RSTART + 10, RLENGTH - 10) + 1 : 1
		for (; times > 1; times--)
			for (i = 0; i < span; i++) { frame[n] = frame[n - span]; n++ }
	}
	END { for (i = 0; i < n; i++) if (frame[i] != "") print frame[i] }' |
		sed -e '1s/:.*//' -e '1s/\.cold$//'
}
