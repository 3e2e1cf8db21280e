/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the times of a query. */
#ifndef PCCE_STORE_TIME_H
#define PCCE_STORE_TIME_H

#include <stdint.h>
#include "base/error.h"

/* Reads a time: seconds, minutes, hours, days or weeks ago (90s, 15m, 2h, 3d, 1w), or a local date,
 * or a date and a time of day. now, *time: seconds since 1970. 0, or -EINVAL with a fragment in
 * why. */
int store_time(const char *text, uint64_t now, uint64_t *time, struct error *why);

#endif
