/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads what limits a recording of the whole system: the arguments of -C, -u and -G. */
#ifndef PCCE_RECORD_SYSTEM_LIMITS_H
#define PCCE_RECORD_SYSTEM_LIMITS_H

#include "base/error.h"
#include "sampler/sampler.h"

/* Each returns 0, or -errno with a whole sentence in why. */

/* A list of CPUs, like "0,2-3". */
int system_limits_cpus(struct sampler_system *s, const char *list, struct error *why);
/* A user's name or number. */
int system_limits_user(struct sampler_system *s, const char *name, struct error *why);
/* A cgroup of version 2: a path, or a path below the root of the cgroups. */
int system_limits_cgroup(struct sampler_system *s, const char *path, struct error *why);

#endif
