/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is known about a recording, as JSON objects: for --format=json, and for pages. */
#ifndef PCCE_FORMAT_SUMMARY_JSON_H
#define PCCE_FORMAT_SUMMARY_JSON_H

#include <jansson.h>
#include "profile/profile.h"

/* Adds numbers of samples, and of what they look like. Not 0: no memory. */
int summary_of_samples(const struct profile *p, json_t *o);
/* Why samples did not decode: {reason: number}. NULL: no memory. */
json_t *summary_reasons(const struct profile *p);
/* All of it, as pages have it (lib/html/page). NULL: no memory. */
json_t *summary_of_recording(const struct profile *p);

#endif
