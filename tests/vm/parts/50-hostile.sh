# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Runs programs that do all they can with their pages while these are read.

check "hostile programs end well" sh -c 'hostile >hostile.out'
cat hostile.out
