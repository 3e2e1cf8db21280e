/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Describes a recording in JSON objects, for --format=json and for HTML pages. */
#ifndef PCCE_FORMAT_SUMMARY_JSON_H
#define PCCE_FORMAT_SUMMARY_JSON_H

#include <jansson.h>
#include "profile/profile.h"

/* Adds the counts of samples and the properties of contexts to o. Not 0: no memory. */
int summary_of_samples(const struct profile *p, json_t *o);
/* Returns the reasons why samples are undecodable: {reason: count}. NULL: no memory. */
json_t *summary_reasons(const struct profile *p);
/* Returns all facts about the recording, for pages (lib/html/page). NULL: no memory. */
json_t *summary_of_recording(const struct profile *p);

#endif
