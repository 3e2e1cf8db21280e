/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One `name: value` a line, for people and for scripts. */
#include "format/format.h"

static void line(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "%s: %llu\n", name, (unsigned long long)value);
}

int format_stats(const struct profile *p, FILE *out)
{
	static const char *const losses[] = {
		"otherwise",
		[PCCE_LOSS_RING] = "ring",
		[PCCE_LOSS_THROTTLE] = "throttle",
		[PCCE_LOSS_SHAPE] = "shape",
	};
	const struct profile_stats *s = &p->stats;
	uint64_t unknown = 0;

	for (size_t i = 0; i < threads_count(p->threads); i++) {
		const struct thread *t = threads_get(p->threads, i);

		unknown += !t->origin && t->tid != t->pid;
	}
	line(out, "samples", s->samples);
	line(out, "exact", s->exact);
	line(out, "truncated", s->truncated);
	line(out, "undecodable", s->undecodable);
	line(out, "outside", s->outside);
	line(out, "lost", s->lost);
	line(out, "unique_contexts", s->unique_contexts);
	line(out, "max_depth", s->max_depth);
	line(out, "max_encoding_stack", s->max_encoding_stack);
	line(out, "threads", threads_count(p->threads));
	line(out, "thread_origins", thread_origins_count(p->origins));
	line(out, "threads_of_unknown_origin", unknown);
	fprintf(out, "bytes_per_sample: %.1f\n",
		s->samples ? (double)s->sample_bytes / s->samples : 0.0);
	if (s->verify) {
		line(out, "verified", s->verified);
		line(out, "mismatches", s->mismatches);
		line(out, "unverifiable", s->unverifiable);
	}
	for (int i = DECODE_REASON_NONE + 1; i < DECODE_REASON_COUNT; i++)
		if (s->reasons[i])
			fprintf(out, "undecodable_%s: %llu\n", decode_reason_name(i),
				(unsigned long long)s->reasons[i]);
	for (int i = 0; i <= PCCE_LOSS_SHAPE; i++)
		if (s->lost_reasons[i])
			fprintf(out, "lost_%s: %llu\n", losses[i],
				(unsigned long long)s->lost_reasons[i]);
	if (!p->complete)
		line(out, "incomplete", 1);
	if (p->cut_off)
		line(out, "cut_off_bytes", p->cut_off);
	if (p->unknown)
		line(out, "unknown_records", p->unknown);
	return 0;
}
