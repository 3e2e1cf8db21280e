#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Builds the tools with AddressSanitizer, LeakSanitizer and UBSan (make SAN=1), and runs the suites
# that read and write files with them. `O=build-san tests/run` after
# `make SAN=1 O=build-san all units oracle` runs all suites with such a build.
#
# seconds: 1800

. "$(dirname "$0")/../lib.sh"

# Not e2e/commands: it installs, so it would build all again, without sanitizers.
suites=(unit datafile report formats view e2e/check hostile/files hostile/output)

if [ ${#sanitize[@]} != 0 ]; then
	skip_all "this build has sanitizers: all suites run with them"
fi
build=$out/sanitized
# The plugin and the runtime have no sanitizers, so they are not built again.  -O1 compiles fast.
mkdir -p "$build/lib/pcce"
cp -a "$out"/lib/pcce/{gcc-*,pcce_plugin.so,libpcce*} "$build/lib/pcce"
if ! make -C "$top" --no-print-directory -j"$(nproc)" SAN=1 O="$build" CFLAGS="-O1 -g" WERROR= \
	tools decode bpf specs ld flags units >"$scratch/make.log" 2>&1; then
	not_ok "a build with SAN=1" "$scratch/make.log"
	done_testing
fi
ok "a build with SAN=1"
O=$build "$top/tests/run" "${suites[@]}" >"$scratch/run.log" 2>&1
results_of_run "with SAN=1" "$scratch/run.log" ${#suites[@]}
done_testing
