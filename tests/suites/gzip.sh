#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes gzip.

. "$(dirname "$0")/lib.sh"

name=gzip
package=gzip
elf=gzip
minimum=15

suite_main "$@"
