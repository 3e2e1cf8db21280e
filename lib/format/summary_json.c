/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Builds the JSON objects that describe a recording. */
#include "base/json_writer.h"
#include "format/summary_json.h"
#include "format/format.h"

static json_t *losses(const struct profile_stats *s)
{
	json_t *o = json_object();
	int r = 0;

	for (uint32_t i = 0; i <= PCCE_LOSS_MAX; i++)
		if (s->lost_reasons[i])
			r |= json_object_set_new(o, format_loss_name(i),
						 json_integer(s->lost_reasons[i]));
	if (!r)
		return o;
	json_decref(o);
	return NULL;
}

int summary_of_samples(const struct profile *p, json_t *o)
{
	const struct profile_stats *s = &p->stats;
	int r = 0;

	r |= json_object_set_new(o, "samples", json_integer(s->samples));
	r |= json_object_set_new(o, "exact", json_integer(s->exact));
	r |= json_object_set_new(o, "truncated", json_integer(s->truncated));
	r |= json_object_set_new(o, "undecodable", json_integer(s->undecodable));
	r |= json_object_set_new(o, "outside", json_integer(s->outside));
	r |= json_object_set_new(o, "due", s->due.known ? json_integer(s->due.due) : json_null());
	r |= json_object_set_new(o, "taken", json_integer(p->all_samples));
	if (p->only.expression) {
		r |= json_object_set_new(o, "only", json_clean_string(p->only.expression));
		r |= json_object_set_new(o, "only_unknown", json_integer(p->only.unknown));
		r |= json_object_set_new(o, "left_out", json_integer(p->only.left_out));
		r |= json_object_set_new(o, "left_out_weight",
					 json_integer(p->only.left_out_weight));
	}
	r |= json_object_set_new(o, "merged", json_integer(s->due.merged));
	r |= json_object_set_new(o, "kernel", json_integer(s->due.kernel));
	r |= json_object_set_new(o, "lost", json_integer(s->lost));
	r |= json_object_set_new(o, "lost_reasons", losses(s));
	r |= json_object_set_new(o, "unique_contexts", json_integer(s->unique_contexts));
	r |= json_object_set_new(o, "max_depth", json_integer(s->max_depth));
	r |= json_object_set_new(o, "max_encoding_stack", json_integer(s->max_encoding_stack));
	r |= json_object_set_new(
		o, "bytes_per_sample",
		json_real(s->samples ? (double)s->sample_bytes / s->samples : 0.0));
	return r;
}

json_t *summary_reasons(const struct profile *p)
{
	json_t *reasons = json_object();
	int r = 0;

	for (int i = DECODE_REASON_NONE + 1; i < DECODE_REASON_COUNT; i++)
		if (p->stats.reasons[i])
			r |= json_object_set_new(reasons, decode_reason_name(i),
						 json_integer(p->stats.reasons[i]));
	if (!r)
		return reasons;
	json_decref(reasons);
	return NULL;
}

json_t *summary_of_recording(const struct profile *p)
{
	const struct profile_stats *s = &p->stats;
	json_t *o = json_object();
	int r = 0;

	r |= json_object_set_new(o, "event", json_clean_string(p->event));
	if (format_unit(p).bytes)
		r |= json_object_set_new(o, "unit", json_string("bytes"));
	r |= json_object_set_new(o, "command", json_clean_string(p->command));
	r |= json_object_set_new(o, "sampler", json_clean_string(p->sampler));
	r |= json_object_set_new(o, "host", json_clean_string(p->host));
	r |= json_object_set_new(o, "kernel", json_clean_string(p->kernel));
	r |= json_object_set_new(o, "frequency", json_integer(p->frequency));
	r |= json_object_set_new(o, "wall_time", json_integer(p->wall_time / 1000000));
	r |= summary_of_samples(p, o);
	r |= json_object_set_new(o, "complete", json_boolean(p->complete));
	if (s->verify)
		r |= json_object_set_new(o, "verify",
					 json_pack("{sIsIsI}", "verified", (json_int_t)s->verified,
						   "mismatches", (json_int_t)s->mismatches,
						   "unverifiable", (json_int_t)s->unverifiable));
	if (s->frames)
		r |= json_object_set_new(o, "frames",
					 json_pack("{sIsIsIsIsIsIsI}", "restored",
						   (json_int_t)s->restored, "in_part",
						   (json_int_t)s->restored_in_part, "not_restored",
						   (json_int_t)s->not_restored, "wrong",
						   (json_int_t)s->restored_wrong, "unwound",
						   (json_int_t)s->frames_unwound, "reused",
						   (json_int_t)s->frames_reused, "stack_bytes",
						   (json_int_t)s->stack_bytes));
	r |= json_object_set_new(o, "reasons", summary_reasons(p));
	if (!r)
		return o;
	json_decref(o);
	return NULL;
}
