/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares a sample of a stopped thread: what bpf/sampler.bpf.c would copy at this moment, and the
 * whole encoding stack.  The tools combine it from this sample and earlier ones of the thread.
 */
#ifndef ORACLE_SAMPLE_H
#define ORACLE_SAMPLE_H

#include <sys/user.h>
#include <pcce/abi.h>
#include "tests/oracle/space.h"
#include "stream/stack_store.h"

struct sample {
	struct pcce_sample s;
	/* What follows it (include/pcce/sample.h). */
	unsigned char rest[PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +
			   PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment)];
	const struct stack_node *below;
	uint64_t hash; /* of all but ip and r11 */
};

/* sent: the newest generation that a sample of this thread has brought, 0 at first. */
void sample_take(struct sample *out, const struct space *s, pid_t tid,
		 const struct user_regs_struct *regs, uint64_t *sent);

#endif
