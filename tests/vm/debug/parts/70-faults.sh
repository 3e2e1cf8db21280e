# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Refuses each allocation, one after the other.

# Restartable sequences are off.  The kernel writes a thread's CPU into memory that is shared after
# a fork.  If it gets no page for that, it ends the program with SIGSEGV, which is not our concern.
check "faults ends well" sh -c 'GLIBC_TUNABLES=glibc.pthread.rseq=0 faults >faults.out'
cat faults.out
