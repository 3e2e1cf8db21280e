# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# The limits for inlining that the plugin sets (plugin/inlining.c)
inlining_limits="--param max-inline-insns-auto=30 --param max-inline-insns-single=200"
inlining_limits="$inlining_limits --param early-inlining-insns=14 --param inline-min-speedup=15"
