#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes sed, with the tests of gnulib for the code that it uses from there.

. "$(dirname "$0")/lib.sh"

name=sed
package=sed
elf=sed/sed
minimum=150
help2man='$(top_srcdir)/build-aux/help2man' # true is no Perl

suite_main "$@"
