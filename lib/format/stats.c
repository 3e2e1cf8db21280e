/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints the counts of samples, one `name: value` a line, for people and for scripts. */
#include "base/text.h"
#include "format/format.h"

static void print_count(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "%s: %llu\n", name, (unsigned long long)value);
}

const char *format_loss_name(uint32_t reason)
{
	static const char *const names[] = {
		"otherwise",
		[PCCE_LOSS_RING] = "ring",
		[PCCE_LOSS_THROTTLE] = "throttle",
		[PCCE_LOSS_SHAPE] = "shape",
		[PCCE_LOSS_NESTED] = "nested",
		[PCCE_LOSS_UNEXPLAINED] = "unexplained",
		[PCCE_LOSS_LATE] = "late",
		[PCCE_LOSS_BLOCKED] = "blocked",
		[PCCE_LOSS_DISK] = "disk",
		[PCCE_LOSS_CROWD] = "crowd",
		[PCCE_LOSS_UNFOLLOWED] = "unfollowed",
	};

	return names[reason <= PCCE_LOSS_MAX ? reason : 0];
}

int format_stats(const struct profile *p, FILE *out)
{
	const struct profile_stats *s = &p->stats;
	uint64_t unknown = 0;
	char text[1024];

	for (size_t i = 0; i < threads_count(p->threads); i++) {
		const struct thread *t = threads_get(p->threads, i);

		unknown += !t->origin && t->tid != t->pid;
	}
	if (s->due.known)
		print_count(out, "due", s->due.due);
	else
		fputs("due: not known\n", out);
	print_count(out, "taken", p->all_samples);
	if (p->only.expression)
		print_count(out, "left_out", p->only.left_out);
	print_count(out, "merged", s->due.merged);
	print_count(out, "kernel", s->due.kernel);
	print_count(out, "lost", s->lost);
	print_count(out, "samples", s->samples);
	print_count(out, "exact", s->exact);
	print_count(out, "truncated", s->truncated);
	print_count(out, "undecodable", s->undecodable);
	print_count(out, "outside", s->outside);
	if (p->summary.phi > 0) {
		print_count(out, "unkept", s->unkept);
		fprintf(out, "hot_phi: %g\nhot_epsilon: %g\n", p->summary.phi, p->summary.epsilon);
		print_count(out, "hot_n", p->summary.weight);
		print_count(out, "hot_offset", p->summary.offset);
		print_count(out, "hot_counters", p->summary.counters);
		print_count(out, "hot_per_thread", p->summary.per_thread);
	}
	if (p->only.expression) {
		fprintf(out, "only: %s\n", text_clean(p->only.expression, text, sizeof(text)));
		print_count(out, "only_unknown", p->only.unknown);
		print_count(out, "left_out_weight", p->only.left_out_weight);
	}
	print_count(out, "unique_contexts", s->unique_contexts);
	print_count(out, "max_depth", s->max_depth);
	print_count(out, "max_encoding_stack", s->max_encoding_stack);
	print_count(out, "threads", threads_count(p->threads));
	print_count(out, "thread_origins", thread_origins_count(p->origins));
	print_count(out, "threads_of_unknown_origin", unknown);
	fprintf(out, "bytes_per_sample: %.1f\n",
		s->samples ? (double)s->sample_bytes / s->samples : 0.0);
	if (s->verify) {
		print_count(out, "verified", s->verified);
		print_count(out, "mismatches", s->mismatches);
		print_count(out, "unverifiable", s->unverifiable);
	}
	if (s->frames) {
		print_count(out, "restored", s->restored);
		print_count(out, "restored_in_part", s->restored_in_part);
		print_count(out, "not_restored", s->not_restored);
		print_count(out, "restored_wrong", s->restored_wrong);
		print_count(out, "frames_unwound", s->frames_unwound);
		print_count(out, "frames_reused", s->frames_reused);
		print_count(out, "stack_bytes", s->stack_bytes);
	}
	for (int i = DECODE_REASON_NONE + 1; i < DECODE_REASON_COUNT; i++)
		if (s->reasons[i])
			fprintf(out, "%s_%s: %llu\n",
				decode_reason_truncates(i) ? "truncated" : "undecodable",
				decode_reason_name(i), (unsigned long long)s->reasons[i]);
	for (uint32_t i = 0; i <= PCCE_LOSS_MAX; i++)
		if (s->lost_reasons[i])
			fprintf(out, "lost_%s: %llu\n", format_loss_name(i),
				(unsigned long long)s->lost_reasons[i]);
	if (!p->complete)
		print_count(out, "incomplete", 1);
	if (p->cut_off)
		print_count(out, "cut_off_bytes", p->cut_off);
	if (p->unknown)
		print_count(out, "unknown_records", p->unknown);
	return 0;
}
