/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Defines the list of samplers. */
#include "sampler/sampler.h"

const struct sampler_ops *const samplers[] = {&sampler_kmod, &sampler_bpf, &sampler_self, NULL};
