# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Loads the BPF program of each clang and checks its samples (tests/bpf/load.c).

for program in /bin/load-*; do
	for where in "" namespace; do
		name=${program#/bin/load-}${where:+, pid namespace}
		check "$name: load.c ends well" sh -c "$program $where >load.out"
		sed "s/^\(ok\|not ok\) - /&$name: /" load.out
	done
done
