/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A sample of a stopped thread: what tools/bpf/sampler.bpf.c would copy at this moment. */
#ifndef ORACLE_SAMPLE_H
#define ORACLE_SAMPLE_H

#include <sys/user.h>
#include <pcce/abi.h>
#include "tests/oracle/space.h"

struct sample {
	struct pcce_sample s;
	struct pcce_entry entries[PCCE_SAMPLE_ENTRIES];
	uint64_t hash; /* of all but ip and r11 */
};

void sample_take(struct sample *out, const struct space *s, pid_t tid, const struct user_regs_struct *regs);

#endif
