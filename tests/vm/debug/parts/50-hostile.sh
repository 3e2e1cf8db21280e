# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Tests pages that hold anything and come and go, at the highest rate, and processes that come and
# go. Each of the four attacks runs for the given time.

check "hostile programs end well" \
	sh -c "hostile $((hostile_seconds * 1000)) $(cat /sys/module/pcce_sampler/parameters/max_frequency) >hostile.out"
cat hostile.out
