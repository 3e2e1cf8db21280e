/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counts what pcced does, and writes the numbers to a file for Prometheus' node_exporter. */
#ifndef PCCE_DAEMON_METRICS_H
#define PCCE_DAEMON_METRICS_H

#include <stdint.h>

struct metrics {
	uint64_t recorded, sent, dropped, refused; /* windows */
	uint64_t samples, lost, dropped_samples;   /* lost: by the sampler */
	uint64_t failures;			   /* attempts to send */
	uint64_t recorders;			   /* how often the recorder was started */
	uint64_t last_recorded, last_sent;	   /* seconds since 1970 */
	uint64_t spool_windows, spool_bytes;	   /* now */
};

/* Replaces the file. 0 or -errno. */
int metrics_write(const struct metrics *m, const char *path);

#endif
