/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps the segments of samples that are left out of a recording. A sampler delivers each segment
 * with one sample, and later samples of the thread only name it (struct pcce_sample). If the one
 * that brought it is left out, the first sample that is written and stands on it has to bring it.
 */
#ifndef PCCE_RECORD_LATE_SEGMENTS_H
#define PCCE_RECORD_LATE_SEGMENTS_H

#include <stdint.h>
#include <pcce/abi.h>

struct late_segments;

struct late_segments *late_segments_new(void); /* NULL: no memory */
void late_segments_free(struct late_segments *l);

/* Takes the segments of a sample that is left out. 0 or -ENOMEM. */
int late_segments_keep(struct late_segments *l, const struct pcce_sample *s);

/*
 * Takes a sample that is written. *out is this sample with all segments below it that are not
 * written yet, valid until the next call. They may be more than PCCE_SAMPLE_SEGMENTS. 0 or -ENOMEM.
 */
int late_segments_add(struct late_segments *l, const struct pcce_sample *s,
		      const struct pcce_sample **out);

#endif
