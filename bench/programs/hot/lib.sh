# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Shared by programs of the paper on hot contexts, which hot.sh and tests/run --counts use.  They
# are described and built as those of tests/programs.  If the system's mirror lacks one, unpack its
# source to $out/programs/source-PACKAGE.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# shellcheck disable=SC2034 # tests/programs/lib.sh uses it
source_may_be_missing=yes
