# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Makes each event a sample.  Recordings of kmod and bpf must equal the program's account, to the
# last sample.

truth() { # NAME RECORD-OPTION...
	who=$1
	shift
	check "truth is recorded: $*" sh -c \
		"pcce-record -q $* -e syscalls:sys_enter_getppid -o truth.$who -- truth >truth.$who.out"
	cp truth.$who truth.$who.out /out
}
truth kmod -b kmod
truth bpf -b bpf
truth hot -b bpf --hot
truth hot.kmod -b kmod --hot
truth system -b bpf -a
