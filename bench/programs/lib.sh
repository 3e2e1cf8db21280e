# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Shared by the programs that only benchmarks need.  They are described and built as those of
# tests/programs.

. "$(dirname "${BASH_SOURCE[0]}")/../../tests/programs/lib.sh"
