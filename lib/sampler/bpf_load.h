/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The BPF program in the kernel. */
#ifndef PCCE_SAMPLER_BPF_LOAD_H
#define PCCE_SAMPLER_BPF_LOAD_H

#include <stddef.h>
#include "sampler/perf_event.h"
#include "sampler.skel.h"
#include "base/error.h"

/* 0, or -errno with one sentence in why. */
int bpf_program_load(enum perf_event_kind kind, const struct perf_event_attr *attr,
		     struct sampler_bpf **out, struct error *why);

/* From now on the event runs the program. 0 or -errno. */
int bpf_program_attach(const struct sampler_bpf *skel, enum perf_event_kind kind, int event);

#endif
