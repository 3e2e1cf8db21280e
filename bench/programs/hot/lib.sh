# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Shared by programs of the paper on hot contexts, which only hot.sh uses.  They are described and
# built as those of tests/programs.  If the system's mirror lacks one, unpack its source to
# $out/programs/source-PACKAGE.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
