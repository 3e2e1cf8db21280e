# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Tests the device: what it refuses, who may use it, what sessions deliver.  The programs print the
# results.

for program in requests access sessions stacks cost; do
	check "$program ends well" sh -c "$program >$program.out"
	cat $program.out
done
