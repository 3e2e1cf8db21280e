# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Pages that hold anything, and come and go, at the highest rate; processes that come and go; each of the four for that long.

check "hostile programs end well" sh -c "hostile $((hostile_seconds * 1000)) $(cat /sys/module/pcce_sampler/parameters/max_frequency) >hostile.out"
cat hostile.out
