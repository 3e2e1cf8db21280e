/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See metrics.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include "base/output_file.h"
#include "daemon/metrics.h"

int metrics_write(const struct metrics *m, const char *path)
{
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} all[] = {
		{"windows_recorded_total", "counter", "Windows that were recorded.", m->recorded},
		{"windows_sent_total", "counter", "Windows that the store has taken.", m->sent},
		{"windows_dropped_total", "counter",
		 "Windows that were removed since the spool was full.", m->dropped},
		{"windows_refused_total", "counter",
		 "Windows that were removed since the store takes others, but not these.",
		 m->refused},
		{"samples_total", "counter", "Samples of the windows that were recorded.",
		 m->samples},
		{"samples_lost_total", "counter", "Samples that the sampler lost.", m->lost},
		{"samples_dropped_total", "counter", "Samples of windows that were removed.",
		 m->dropped_samples},
		{"push_failures_total", "counter", "Attempts to send a window that failed.",
		 m->failures},
		{"recorder_starts_total", "counter", "How often the recorder was started.",
		 m->recorders},
		{"last_window_timestamp_seconds", "gauge", "When the last window was complete.",
		 m->last_recorded},
		{"last_sent_timestamp_seconds", "gauge", "When the store took the last window.",
		 m->last_sent},
		{"spool_windows", "gauge", "Windows that wait for the store.", m->spool_windows},
		{"spool_bytes", "gauge", "Bytes of the spool.", m->spool_bytes},
	};
	struct output_file o;
	struct error why;
	FILE *f;
	int err = output_stream_open(&o, path, &f, &why);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fprintf(f, "# HELP pcced_%s %s\n# TYPE pcced_%s %s\npcced_%s %" PRIu64 "\n",
			all[i].name, all[i].help, all[i].name, all[i].type, all[i].name,
			all[i].value);
	return output_stream_close(&o, f, ferror(f) ? -EIO : 0);
}
