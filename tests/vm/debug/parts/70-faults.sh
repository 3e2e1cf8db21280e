# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Each allocation refused, one after the other.

# Restartable sequences are off: where the kernel writes a thread's CPU into memory that is shared after a fork, and gets no page, it
# ends the program with SIGSEGV. That is not for us to test.
check "faults ends well" sh -c 'GLIBC_TUNABLES=glibc.pthread.rseq=0 faults >faults.out'
cat faults.out
