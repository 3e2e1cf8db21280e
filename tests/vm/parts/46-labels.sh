# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Records labels of threads: of the program, and of an SDK.  run.sh checks them.

for sampler in kmod bpf; do
	check "labels: $sampler" pcce-record -q -b $sampler -F 2000 -o labels.$sampler -- \
		labels tenants 20
	check "labels of an SDK: $sampler" pcce-record -q -b $sampler -F 2000 -o sdk.$sampler -- \
		server hostile 15
	mv labels.$sampler sdk.$sampler /out
done
