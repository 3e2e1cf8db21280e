/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Translates the names of events of the processor and other devices to attributes:
 *
 *	r1c2			the number of an event, in hexadecimal
 *	cpu/event=0xc2,umask=1/	the fields of a device (PMU), as the kernel lists them
 *	cpu/cycles/		an event that the kernel lists
 *
 * Modifiers can follow. The machine that pcce is developed on has no such events. So only the
 * translation is tested.
 */
#ifndef PCCE_SAMPLER_PMU_EVENT_H
#define PCCE_SAMPLER_PMU_EVENT_H

#include <stdbool.h>
#include <linux/perf_event.h>
#include "base/error.h"

#define PMU_DEVICES "/sys/bus/event_source/devices"

bool pmu_event_is(const char *name);

/* Sets type, config, config1 and config2. devices: PMU_DEVICES. 0, or -errno with a sentence. */
int pmu_event_parse(const char *devices, const char *name, struct perf_event_attr *attr,
		    struct error *why);

#endif
