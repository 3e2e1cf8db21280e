# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Tests as in ../../parts, with the samplers that this kernel has.

truth() { # NAME RECORD-OPTION...
	who=$1
	shift
	check "truth is recorded: $*" sh -c \
		"pcce-record -q $* -e syscalls:sys_enter_getppid -o truth.$who -- truth >truth.$who.out"
	cp truth.$who truth.$who.out /out
}
truth kmod -b kmod
truth hot -b kmod --hot
